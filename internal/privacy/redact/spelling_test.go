package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// A known secret is masked in any encoding.
func TestSpellings(t *testing.T) {
	t.Parallel()
	const known = `kA7/x+"q&9 zü'$w`
	each := func(format string) string {
		var b strings.Builder
		for _, c := range []byte(known) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	units := func(format string) string {
		var b strings.Builder
		for _, r := range known {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
	reversed := []rune(known)
	slices.Reverse(reversed)
	spellings := map[string]string{
		"plain":               known,
		"query":               url.QueryEscape(known),
		"path":                url.PathEscape(known),
		"percent, small":      each("%%%02x"),
		"percent, twice":      url.PathEscape(url.PathEscape(known)),
		"JSON":                strings.Trim(strconv.Quote(known), `"`),
		"JSON, twice":         strings.Trim(strconv.Quote(strings.Trim(strconv.Quote(known), `"`)), `"`),
		"HTML":                html.EscapeString(known),
		"HTML, decimal":       units("&#%d;"),
		"HTML, hexadecimal":   units("&#x%X;"),
		"Unicode":             units(`\u%04x`),
		"Unicode, braces":     units(`\u{%x}`),
		"shell":               strings.NewReplacer(`'`, `\'`, `"`, `\"`, ` `, `\ `, `$`, `\$`, `&`, `\&`).Replace(known),
		"shell, in quotes":    strings.ReplaceAll(known, `'`, `'\''`),
		"hexadecimal":         hex.EncodeToString([]byte(known)),
		"HEXADECIMAL":         strings.ToUpper(hex.EncodeToString([]byte(known))),
		"bytes":               each(`\x%02x`),
		"base64":              base64.StdEncoding.EncodeToString([]byte(known)),
		"base64, raw":         base64.RawStdEncoding.EncodeToString([]byte(known)),
		"base64, URL":         base64.URLEncoding.EncodeToString([]byte(known)),
		"base64, offset 1":    base64.StdEncoding.EncodeToString([]byte("u" + known + " and more")),
		"base64, offset 2":    base64.RawURLEncoding.EncodeToString([]byte("u:" + known)),
		"base64, in a word":   "AAAA" + base64.StdEncoding.EncodeToString([]byte(known)),
		"base64, of base64":   base64.StdEncoding.EncodeToString([]byte("auth " + base64.StdEncoding.EncodeToString([]byte(known)))),
		"base64, percent":     url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(known))),
		"reversed":            string(reversed),
		"cut":                 known[:13] + "...",
		"zero width":          strings.Join(strings.Split(known, ""), "\u200b"),
		"marks of direction":  "\u202e" + known[:5] + "\u2066" + known[5:],
		"escape sequences":    known[:5] + "\x1b[1m" + known[5:] + "\x1b[0m",
		"a part of a header":  "Bearer " + known,
		"a part of an option": "--x-" + known + "-y",
	}
	m := redact.New(redact.Secrets).Hiding(func() []string { return []string{known} })
	for name, spelling := range spellings {
		got := m.String("the server said: " + spelling + " (end)")
		if !strings.Contains(got, "[credential]") || !strings.HasPrefix(got, "the server said: ") || !strings.HasSuffix(got, "(end)") {
			t.Errorf("%s: %s\n got %s", name, spelling, got)
		}
		for _, part := range []string{known[4:], "AAAA" + spelling, spelling[:min(8, len(spelling)-1)]} {
			if name != "cut" && strings.Contains(got, part) {
				t.Errorf("%s: %q is in %s", name, part, got)
			}
		}
	}
}

// The secrets in a server's entry are known secrets, including their parts.
func TestKnownSecrets(t *testing.T) {
	t.Parallel()
	secrets := slices.Concat(
		redact.Headers(map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("farm:first-part")), "X-Backend-Key": "second-1", "Accept": "application/json"}),
		redact.URL("https://user:third-3@farm.example.com/mcp/v1/Zm9ydGgtcGFydC00/x?region=north&api_key=fifth-5"),
		redact.Command([]string{"farmd", "--password", "sixth-6", "--token=seventh-7", "--port", "8080", "postgres://a:eighth-8@db/x"}),
		redact.Environ([]string{"FARM_TOKEN=ninth-9", "HOME=/root"}),
	)
	m := redact.New(redact.Secrets).Hiding(func() []string { return secrets })
	for _, secret := range []string{"first-part", "second-1", "third-3", "Zm9ydGgtcGFydC00", "fifth-5", "sixth-6", "seventh-7", "eighth-8", "ninth-9"} {
		if got := m.String("it is " + secret + " then"); got != "it is [credential] then" {
			t.Errorf("%s: %s", secret, got)
		}
	}
	for _, plain := range []string{"application/json", "north", "8080", "/root", "farm.example.com", "farmd"} {
		if got := m.String("it is " + plain + " then"); got != "it is "+plain+" then" {
			t.Errorf("%s: %s", plain, got)
		}
	}
}
