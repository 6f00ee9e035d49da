package contracttest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Marked is a failure in a contract's form, as a server sends it, that has members which the contract does not know, or
// values of another type, at every level. Each of these has a value that occurs nowhere else: its mark.
type Marked struct {
	Result string // of a JSON-RPC answer
	Error  string // or its error
	Body   string // or the body of an HTTP answer
	Status int
	Media  string

	Marks  []string // in the failure
	Beside []string // around it: in the result, and in its blocks
}

// Missing returns the marks that a text does not contain, unless it says that as many members were left out.
func Missing(marks []string, text string) []string {
	missing := slices.DeleteFunc(slices.Clone(marks), func(mark string) bool { return strings.Contains(text, mark) })
	_, record, _ := strings.Cut(text, recourse.MetaKey)
	said := 0
	for _, found := range omitted.FindAllStringSubmatch(record, -1) {
		n, _ := strconv.Atoi(found[1])
		said += n
	}
	if len(missing) <= said {
		return nil
	}
	return missing
}

// omitted is how a record says that members of it were left out.
var omitted = regexp.MustCompile(`"omitted":"(\d+) of the record's members, which are not known here"`)

// Found returns the marks that a text contains.
func Found(marks []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(marks), func(mark string) bool { return !strings.Contains(text, mark) })
}

// MarkedFailures draws failures in the form of the built-in contract of that name.
func MarkedFailures(name string) *rapid.Generator[Marked] {
	return rapid.Custom(func(t *rapid.T) Marked {
		m := marker{t: t}
		switch name {
		case "fieldmcp":
			m.fieldmcp()
		case "commerce":
			m.commerce()
		case "patterns":
			m.patterns()
		case "studies":
			m.studies()
		case "terra":
			m.terra()
		default:
			m.recourse()
		}
		return m.Marked
	})
}

// A marker writes a Marked.
type marker struct {
	Marked

	t *rapid.T
}

func (m *marker) of(values ...string) string { return rapid.SampledFrom(values).Draw(m.t, "value") }

func (m *marker) flip() bool { return rapid.Bool().Draw(m.t, "flip") }

// mark returns a value that contains a new mark of the list.
func (m *marker) mark(list *[]string) string {
	mark := fmt.Sprintf("mark-%d-%d-end", len(m.Marks), len(m.Beside)) // none is the beginning of another
	*list = append(*list, mark)
	return fmt.Sprintf(m.of(`%q`, `{"x":[1e+25,%q]}`, `[ %q ]`, `{"a":{"b":%q}}`, `[{"code":%q}]`), mark)
}

// own returns members that no contract knows.
func (m *marker) own() string { return m.members(&m.Marks) }

func (m *marker) members(list *[]string) string {
	var b strings.Builder
	for i := range rapid.IntRange(0, 2).Draw(m.t, "members") {
		name := m.of("own", "Own", "own_2", "status ", "é")
		fmt.Fprintf(&b, `,"%s%d": %s`, name, i, m.mark(list))
	}
	return b.String()
}

// maybe returns some members of these names, which a contract knows, with values of any type.
func (m *marker) maybe(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if rapid.IntRange(0, 3).Draw(m.t, name) == 0 {
			fmt.Fprintf(&b, `,%q:%s`, name, m.mark(&m.Marks))
		}
	}
	return b.String()
}

// item returns an item of a list.
func (m *marker) item(id, code string, known ...string) string {
	switch rapid.IntRange(0, 3).Draw(m.t, "item") {
	case 0:
		return `{"` + id + `":"1"` + code + m.maybe(known...) + m.own() + `}`
	case 1:
		return `{"other":` + m.mark(&m.Marks) + m.own() + `}`
	case 2:
		return m.mark(&m.Marks)
	default:
		return `{"` + id + `":"2","error":{"code":"PROVIDER_TIMEOUT","message":"Late."` + m.own() + `}` + m.own() + `}`
	}
}

// prefix returns what a runtime may put before a text.
func (m *marker) prefix() string {
	return m.of("", "", "Error executing tool get_field: ", "Error calling tool 'get_field': ", "MCP error -32603: Error executing tool f: ")
}

// failed writes a result; content holds the items of its content, and more its other members.
func (m *marker) failed(content, more string) {
	m.Result = `{"content":[` + content + `]` + more + `,"isError":true` + m.members(&m.Beside) + `}`
}

func (m *marker) block(text string) string {
	return `{"type":"text","text":` + string(json.AppendQuote(nil, text)) + m.members(&m.Beside) + `}`
}

// object writes a result with the object of a contract in one of these places, or in both.
func (m *marker) object(object string) {
	switch rapid.IntRange(0, 2).Draw(m.t, "places") {
	case 0:
		m.failed(m.block(m.prefix()+object), "")
	case 1:
		m.failed("", `,"structuredContent":`+object)
	default:
		m.failed(m.block(object), `,"structuredContent":`+object)
	}
}

func (m *marker) fieldmcp() {
	switch rapid.IntRange(0, 2).Draw(m.t, "form") {
	case 0:
		item := func() string { return m.item("id", "") }
		m.object(`{"error":true,"code":"PARTIAL_SUCCESS","message":"m","retryable":false` + m.own() +
			`,"succeeded":[` + item() + `,` + item() + `],"failed":[` + m.item("id", `,"code":"PROVIDER_TIMEOUT"`, "message", "retryAfter") + `,` + item() +
			`],"missingData":[` + m.item("what", "", "impact") + `]}`)
	case 1:
		m.object(`{"error":true,"code":"` + m.of("FIELD_NOT_FOUND", "MISSING_SCOPE", "SOIL_TOO_WET", "INSUFFICIENT_DATA") + `","retryable":` +
			m.of("true", "false") + m.maybe("message", "suggestedAction", "requestId", "param", "retryAfter", "provider", "missingScopes", "resourceId",
			"succeeded", "failed", "missingData") + m.own() + `}`)
	default:
		m.Status, m.Media = 429, "application/json"
		m.Body = `{"error":"Rate limit exceeded. Try again in 900 seconds.","errorCode":429` + m.own() + `,"rateLimits":{"minuteRemaining":0` +
			m.maybe("minuteResetAt", "monthlyRemaining") + m.own() + `}}`
	}
}

func (m *marker) commerce() {
	code := m.of("3500", "7000", "4002", "3002", "4001", "12")
	object := func() string {
		return `{"code":` + code + `,"retryable":` + m.of("true", "false") + `,"message":"m"` + m.own() + `,"details":{"reason":"r"` + m.own() +
			m.maybe("suggestion", "originalError") + `,"context":{"n":1` + m.own() + m.maybe("retryAfter", "requestId", "violations") + `}}}`
	}
	switch rapid.IntRange(0, 2).Draw(m.t, "form") {
	case 0:
		same := object()
		m.failed(m.block(same), `,"error":`+same)
	case 1:
		m.failed("", `,"error":`+object())
	default:
		m.Error = `{"code":-32602,"message":"Invalid params: a is required","data":{"field":"a"` + m.own() +
			`,"error":{"code":2002,"message":"a is required","retryable":false` + m.own() + `,"details":{"field":"a","reason":"required"` + m.own() + `}}}}`
	}
}

func (m *marker) patterns() {
	m.failed(m.block("No."), `,"structuredContent":{"kind":"toolError:v1","code":"`+m.of("MINE", "CLIENT_ERROR", "NETWORK_ERROR")+
		`","message":"No.","retryable":`+m.of("true", "false")+m.own()+`,"details":{"n":1`+m.own()+m.maybe("statusCode")+`}}`)
}

func (m *marker) studies() {
	code := m.of("my_code", "not_found", "timeout")
	m.failed(m.block(m.prefix()+`[`+code+`] No. [envelope] {"error_kind":"`+code+`"`+m.own()+m.maybe("suggestions", "source_url")+`}`), "")
}

func (m *marker) terra() {
	if m.flip() {
		m.failed(m.block(m.of("fields or select are required", "Provider-User-Id header is required", "It broke.")), "")
		return
	}
	m.Status, m.Media = 500, "application/problem+json"
	m.Body = `{"type":"about:blank","title":"internal server error","detail":"something went wrong"` + m.own() + `}`
}

func (m *marker) recourse() {
	object := `{"v":1,"kind":"` + m.of("timeout", "invalid_value", "partial") + `","code":"timeout","contract":"recourse","message":"No."` + m.own() +
		`,"violations":[{"pointer":"/a","param":"a"` + m.own() + `}],"failed":[{"id":"1"` + m.own() + `,"error":{"kind":"timeout"` + m.own() + `}}],"details":{"n":1` + m.own() + `}}`
	m.failed(m.block("[timeout] No."), `,"structuredContent":`+object)
}
