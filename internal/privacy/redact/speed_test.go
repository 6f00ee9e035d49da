package redact_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// common are kinds of lines that servers write, the nth of each.
var common = map[string]func(n int) string{
	"prose": func(int) string {
		return "The order could not be created, since the field is closed for the season and its owner has not said when it opens. " +
			"Ask the person who keeps the calendar, or choose another field that lies beside it."
	},
	"german": func(int) string {
		return "Das Feld wurde nicht gefunden, weil es für die Saison geschlossen ist und der Besitzer nicht gesagt hat, wann es öffnet."
	},
	"russian": func(int) string {
		return "Поле не найдено, потому что оно закрыто на сезон, и владелец не сказал, когда оно откроется."
	},
	"chinese": func(int) string {
		return "未找到该字段,因为它在本季已关闭,而且所有者没有说明何时开放。"
	},
	"log": func(n int) string {
		return fmt.Sprintf("2026-11-22T09:%02d:%02d.%03dZ level=info component=sync msg=\"copied %d rows\" took=%dms order=A-%d attempt=3 "+
			"url=https://api.example.com/v1/fields?limit=%d", n%60, n*7%60, n*31%1000, n%400, n%37, n, n%10)
	},
	"log-json": func(n int) string {
		return fmt.Sprintf(`{"time":"2026-11-22T09:%02d:%02d.%03dZ","level":"warn","msg":"field \"north %d\" is closed","code":%d,"key":"orders/%d",`+
			`"session":"s-%d"}`, n%60, n*7%60, n*31%1000, n%400, 400+n%37, n, n%10)
	},
	"access": func(n int) string { return access("203.0.113.", n) },
	// Each line has an address that is masked.
	"access-private": func(n int) string { return access("10.0.0.", n) },
	"rows": func(n int) string {
		return fmt.Sprintf(`{"id":"A-%d","name":"north field","area":%d.5,"status":"open","tags":["wheat","barley"]},`, n, n%90)
	},
	"csv": func(n int) string {
		return fmt.Sprintf("A-%d,north field %d,%d.5,open,2026-11-%02d,wheat;barley", n, n%17, n%90, n%30)
	},
	"code": func(int) string {
		return "func (f *Field) Next(ctx context.Context) (items []Item, err error) { return f.rows[f.at:], nil }"
	},
	"html": func(n int) string {
		return fmt.Sprintf(`<tr class="row"><td>A-%d</td><td><a href="/fields/%d?a=b&amp;c=d">north field</a></td><td>12.5&nbsp;ha</td></tr>`, n, n%90)
	},
	// Each line has three things that are masked.
	"secrets": func(n int) string {
		secret := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, n)))[:36]
		return "token: ghp_" + secret + " at 10.0.3.17:5432 in /etc/app/x.yaml"
	},
}

func access(network string, n int) string {
	return fmt.Sprintf(`%s%d - - [22/Nov/2026:10:%02d:%02d +0000] "GET /v1/fields/%d?limit=5&sort=name HTTP/1.1" 200 %d "-" "curl/8.5.0"`,
		network, n%250, n/60%60, n%60, n%1000, n*37%5000)
}

// failures are texts of a megabyte: of such lines, of stack traces, and a JSON document.
func failures(tb testing.TB) map[string]string {
	tb.Helper()
	const size = 1 << 20
	texts := map[string]string{}
	for kind, line := range common {
		var b strings.Builder
		b.WriteString("dial tcp 10.0.0.1:5432: connect: connection refused\n")
		for n := 0; b.Len() < size; n++ {
			b.WriteString(line(n) + "\n")
		}
		texts[kind] = b.String()
	}
	texts["document"] = "[" + strings.TrimSuffix(texts["rows"][strings.IndexByte(texts["rows"], '\n')+1:], ",\n") + "]"
	var traces strings.Builder
	for _, r := range recordings(tb) {
		traces.WriteString(r.text + "\n")
	}
	texts["traces"] = strings.Repeat(traces.String(), size/traces.Len())
	return texts
}

// Sentences of a megabyte take at most 10 ms of processor time, which is 105 MB/s; docs/performance.md has what other kinds of text take.
// A contract that keeps data about people out of its failures has them searched for, too.
func BenchmarkFailingText(b *testing.B) {
	for name, m := range map[string]*redact.Masker{
		"all": redact.New(redact.All), "secrets": redact.New(redact.Secrets),
		"personal": redact.New(redact.All).With(redact.Personal, redact.Addresses),
	} {
		for kind, text := range failures(b) {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					m.String(text)
				}
			})
		}
	}
}

// hard are texts that take especially long to search.
var hard = map[string]string{
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
	"logins":         "a/b@c:1/",
	"Oracle":         "jdbc:oracle:thin:a/b@",
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
	"links":          "/reset?a&t=",
	"paths":          "/reset/",
	"cells":          "token | x1\n",
	"indices":        "token[x1-2345",
	"sources":        "1 | x\n",
	"source marked":  "1 | x\n^\nerror: x\n",
	"Windows":        " /p:x1",
}

const hardSize = 300_000

func repeat(text string) string {
	return "password=hunter2 at 10.0.0.1:5432, see /etc/x.yaml: <b>\n" + strings.Repeat(text, hardSize/len(text)+1)[:hardSize]
}

func BenchmarkHardText(b *testing.B) {
	for name, text := range hard {
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
