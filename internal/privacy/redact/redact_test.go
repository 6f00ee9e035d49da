package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/redact"
)

var unescape = strings.NewReplacer(`\\n`, `\n`, `\\\"`, `\\\"`, `\n`, "\n", `\t`, "\t")

// corpus returns the lines of a file without comments and empty lines.
func corpus(tb testing.TB, name string) []string {
	tb.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestMask(t *testing.T) {
	t.Parallel()

	lines := corpus(t, "mask.txt")
	if len(lines)%2 != 0 || len(lines) < 80 {
		t.Fatalf("got %d lines, want at least 40, in pairs", len(lines))
	}
	all := redact.New(redact.All)
	for i := 0; i < len(lines); i += 2 {
		text, want := unescape.Replace(lines[i]), unescape.Replace(lines[i+1])
		got := all.String(text)
		if got != want {
			t.Errorf("\n text %q\n  got %q\n want %q", text, got, want)
		}
		if again := all.String(got); again != got {
			t.Errorf("masked twice:\n once %q\ntwice %q", got, again)
		}
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()

	lines := corpus(t, "keep.txt")
	if len(lines) < 40 {
		t.Fatalf("got %d lines, want at least 40", len(lines))
	}
	all := redact.New(redact.All)
	for _, line := range append(lines, strings.Join(lines, "\n")) {
		if got := all.String(line); got != line {
			t.Error(cmp.Diff(line, got))
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()

	const text = "open /etc/app.conf: dial tcp 10.0.0.5:5432 with password=hunter2 of redis://:x@cache:6379"
	tests := map[redact.Mode]string{
		redact.Off:     text,
		redact.Secrets: "open /etc/app.conf: dial tcp 10.0.0.5:5432 with password=[credential] of [connection string]",
		redact.All:     "open [path]: dial tcp [address] with password=[credential] of [connection string]",
	}
	for mode, want := range tests {
		if got := redact.New(mode).String(text); got != want {
			t.Errorf("%s: got %q, want %q", mode, got, want)
		}
	}
	if got := redact.Log(text); got != tests[redact.Secrets] {
		t.Errorf("log: got %q, want %q", got, tests[redact.Secrets])
	}
}

// Paths of 40 characters, the length of an access key of AWS.
func TestLongPathsAreNoKeys(t *testing.T) {
	t.Parallel()

	for _, path := range []string{"/tmp/TestBarefilesystem75880878/002/held", "/srv/Backup2026/Projects42/Archive7/data"} {
		if got := redact.Log("cannot open " + path); got != "cannot open "+path {
			t.Errorf("%s reads: %s", path, got)
		}
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"off", "secrets", "all"} {
		if mode, err := redact.ParseMode(name); err != nil || string(mode) != name {
			t.Errorf("ParseMode(%q) = %q, %v", name, mode, err)
		}
	}
	if _, err := redact.ParseMode("some"); err == nil {
		t.Error("ParseMode accepted an unknown mode")
	}
}

func TestWhatTheCallerKnowsStays(t *testing.T) {
	t.Parallel()

	m := redact.New(redact.All,
		`{"path":"/home/u/x","file":"C:\\work\\plan.xlsx","to":["10.0.0.9"],"password":"hunter2"}`,
		"server-filesystem /srv/data http://127.0.0.1:9101/mcp")
	stays := []string{
		"Access denied - path outside allowed directories: /home/u/x not in /srv/data",
		`cannot open C:\work\plan.xlsx`,
		"no route to 10.0.0.9",
		"dial tcp 127.0.0.1:9101: connect: connection refused",
	}
	for _, text := range stays {
		if got := m.String(text); got != text {
			t.Errorf("got %q, want it unchanged", got)
		}
	}
	goes := map[string]string{
		"Access denied: /home/u/x not in /srv/other": "Access denied: /home/u/x not in [path]",
		"password=hunter2 is wrong":                  "password=[credential] is wrong",
	}
	for text, want := range goes {
		if got := m.String(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()

	m := redact.New(redact.All)
	tests := map[string]string{
		`{"n":1.0,"list":[ "ok" , null],"x":{}}`:                             `{"n":1.0,"list":[ "ok" , null],"x":{}}`,
		`{"error":"dial tcp 10.0.0.5:5432: refused","port":5432}`:            `{"error":"dial tcp [address]: refused","port":5432}`,
		`{"password":"hunter2","token":null,"pin_code":1234,"apiKey":true}`:  `{"password":"[credential]","token":null,"pin_code":"[credential]","apiKey":true}`,
		`{"credentials": {"user":"u","key":"k"}, "after":"/etc/shadow/x"}`:   `{"credentials": "[credential]", "after":"[path]"}`,
		`{"secrets":["a","b"],"password":"","a":"quote \" /etc/passwd/ \\"}`: `{"secrets":"[credential]","password":"","a":"quote \" [path] \\"}`,
		`{"a":"x\n    at f (/a.js:1:2)\n    at g (/b.js:3:4)"}`:              `{"a":"x\n[stack trace]"}`,
		`"10.0.0.5:80"`: `"[address]"`,
		`7`:             `7`,
		`{"a":`:         `"{\"a\":"`,
		``:              `""`,
		`{} {}`:         `"{} {}"`,
	}
	for raw, want := range tests {
		if got := string(m.JSON([]byte(raw))); got != want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", raw, got, want)
		}
	}
}

func TestError(t *testing.T) {
	t.Parallel()

	const leak = "10.9.8.7:5432"
	var e recourse.Error
	if err := json.Unmarshal([]byte(`{"kind":"internal","future":{"at":"`+leak+`"}}`), &e); err != nil {
		t.Fatal(err)
	}
	cause := errors.New(leak)
	before := e.With(func(c *recourse.Error) {
		c.Message = "cannot reach " + leak
		c.Hints = []string{"look at " + leak}
		c.Violations = []recourse.Violation{
			{Pointer: "/to", Param: "to", Got: json.RawMessage(`"` + leak + `"`), Want: "not " + leak, Message: "to must not be " + leak},
			{Pointer: "/api_key", Param: "api_key", Got: json.RawMessage(`"x"`)},
		}
		c.Resource = recourse.Resource{Type: "host", ID: leak}
		c.Upstream = recourse.Upstream{Status: 500, RequestID: leak}
		c.Succeeded = []recourse.SucceededItem{{ID: leak, Value: json.RawMessage(`["` + leak + `"]`)}}
		c.Failed = []recourse.FailedItem{{ID: leak, Error: recourse.Internal().WithMessage(leak)}}
		c.Missing = []recourse.MissingData{{What: leak, Impact: leak, Message: leak}}
		c.Details = map[string]json.RawMessage{"at": json.RawMessage(`"` + leak + `"`), "secret": json.RawMessage(`"x"`)}
	}).CausedBy(cause)
	sent, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}

	masked := redact.New(redact.All).Error(before)
	got, err := json.Marshal(masked)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), leak) || strings.Contains(string(got), `"x"`) {
		t.Errorf("leaks: %s", got)
	}
	if n := strings.Count(string(got), "[address]"); n != strings.Count(string(sent), leak) {
		t.Errorf("got %d marks, want one for each address in %s", n, sent)
	}
	if !errors.Is(masked, cause) || masked.Upstream.Status != 500 || masked.Violations[1].Got != nil {
		t.Errorf("lost what is not shown, or kept what is: %+v", masked.Violations)
	}
	after, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(sent), string(after)); diff != "" {
		t.Errorf("Error changed the record it was given:\n%s", diff)
	}
}

func TestErrorOff(t *testing.T) {
	t.Parallel()

	e := recourse.Internal().WithMessage("dial tcp 10.0.0.1:1")
	if got := redact.New(redact.Off).Error(e); got != e {
		t.Error("mode off copies the record")
	}
	if got := redact.New(redact.All).Error(nil); got != nil {
		t.Errorf("Error(nil) = %v", got)
	}
	clean := recourse.NotFound("field", "A-17").WithHint("List the fields first.")
	ignore := cmpopts.IgnoreUnexported(recourse.Error{})
	if diff := cmp.Diff(clean, redact.New(redact.All).Error(clean), ignore); diff != "" {
		t.Errorf("a clean record changed:\n%s", diff)
	}
}

func TestLongTextsAreCutAndFast(t *testing.T) {
	t.Parallel()

	const size = 256 << 10
	for _, unit := range []string{
		"x", "a ", ": ", "= ", "password=", "a.b:80 ", "/home/", "at x (y:1:2)\n", `\`, "\n", `\n`, "-----BEGIN ", "10.0.0.1 ", "::", "Bearer ",
		"a=b;", "host=a ", "http://", "@", "//", `"password":"`, "eyJ", ".internal", "File \"x\", line 1\n", "goroutine 1 [running]:\n", "'/a/", "..../",
		"user  token\n", "a  b\n", "token  x\n----  --\n", "  ", "DE89 3704 ", "IBAN ", "AB12",
	} {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		if n := len(redact.New(redact.All, "/home", text).String(text)); n > 2*size {
			t.Errorf("%q: got %d bytes", unit, n)
		}
		if took := time.Since(start); took > 20*time.Second { // a tenth of a second without the race detector
			t.Errorf("%q took %v", unit, took)
		}
	}
}

func TestCleanTextIsNotCopied(t *testing.T) {
	all := redact.New(redact.All)
	for _, text := range []string{
		"John Deere did not answer within 20 s. It is not known whether the order was created.",
		"Too many requests.",
		"Use deere_list_resources to find valid field IDs, then call again.",
	} {
		if n := testing.AllocsPerRun(100, func() { all.String(text) }); n != 0 {
			t.Errorf("%v allocations for %q", n, text)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, name := range []string{"mask.txt", "keep.txt"} {
		for _, line := range corpus(f, name) {
			f.Add(unescape.Replace(line))
		}
	}
	f.Add(strings.Repeat("10.0.0.1:1 ", 7000))
	all := redact.New(redact.All, "/home/u")
	f.Fuzz(func(t *testing.T, text string) {
		once := all.String(text)
		if twice := all.String(once); twice != once {
			t.Errorf("text %q\nonce  %q\ntwice %q", text, once, twice)
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Skip()
		}
		if masked := all.JSON(raw); !json.Valid(masked) {
			t.Errorf("JSON(%s) = %s", raw, masked)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"password":"x","a":["dial 10.0.0.1:80",{"b":"\"\\"}]}`))
	f.Add([]byte(`"\ud800 /etc/passwd/x"`))
	all := redact.New(redact.All)
	f.Fuzz(func(t *testing.T, raw []byte) {
		masked := all.JSON(raw)
		if !json.Valid(masked) {
			t.Fatalf("JSON(%q) = %q", raw, masked)
		}
		if again := all.JSON(masked); !bytes.Equal(again, masked) {
			t.Errorf("raw   %q\nonce  %q\ntwice %q", raw, masked, again)
		}
	})
}

func BenchmarkString(b *testing.B) {
	all := redact.New(redact.All)
	texts := map[string]string{
		"clean":     "John Deere did not answer within 20 s. It is not known whether the order was created.",
		"address":   "dial tcp 10.0.3.17:5432: connect: connection refused",
		"trace_1KB": "TypeError: boom\n" + strings.Repeat("    at getOrder (/app/src/orders.js:14:22)\n", 24),
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all.String(text)
			}
		})
	}
}
