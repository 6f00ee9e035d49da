package contract_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
)

// present is the clock of the tests.
func present() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func builtin(tb testing.TB, name string) *contract.Contract {
	tb.Helper()
	c, ok := contract.Builtin().Get(name)
	if !ok {
		tb.Fatalf("there is no contract %s", name)
	}
	return c
}

// load returns the contract in a file of testdata/contracts.
func load(tb testing.TB, name string) *contract.Contract {
	tb.Helper()
	file := filepath.Join("testdata", "contracts", name+".yaml")
	src, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	set := contract.Builtin()
	c, err := set.Load(file, src)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// everyContract returns the built-in contracts and those of testdata, which use
// the rest of the language.
func everyContract(tb testing.TB) []*contract.Contract {
	tb.Helper()
	list := contract.Builtin().All()
	files, err := filepath.Glob(filepath.Join("testdata", "contracts", "*.yaml"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no contracts in testdata: %v", err)
	}
	for _, file := range files {
		list = append(list, load(tb, strings.TrimSuffix(filepath.Base(file), ".yaml")))
	}
	return list
}

// toolCall is a call of a tool that failed.
func toolCall() contract.Call {
	return contract.Call{Method: "tools/call", Tool: "get_field", URL: "https://example.com/mcp", Now: present}
}

// readBack reads an answer as a client does that knows the contract.
func readBack(tb testing.TB, c *contract.Contract, a contract.Answer) *recourse.Error {
	tb.Helper()
	r := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c, Trusted: true}
	reading := contract.Reading{}
	switch a.Surface {
	case contract.SurfaceResult:
		var ok bool
		if reading, ok = r.Result(a.Result); !ok {
			tb.Fatalf("not read as a failure: %s", a.Result)
		}
	case contract.SurfaceRPC:
		reading = r.RPC(rpcText(a))
	case contract.SurfaceHTTP:
		reading = r.HTTP(a.Status, a.Header, a.Body)
	}
	e := reading.Error()
	if e == nil {
		tb.Fatalf("no record in %+v", reading)
	}
	return e
}

func rpcText(a contract.Answer) []byte {
	b := fmt.Appendf(nil, `{"code":%d,"message":`, a.Code)
	b = json.AppendQuote(b, a.Message)
	if a.Data != nil {
		b = append(append(b, `,"data":`...), a.Data...)
	}
	return append(b, '}')
}

// wire shows all of an answer that is sent.
func wire(a contract.Answer) string {
	var b strings.Builder
	switch a.Surface {
	case contract.SurfaceResult:
		b.Write(a.Result)
	case contract.SurfaceRPC:
		b.Write(rpcText(a))
	case contract.SurfaceHTTP:
		fmt.Fprintf(&b, "%d\n", a.Status)
		_ = a.Header.Write(&b)
		b.Write(a.Body)
	}
	return b.String()
}

// withoutMeta drops _meta, as some clients do.
func withoutMeta(tb testing.TB, a contract.Answer) contract.Answer {
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
