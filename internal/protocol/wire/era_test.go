package wire_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// headers returns a header with the given names and values, with canonical names.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestCheckHeaders(t *testing.T) {
	t.Parallel()
	const (
		meta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		call    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get",` + meta + `}}`
		chinese = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Hello, 世界",` + meta + `}}`
		list    = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
		read    = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a",` + meta + `}}`
		note    = `{"jsonrpc":"2.0","method":"notifications/x"}`
		legacy  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get"}}`
	)
	modern := func(pairs ...string) http.Header {
		return headers(append([]string{"MCP-Protocol-Version", "2026-07-28"}, pairs...)...)
	}
	tests := []struct {
		name, body string
		h          http.Header
		era        wire.Era
		code       int
		message    string
	}{
		{"a call", call, modern("mcp-method", "tools/call", "MCP-NAME", "get"), wire.Modern, 0, ""},
		{"a list", list, modern("Mcp-Method", "tools/list"), wire.Modern, 0, ""},
		{"a resource", read, modern("Mcp-Method", "resources/read", "Mcp-Name", "file:///a"), wire.Modern, 0, ""},
		{"an encoded name", chinese, modern("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?SGVsbG8sIOS4lueVjA==?="), wire.Modern, 0, ""},
		{"a plain name, encoded all the same", call, modern("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?Z2V0?="), wire.Modern, 0, ""},
		{"a notification without headers", note, modern(), wire.Modern, 0, ""},
		{"nothing at all", legacy, headers(), wire.Legacy, 0, ""},
		{"an old version", legacy, headers("MCP-Protocol-Version", "2025-06-18", "Mcp-Method", "ignored"), wire.Legacy, 0, ""},

		{"an unknown version", legacy, headers("MCP-Protocol-Version", "2099-01-01"), 0, wire.CodeUnsupportedVersion, `protocol version "2099-01-01" is not supported`},
		{"a version that is only for stdio", legacy, headers("MCP-Protocol-Version", "2024-11-05"), 0, wire.CodeUnsupportedVersion, `protocol version "2024-11-05" is not supported`},
		{"no version header", call, headers("Mcp-Method", "tools/call", "Mcp-Name", "get"), 0, wire.CodeHeaderMismatch, `the MCP-Protocol-Version header is missing, and _meta states version "2026-07-28"`},
		{"another version", call, headers("MCP-Protocol-Version", "2025-11-25"), 0, wire.CodeHeaderMismatch, `the MCP-Protocol-Version header says "2025-11-25", and _meta says "2026-07-28"`},
		{"two version headers", call, modern("MCP-Protocol-Version", "2026-07-28"), 0, wire.CodeHeaderMismatch, "the header Mcp-Protocol-Version is sent 2 times"},
		{"no _meta", legacy, modern("Mcp-Method", "tools/call", "Mcp-Name", "get"), 0, wire.CodeInvalidParams, "_meta needs the string io.modelcontextprotocol/protocolVersion"},
		{"no capabilities", strings.Replace(call, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":true`, 1), modern("Mcp-Method", "tools/call", "Mcp-Name", "get"), 0, wire.CodeInvalidParams, "_meta needs the object io.modelcontextprotocol/clientCapabilities"},
		{"no method", call, modern("Mcp-Name", "get"), 0, wire.CodeHeaderMismatch, "the Mcp-Method header is missing"},
		{"another method", call, modern("Mcp-Method", "Tools/call", "Mcp-Name", "get"), 0, wire.CodeHeaderMismatch, `the Mcp-Method header says "Tools/call", and the body says "tools/call"`},
		{"another method of a notification", note, modern("Mcp-Method", "notifications/y"), 0, wire.CodeHeaderMismatch, `the Mcp-Method header says "notifications/y", and the body says "notifications/x"`},
		{"no name", call, modern("Mcp-Method", "tools/call"), 0, wire.CodeHeaderMismatch, "the Mcp-Name header is missing, which tools/call needs"},
		{"another name", call, modern("Mcp-Method", "tools/call", "Mcp-Name", "set"), 0, wire.CodeHeaderMismatch, `the Mcp-Name header says "set", and the body says "get"`},
		{"two names", call, modern("Mcp-Method", "tools/call", "Mcp-Name", "get", "Mcp-Name", "set"), 0, wire.CodeHeaderMismatch, "the header Mcp-Name is sent 2 times"},
		{"a name in UTF-8", chinese, modern("Mcp-Method", "tools/call", "Mcp-Name", "Hello, 世界"), 0, wire.CodeHeaderMismatch, "the Mcp-Name header is not encoded as it must be"},
		{"a name in broken Base64", call, modern("Mcp-Method", "tools/call", "Mcp-Name", "=?base64?Z2V?="), 0, wire.CodeHeaderMismatch, "the Mcp-Name header is not encoded as it must be"},
		{"marks in capitals are part of the name", call, modern("Mcp-Method", "tools/call", "Mcp-Name", "=?BASE64?Z2V0?="), 0, wire.CodeHeaderMismatch, `the Mcp-Name header says "=?BASE64?Z2V0?=", and the body says "get"`},
		{"a huge version", legacy, headers("MCP-Protocol-Version", strings.Repeat("é", 1000)), 0, wire.CodeUnsupportedVersion, `protocol version "` + strings.Repeat("é", 32) + `..." is not supported`},
	}
	for _, tt := range tests {
		var m wire.Message
		if err := wire.Parse([]byte(tt.body), &m); err != nil {
			t.Fatal(err)
		}
		era, err := wire.CheckHeaders(tt.h, &m)
		var code int
		var message string
		if e, ok := errors.AsType[*wire.Error](err); ok {
			code, message = e.Code, e.Message
		} else if err != nil {
			t.Errorf("%s: %v is not an *Error", tt.name, err)
		}
		if err == nil && era != tt.era {
			t.Errorf("%s: got era %v, want %v", tt.name, era, tt.era)
		}
		if code != tt.code {
			t.Errorf("%s: got code %d, want %d", tt.name, code, tt.code)
		}
		if diff := cmp.Diff(tt.message, message); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSetHeadersPassTheCheck(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"get", " padded ", "Hello, 世界", "a\nb", "=?base64?literal?=", "tab\tinside", "=?base64?="} {
		quoted := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(name)
		body := `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"` + quoted +
			`","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		var m wire.Message
		if err := wire.Parse([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		wire.SetHeaders(h, wire.Version20260728, &m)
		if era, err := wire.CheckHeaders(h, &m); err != nil || era != wire.Modern {
			t.Errorf("%q: %v, %v; headers %v", name, era, err, h)
		}
	}
}

func TestEncodeHeader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{ // the examples of the specification
		"us-west1":           "us-west1",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"":                   "",
	} {
		got := wire.EncodeHeader(in)
		if got != want {
			t.Errorf("EncodeHeader(%q) = %q, want %q", in, got, want)
		}
		if back, ok := wire.DecodeHeader(got); !ok || back != in {
			t.Errorf("DecodeHeader(%q) = %q, %t", got, back, ok)
		}
	}
	for _, bad := range []string{"\x7f", "é", "a\x00", "=?base64?_w==?=", "=?base64?/w==?=", "=?base64?YQ?="} {
		if got, ok := wire.DecodeHeader(bad); ok {
			t.Errorf("DecodeHeader(%q) = %q", bad, got)
		}
	}
}

func TestEraOf(t *testing.T) {
	t.Parallel()
	for _, v := range wire.Versions() {
		if era, ok := wire.EraOf(v); !ok || (era == wire.Modern) != (v == wire.Version20260728) {
			t.Errorf("EraOf(%q) = %v, %t", v, era, ok)
		}
	}
	if era, ok := wire.EraOf("2024-11-05"); ok {
		t.Errorf("EraOf(2024-11-05) = %v", era)
	}
}

func TestParamHeaders(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"options":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"DRY-run"},"n":{"type":"integer","x-mcp-header":"n"}}},
		"plain":{"type":"string"}}}`
	got, err := wire.ParamHeaders([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	want := []wire.ParamHeader{
		{Header: "Mcp-Param-Dry-Run", Path: []string{"options", "dry"}},
		{Header: "Mcp-Param-N", Path: []string{"options", "n"}},
		{Header: "Mcp-Param-Region", Path: []string{"region"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParamHeaders (-want +got):\n%s", diff)
	}

	tests := []struct {
		name, arguments string
		h               http.Header
		message         string
	}{
		{"all agree", `{"region":"eu","options":{"dry":true,"n":42}}`, headers("mcp-param-region", "eu", "mcp-param-dry-run", "true", "mcp-param-n", "42.0"), ""},
		{"none given", `{}`, headers(), ""},
		{"null", `{"region":null}`, headers(), ""},
		{"no arguments", ``, headers("Mcp-Param-Other", "x"), ""},
		{"encoded", `{"region":"世"}`, headers("Mcp-Param-Region", "=?base64?5LiW?="), ""},
		{"an empty string", `{"region":""}`, headers("Mcp-Param-Region", ""), ""},
		{"missing", `{"region":"eu"}`, headers(), "the header Mcp-Param-Region is missing for the argument region"},
		{"without an argument", `{}`, headers("Mcp-Param-N", "1"), "the header Mcp-Param-N is sent without the argument options.n"},
		{"different", `{"region":"eu"}`, headers("Mcp-Param-Region", "EU"), "the header Mcp-Param-Region does not say the same as the argument region"},
		{"a different number", `{"options":{"n":1}}`, headers("Mcp-Param-N", "2"), "the header Mcp-Param-N does not say the same as the argument options.n"},
		{"an object as value", `{"region":{}}`, headers("Mcp-Param-Region", "{}"), "the header Mcp-Param-Region does not say the same as the argument region"},
		{"not encoded", `{"region":"é"}`, headers("Mcp-Param-Region", "é"), "the header Mcp-Param-Region is not encoded as it must be, for the argument region"},
		{"twice", `{"region":"eu"}`, headers("Mcp-Param-Region", "eu", "Mcp-Param-Region", "us"), "the header Mcp-Param-Region is sent 2 times"},
	}
	for _, tt := range tests {
		err := wire.CheckParamHeaders(tt.h, []byte(tt.arguments), got)
		message := ""
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Code == wire.CodeHeaderMismatch {
			message = e.Message
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.message, message); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// CheckParamHeaders accepts the headers that SetParamHeaders sets.
func TestSetParamHeaders(t *testing.T) {
	t.Parallel()
	params := []wire.ParamHeader{
		{Header: "Mcp-Param-A", Path: []string{"a"}},
		{Header: "Mcp-Param-B", Path: []string{"options", "b"}},
	}
	for arguments, want := range map[string]http.Header{
		``:                                   headers(),
		`{}`:                                 headers(),
		`{"a":null,"options":[]}`:            headers(),
		`{"a":"eu","options":{"b":true}}`:    headers("Mcp-Param-A", "eu", "Mcp-Param-B", "true"),
		`{"a":"世","options":{"b":false}}`:    headers("Mcp-Param-A", "=?base64?5LiW?=", "Mcp-Param-B", "false"),
		`{"a":"","options":{"b":42}}`:        headers("Mcp-Param-A", "", "Mcp-Param-B", "42"),
		`{"a":"\u0061\r\nb"}`:                headers("Mcp-Param-A", "=?base64?YQ0KYg==?="),
		`{"options":{"b":4.20e1}}`:           headers("Mcp-Param-B", "42"),
		`{"options":{"b":-0.0}}`:             headers("Mcp-Param-B", "0"),
		`{"options":{"b":9007199254740993}}`: headers("Mcp-Param-B", "9007199254740993"),
	} {
		got := http.Header{}
		wire.SetParamHeaders(got, []byte(arguments), params)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
		if err := wire.CheckParamHeaders(got, []byte(arguments), params); err != nil {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	got := http.Header{}
	if wire.SetParamHeaders(got, []byte(`{"a":{},"options":{"b":[]}}`), params); len(got) > 0 {
		t.Errorf("values of another type: got %v", got)
	}
}

func TestParamHeadersRefuses(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"half of a schema":  `{`,
		"a list":            `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`,
		"a number":          `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		"empty":             `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		"an integer":        `{"properties":{"a":{"type":"string","x-mcp-header":1}}}`,
		"a space":           `{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`,
		"a line end":        `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`,
		"the same, by case": `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"a"}}}}}`,
	} {
		if got, err := wire.ParamHeaders([]byte(schema)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := wire.ParamHeaders([]byte(`{"type":"object"}`)); err != nil || got != nil {
		t.Errorf("a schema without annotations: got %v, %v", got, err)
	}
}
