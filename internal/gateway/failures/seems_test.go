package failures_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// success1KB is an answer of about 1 KB, in which a text with JSON is repeated as structured content.
var success1KB = []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"fields\":[` +
	strings.Repeat(`{\"id\":\"f-12\",\"name\":\"North\",\"hectares\":12.5,\"archived\":false},`, 6) + `{}]}"}],"structuredContent":{"fields":[` +
	strings.Repeat(`{"id":"f-12","name":"North","hectares":12.5,"archived":false},`, 6) + `{}]},"isError":false}}`)

func newReader(tb testing.TB) *failures.Reader {
	tb.Helper()
	set := contract.Builtin()
	own, _ := set.Get(contract.Default)
	r, err := failures.New(&config.Server{Title: "Farm"}, own, set, func(string) bool { return false })
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// BenchmarkSuccess1KB measures what it takes to find nothing wrong with an answer that has been scanned.
func BenchmarkSuccess1KB(b *testing.B) {
	r := newReader(b)
	var scan wire.Scanner
	if _, err := scan.Write(success1KB); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, failed := r.Answer(success1KB, scan.Signs(), true, "", nil); failed || r.Seems(success1KB, scan.Signs(), nil) != nil {
			b.Fatal("a failure")
		}
	}
}

// A success that gives no reason to look at it costs no memory.
func TestSuccessAllocatesNothing(t *testing.T) {
	r := newReader(t)
	var scan wire.Scanner
	n := testing.AllocsPerRun(100, func() {
		scan.Reset()
		_, _ = scan.Write(success1KB)
		_, _, failed := r.Answer(success1KB, scan.Signs(), true, "", nil)
		if failed || r.Seems(success1KB, scan.Signs(), nil) != nil {
			t.Error("a failure")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// What the gateway sees of an answer is what [contract.Reader.Seems] reads, however it is laid out.
func TestSeems(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for result, want := range map[string]string{
		`{"content":[{"type":"text","text":"{\n  \"status\": \"error\",\n  \"message\": \"no such lot\"\n}"}]}`:                                         "reads: general",
		`{"content": [ {"text" : "{\"ok\":false,\"error\":\"channel_not_found\"}", "type": "text"} ], "isError": false}`:                                "reads: slack",
		`{"content":[],"structuredContent":{"result":{"error":"no presentation is loaded"}}}`:                                                           "reads: general",
		`{"content":[{"type":"text","text":"{\"results\":[{\"source\":\"` + strings.Repeat("a", 300) + `\",\"success\":false,\"error\":\"gone\"}]}"}]}`: "reads: general",
		`{"content":[{"type":"text","text":"\u003chtml>\u003ch1>502 Bad Gateway\u003c/h1>\u003ctitle>502 Bad Gateway\u003c/title>"}]}`:                  "reads: general",
		`{"content":[{"type":"text","text":"503 Service Unavailable"}]}`:                                                                                "reads: general",
		`{"content":[{"type":"text","text":"ENOENT: no such file or directory, open '/a'"}]}`:                                                           "reads: errno",
		`{"content":[{"type":"text","text":"{\"message\":\"Not Found\",\"documentation_url\":\"https://docs.example.com\"}"}]}`:                         "reads: github",
		`{"content":[{"type":"text","text":"{\"data\":[{\"error\":null}],\"errors\":[]}"}]}`:                                                            "",
		`{"content":[{"type":"text","text":"` + strings.Repeat("a", 70<<10) + `"}],"structuredContent":{"error":"late"}}`:                               "",
	} {
		text := []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
		var scan wire.Scanner
		if _, err := scan.Write(text); err != nil {
			t.Fatal(err)
		}
		got := ""
		if s := r.Seems(text, scan.Signs(), func(raw []byte) []byte { return raw }); s != nil {
			got = s.Line
		}
		if got != want {
			t.Errorf("%.120s: got %q, want %q", result, got, want)
		}
	}
}
