package failures_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Texts of pydantic and zod about an invoice, as FastMCP for Python and TypeScript pass them on.
const (
	pydanticInvoice = "Error executing tool book_invoice: 1 validation error for Invoice\ntotal\n" +
		"  Field required [type=missing, input_value={'vendor': 'ACME'}, input_type=dict]\n" +
		"    For further information visit https://errors.pydantic.dev/2.14/v/missing"
	pydanticLater = "Error calling tool 'book_invoice': Failed to read the answer: 1 validation error for Invoice\ntotal\n" +
		"  Input should be a valid number [type=float_type, input_value=None, input_type=NoneType]\n" +
		"    For further information visit https://errors.pydantic.dev/2.14/v/float_type"
	zodInvoice = "Tool 'book_invoice' execution failed: [\n  {\n    \"expected\": \"number\",\n    \"code\": \"invalid_type\",\n" +
		"    \"path\": [\n      \"total\"\n    ],\n    \"message\": \"Invalid input: expected number, received undefined\"\n  }\n]"
	zodBare = `[{"expected":"number","code":"invalid_type","path":["total"],"message":"Invalid input: expected number, received undefined"}]`
)

// What a validator says of data that the call did not give, such as the answer of an API, is no refusal of the arguments: the tool
// has run.
func TestDataOfTheServersOwn(t *testing.T) {
	t.Parallel()
	tool := func(name, properties string) testkit.Tool {
		return testkit.Tool{Name: name, Definition: `{"name":"` + name + `","inputSchema":{"type":"object","properties":` + properties + `}}`}
	}
	srv := testkit.NewServer(t, testkit.WithTools(
		tool("book_invoice", `{"number":{"type":"string","title":"Number"},"note":{"type":"string"}}`),
		tool("add_invoice", `{"invoice":{"$ref":"#/$defs/Invoice"}},"$defs":{"Invoice":{"properties":{"total":{"type":"number"}}}}`),
		tool("add_camel", `{"invoiceTotal":{"type":"number"}}`),
		tool("add_told", `{"fields":{"type":"array","description":"vendor, total and date"}}`),
		tool("add_open", `{"data":{"type":"object"}}`),
		tool("total_by", `{}`),
		testkit.Tool{Name: "bare", Definition: `{"name":"bare","inputSchema":{"type":"object"}}`},
	))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for _, tt := range []struct {
		tool, args, text string
		own              bool
	}{
		{"book_invoice", `{"number":"17"}`, pydanticInvoice, true},
		{"book_invoice", `{"number":"17"}`, pydanticLater, true},
		{"book_invoice", `{"number":"17"}`, zodInvoice, true},
		{"book_invoice", `{"number":"17"}`, zodBare, true},
		{"book_invoice", `{}`, zodBare, true},
		// It may be about what was given, or not given.
		{"book_invoice", `{"number":"17","note":"{\"vendor\": \"ACME\"}"}`, pydanticInvoice, false},
		{"book_invoice", `{"number":"17","note":"vendor: ACME"}`, pydanticInvoice, false},
		{"book_invoice", `{"number":"17","note":"the total is missing"}`, pydanticInvoice, false},
		{"book_invoice", `{"number":"17"}`, strings.Replace(pydanticInvoice, "for Invoice", "for book_invoiceArguments", 1), false},
		{"book_invoice", `{"number":"17"}`, strings.Replace(pydanticInvoice, "for Invoice", "for call[book]", 1), false},
		{"book_invoice", `{"number":"17"}`, strings.Replace(pydanticInvoice, "for Invoice", "for BookInput", 1), false},
		{"book_invoice", `{"number":"17"}`, "Invalid arguments for tool book_invoice: " + zodBare, false},
		{"book_invoice", `{"number":"17"}`, strings.Replace(pydanticInvoice, "\ntotal\n", "\nInvoiceNumber\n", 1), false},
		{"add_invoice", `{"invoice":{}}`, pydanticInvoice, false},
		{"add_camel", `{}`, pydanticInvoice, false},
		{"add_told", `{"fields":[]}`, pydanticInvoice, false},
		{"add_open", `{"data":{"a":1}}`, pydanticInvoice, false},
		{"bare", `{}`, pydanticInvoice, false},
		{"unlisted", `{}`, pydanticInvoice, false},
	} {
		text, _ := json.Marshal(tt.text)
		srv.Always(tt.tool, faults.Result("", `{"isError":true,"content":[{"type":"text","text":`+string(text)+`}]}`))
		a, err := client.Call(t.Context(), tt.tool, tt.args)
		if err != nil {
			t.Fatal(err)
		}
		e, read := gatewaytest.Record(t, a), a.Result(t).Text()
		if got := e.Kind == recourse.KindInternal; got != tt.own || got == (e.Kind.Class() == recourse.ClassInput) && tt.tool != "unlisted" {
			t.Errorf("%s %s: %.60q is read as %s", tt.tool, tt.args, tt.text, e.Kind)
		}
		if tt.own && (e.Effect != recourse.EffectUnknown || e.Origin != recourse.OriginServer || !strings.Contains(read, "total") ||
			strings.Contains(read, "Add ") || strings.Contains(read, "Correct ")) {
			t.Errorf("%.60q: effect %q, origin %s, read as %q", tt.text, e.Effect, e.Origin, read)
		}
	}
}

// An argument that is meant to be JSON, and is none, is the caller's matter, whatever the parser says.
func TestArgumentThatIsNoJSON(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: "validate_node"}))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	const python = "Error calling tool 'validate_node': Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
	for _, tt := range []struct {
		args, text string
		own        bool
	}{
		{`{"node":"{bad: 1}"}`, python, true},
		{`{"node":"{bad"}`, python, false},
		{`{"node":"[urgent] Call Bob"}`, python, false},
		{`{"node":"{'a': 1}"}`, "Output validation error: 'sum' is a required property", false},
		{`{"node":" {'label': 'Person'}"}`, python, true},
		{`{"name":"a","node":"[1,]"}`, "Unexpected token ] in JSON at position 3", true},
		{`{"node":"{\"label\":\"Person\"}"}`, python, false},
		{`{"node":"Person"}`, python, false},
		{`{"query":"{ user { id } }"}`, "Unexpected token O in JSON at position 0", false}, // in another language
		{`{"node":"{bad"}`, "Unexpected token < in JSON at position 0", false},             // a page
		{`{"node":"{bad"}`, "HTTP 502: Expecting value: line 1 column 1 (char 0)", false},
	} {
		text, _ := json.Marshal(tt.text)
		srv.Always("validate_node", faults.Result("", `{"isError":true,"content":[{"type":"text","text":`+string(text)+`}]}`))
		a, err := client.Call(t.Context(), "validate_node", tt.args)
		if err != nil {
			t.Fatal(err)
		}
		e, read := gatewaytest.Record(t, a), a.Result(t).Text()
		if got := e.Kind == recourse.KindInvalidValue && strings.Contains(read, "Correct node (expected: valid JSON)"); got != tt.own {
			t.Errorf("%s: %q is read as %s, %q", tt.args, tt.text, e.Kind, read)
		}
	}
}

// A tool without parameters has no arguments to correct: what it finds wrong is the state of the server.
func TestNoArgumentsToCorrect(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithTools(
		testkit.Tool{Name: "sum", Definition: `{"name":"sum","inputSchema":{"type":"object","properties":{}}}`},
		testkit.Tool{Name: "mean", Definition: `{"name":"mean","inputSchema":{"type":"object","properties":{"of":{"type":"string"}}}}`},
	))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for _, tt := range []struct {
		tool, args, text string
		want             recourse.Kind
	}{
		{"sum", `{}`, "division by zero", recourse.KindInvalidState},
		{"sum", `{}`, "Project path must be absolute", recourse.KindInvalidState},
		{"mean", `{}`, "division by zero", recourse.KindInvalidValue},
		{"sum", `{"of":"x"}`, "division by zero", recourse.KindInvalidValue},
		{"sum", `{}`, `required argument "quantity" not found`, recourse.KindMissingParam}, // mcp-go: it takes what it does not declare
		{"sum", `{}`, pydanticInvoice, recourse.KindInternal},
		{"sum", `{}`, "The answer is too large", recourse.KindTooLarge},
	} {
		text, _ := json.Marshal(tt.text)
		srv.Always(tt.tool, faults.Result("", `{"isError":true,"content":[{"type":"text","text":`+string(text)+`}]}`))
		a, err := client.Call(t.Context(), tt.tool, tt.args)
		if err != nil {
			t.Fatal(err)
		}
		e, read := gatewaytest.Record(t, a), a.Result(t).Text()
		if e.Kind != tt.want || e.Kind == recourse.KindInvalidState && strings.Contains(read, "rguments") {
			t.Errorf("%s %s: %q is read as %s, %q", tt.tool, tt.args, tt.text, e.Kind, read)
		}
	}
}
