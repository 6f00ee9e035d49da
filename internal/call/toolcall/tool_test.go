package toolcall_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

func TestNullArguments(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{"", "null", "{}"} {
		if e := tool("say", "integer").Refuse(t.Context(), json.Value(arguments)); e != nil {
			t.Errorf("%q: %v", arguments, e)
		}
	}
}

// Arguments that cannot be checked are accepted, and the flaw of the schema is reported.
func TestFlaws(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema string
		err    error
		want   string
	}{
		"sound":       {`{"type":"object"}`, nil, ""},
		"no schema":   {"", errors.New("there is none"), "there is none; arguments are not checked"},
		"not JSON":    {"{", nil, "inputSchema is not JSON"},
		"a reference": {`{"$ref":"https://elsewhere.example/schema"}`, nil, "arguments are not checked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := ""
			tool := &toolcall.Entry{
				Name: "say", Flawed: func(_ *toolcall.Entry, err error) { told = err.Error() },
				InputSchema: func() ([]byte, error) { return []byte(test.schema), test.err },
			}
			if e := tool.Refuse(t.Context(), json.Value(`{"n":"x"}`)); e != nil {
				t.Error(e)
			}
			if !strings.Contains(told, test.want) || (told == "") != (test.want == "") {
				t.Errorf("%q, want %q", told, test.want)
			}
		})
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	say := tool("say", "integer")
	say.InputSchema = func() ([]byte, error) {
		return []byte(`{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"key":{"type":"string","writeOnly":true}}}`), nil
	}
	if !say.Takes("n") || say.Takes("m") || say.Takes("") {
		t.Error("got wrong parameters")
	}
	if got := say.ParamHeaders(); len(got) != 1 {
		t.Errorf("got header parameters %v", got)
	}
	if got := say.Secrets(t.Context(), json.Value(`{"n":1,"key":"k-1"}`)); !slices.Equal(got, []string{"k-1"}) {
		t.Errorf("got secret parameters %q", got)
	}
	const beyond = `{"n":9223372036854775808}`
	if e := say.Refuse(t.Context(), json.Value(beyond)); e != nil {
		t.Errorf("a schema refuses a large number: %v", e)
	}
	native := tool("say", "integer")
	native.Native = true
	if e := native.Refuse(t.Context(), json.Value(beyond)); e == nil {
		t.Error("accepted a number that a program would read as another one")
	}
}
