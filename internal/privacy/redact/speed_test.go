package redact_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// large are long texts of servers, and texts that take especially long to search.
var large = map[string]string{
	"prose": "The order could not be created, since the field is closed for the season and its owner has not said when it opens. " +
		"Ask the person who keeps the calendar, or choose another field that lies beside it.\n",
	"log":    "2026-11-22T09:14:03.221Z level=info component=sync msg=\"copied 120 rows\" took=12ms order=A-17 attempt=3 url=https://api.example.com/v1/fields?limit=5\n",
	"access": "203.0.113.7 - - [22/Nov/2026:10:12:44 +0000] \"GET /v1/fields?limit=5&sort=name HTTP/1.1\" 200 812 \"-\" \"curl/8.5.0\"\n",
	"rows":   `{"id":"A-17","name":"north field","area":12.5,"status":"open","tags":["wheat","barley"]},` + "\n",
	"table":  "| A-17 | north field | 12.5 | open |\n",
	"code":   "func (f *Field) Next(ctx context.Context) (items []Item, err error) { return f.rows[f.at:], nil }\n",
	"german": "Das Feld wurde nicht gefunden, weil es für die Saison geschlossen ist und der Besitzer nicht gesagt hat, wann es öffnet.\n",

	"words told":     "the password for the secret is ",
	"words spoken":   "bearer token api key session id cookie of ",
	"words named":    "name key id field value ",
	"pairs begun":    `name="x" `,
	"signs":          "=:=:",
	"names":          "a=b c:d ",
	"quotes":         `"',"`,
	"tuples":         `"a","b",`,
	"commands":       "mysql -x -y sshpass -z ",
	"options":        "-a --b -u ",
	"slashes":        "/a/b /",
	"backslashes":    `C:\a\\`,
	"dots":           "a.b.c.",
	"colons":         "a:1:2:",
	"ats":            "a/b@a:b@",
	"connections":    "host=a;server=b;",
	"libpq":          "host=a user=",
	"digits":         "1.2.3.4 10-",
	"indented":       "a:\n  b:\n",
	"elements":       "<a b><c>d",
	"percent":        "%41%42",
	"references":     "&amp;&#61;",
	"wide":           "ｐａｓｓ",
	"begun forms":    "sk-sk-eyJ ghp_",
	"schemes":        "a://b",
	"begun keys":     "-----BEGIN RSA PRIVATE KEY",
	"frames":         "at x (y:1)\n",
	"base64":         "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
	"secrets":        "password=hunter2 ",
	"many secrets":   "token: ghp_16C7e42F292c6912E7710c838347Ae178B4a at 10.0.3.17:5432 in /etc/app/x.yaml\n",
	"one long word":  "a",
	"one long quote": `"a `,
}

const largeSize = 300_000

func repeat(text string) string {
	return "password=hunter2 at 10.0.0.1:5432, see /etc/x.yaml: <b>\n" + strings.Repeat(text, largeSize/len(text)+1)[:largeSize]
}

func BenchmarkLargeText(b *testing.B) {
	for name, text := range large {
		b.Run(name, func(b *testing.B) {
			text := repeat(text)
			b.SetBytes(int64(len(text)))
			m := redact.New(redact.All)
			for b.Loop() {
				m.String(text)
			}
		})
	}
}

// failures are texts of a megabyte that servers write when they fail.
func failures(tb testing.TB) map[string]string {
	tb.Helper()
	units := map[string]string{"prose": large["prose"], "log": large["log"], "rows": large["rows"], "access": large["access"]}
	var traces strings.Builder
	for _, r := range recordings(tb) {
		traces.WriteString(r.text + "\n")
	}
	units["traces"] = traces.String()
	for name, unit := range units {
		units[name] = "dial tcp 10.0.0.1:5432: connect: connection refused\n" + strings.Repeat(unit, 1<<20/len(unit))
	}
	return units
}

// A failing text of a megabyte takes at most 10 ms of processor time.
func BenchmarkFailingText(b *testing.B) {
	for name, text := range failures(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			m := redact.New(redact.All)
			for b.Loop() {
				m.String(text)
			}
		})
	}
}

// manySecrets returns 16,000 secret arguments, and a failure of 3.6 MB that contains some of them.
func manySecrets() (arguments, failure string) {
	var args, text strings.Builder
	args.WriteString("{")
	for i := range 16_000 {
		value := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i)))[:24]
		fmt.Fprintf(&args, `"password_%d":%q,`, i, value)
		text.WriteString("The order could not be created, since the field is closed for the season, and nobody has said why. ")
		if i%100 == 0 {
			text.WriteString(value)
		}
		text.WriteString("\nAsk the person who keeps the calendar, or choose another field that lies beside it: there are many of these in the north and west, it says.\n")
	}
	return args.String() + `"end":1}`, text.String()
}

func BenchmarkManySecrets(b *testing.B) {
	args, text := manySecrets()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m := redact.New(redact.All, args).Hiding(func() []string { return redact.Arguments([]byte(args)) }).ForAnswer(time.Minute)
		m.String(text)
	}
}

// denseTexts is an answer of 2,500 texts that are made of signs.
func denseTexts() []byte {
	var b strings.Builder
	b.WriteString(`{"content":[`)
	for i := range 2_500 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"type":"text","text":"%d %s"}`, i, strings.Repeat(`=:/@.-;,<>[]{}()&%$#!?*+~^|' a1`, 48))
	}
	return []byte(b.String() + `],"isError":true}`)
}

func BenchmarkDenseTexts(b *testing.B) {
	raw := denseTexts()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		redact.New(redact.All).ForAnswer(time.Minute).JSON(raw)
	}
}
