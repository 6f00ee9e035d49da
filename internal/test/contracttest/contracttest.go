// Package contracttest holds what the tests of contracts share: contracts that use what the built-in ones do not (in
// the folder contracts), and records to write.
package contracttest

import (
	"bytes"
	"embed"
	stdjson "encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Present is the clock of the tests.
func Present() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }

// Marshal writes v as the program does.
func Marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Unmarshal is json.Unmarshal of the standard library.
func Unmarshal(tb testing.TB, raw []byte, v any) {
	tb.Helper()
	if err := stdjson.Unmarshal(raw, v); err != nil {
		tb.Fatal(err)
	}
}

//go:embed contracts/*.yaml
var files embed.FS

// Load returns a contract in the folder contracts.
func Load(tb testing.TB, name string) *contract.Contract {
	tb.Helper()
	file := "contracts/" + name + ".yaml"
	src, err := files.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := contract.Builtin().Load(file, src)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Every returns the built-in contracts and those in the folder contracts.
func Every(tb testing.TB) []*contract.Contract {
	tb.Helper()
	list := contract.Builtin().All()
	entries, err := files.ReadDir("contracts")
	if err != nil {
		tb.Fatal(err)
	}
	for _, entry := range entries {
		list = append(list, Load(tb, strings.TrimSuffix(entry.Name(), ".yaml")))
	}
	return list
}

// Sources returns the files that match the patterns, each under a name that no built-in contract has.
func Sources(tb testing.TB, patterns ...string) []string {
	tb.Helper()
	var list []string
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			tb.Fatalf("no files in %s: %v", pattern, err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			list = append(list, strings.Replace(string(src), "\nname: ", "\nname: x-", 1))
		}
	}
	return list
}

// ToolCall returns a tool call whose failure is to be written.
func ToolCall() contract.Call {
	return contract.Call{Method: "tools/call", Tool: "get_field", URL: "https://example.com/mcp", Now: Present}
}

// ReadBack reads an answer like a client that knows the contract.
func ReadBack(tb testing.TB, c *contract.Contract, a contract.Answer) *recourse.Error {
	tb.Helper()
	r := contract.NewReader(c)
	r.Trusted = true
	reading := contract.Reading{}
	switch a.Surface {
	case contract.SurfaceResult:
		var ok bool
		if reading, ok = r.Result(a.Result); !ok {
			tb.Fatalf("not read as a failure: %s", a.Result)
		}
	case contract.SurfaceRPC:
		reading = r.RPC(RPCText(a))
	case contract.SurfaceHTTP:
		reading = r.HTTP(a.Status, a.Header, a.Body)
	}
	e := reading.Error()
	if e == nil {
		tb.Fatalf("no record in %+v", reading)
	}
	return e
}

// RPCText returns the JSON of a JSON-RPC error.
func RPCText(a contract.Answer) []byte {
	b := fmt.Appendf(nil, `{"code":%d,"message":`, a.RPCCode)
	b = json.AppendQuote(b, a.Message)
	if a.Data != nil {
		b = append(append(b, `,"data":`...), a.Data...)
	}
	return append(b, '}')
}

// Wire returns everything that is sent of an answer.
func Wire(a contract.Answer) string {
	var b strings.Builder
	switch a.Surface {
	case contract.SurfaceResult:
		b.Write(a.Result)
	case contract.SurfaceRPC:
		b.Write(RPCText(a))
	case contract.SurfaceHTTP:
		fmt.Fprintf(&b, "%d\n", a.Status)
		_ = a.Header.Write(&b)
		b.Write(a.Body)
	}
	return b.String()
}

// WithoutMeta drops _meta, as some clients do.
func WithoutMeta(tb testing.TB, a contract.Answer) contract.Answer {
	tb.Helper()
	if a.Surface == contract.SurfaceResult {
		i := bytes.Index(a.Result, []byte(`,"_meta":{`))
		if i < 0 {
			tb.Fatalf("no _meta in %s", a.Result)
		}
		a.Result = append(a.Result[:i:i], '}')
	}
	return a
}
