package wire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// ParamHeader is an argument of a tool that the tool's schema mirrors into a header with the annotation
// x-mcp-header (MCP 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters").
type ParamHeader struct {
	Header string   // canonical name, such as Mcp-Param-Region
	Path   []string // names of the properties that lead from the arguments to the value
}

// ParamHeaders returns the arguments that a tool's inputSchema mirrors into headers, sorted by header.
// The error says which annotation breaks the rules; clients do not see such a tool at all.
func ParamHeaders(inputSchema []byte) ([]ParamHeader, error) {
	var root annotated
	if err := json.UnmarshalLenient(inputSchema, &root); err != nil {
		return nil, fmt.Errorf("reading x-mcp-header annotations: %w", err)
	}
	found, err := root.collect(nil, nil)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b ParamHeader) int { return cmp.Compare(a.Header, b.Header) })
	for i := 1; i < len(found); i++ {
		if found[i].Header == found[i-1].Header {
			return nil, fmt.Errorf("two properties are annotated with the header %q", clip(found[i].Header))
		}
	}
	return found, nil
}

// annotated is the part of a schema through which annotations can be reached.
type annotated struct {
	Type       json.Value           `json:"type"`
	Header     json.Value           `json:"x-mcp-header"`
	Properties map[string]annotated `json:"properties"`
}

func (a *annotated) collect(path []string, found []ParamHeader) ([]ParamHeader, error) {
	for name, property := range a.Properties {
		at := append(slices.Clip(path), name)
		if property.Header != nil {
			header, err := property.header()
			if err != nil {
				return nil, fmt.Errorf("property %q: %w", clip(strings.Join(at, ".")), err)
			}
			found = append(found, ParamHeader{Header: header, Path: at})
		}
		var err error
		if found, err = property.collect(at, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// header returns the canonical name of the header in a property's annotation.
func (a *annotated) header() (string, error) {
	switch string(a.Type) {
	case `"string"`, `"integer"`, `"boolean"`:
	default:
		return "", errors.New("x-mcp-header needs the type string, integer or boolean")
	}
	var name string
	if err := json.Unmarshal(a.Header, &name); err != nil || name == "" {
		return "", errors.New("x-mcp-header must be a string that is not empty")
	}
	for i := range len(name) {
		if !isTokenByte(name[i]) {
			return "", fmt.Errorf("x-mcp-header %q is not the name of a header", clip(name))
		}
	}
	return textproto.CanonicalMIMEHeaderKey(HeaderParamPrefix + name), nil
}

// isTokenByte reports whether c may occur in the name of a header (RFC 9110, tchar).
func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// SetParamHeaders sets the headers that mirror the arguments of a tools/call. An argument that is
// missing or null gets no header, and neither does one whose type the schema does not allow: the server
// decides about it.
func SetParamHeaders(h http.Header, arguments []byte, params []ParamHeader) {
	for _, param := range params {
		switch value, _ := param.lookup(arguments); value.Kind() {
		case '"':
			h[param.Header] = []string{EncodeHeader(unquote(value))}
		case 't', 'f':
			h[param.Header] = []string{string(value)}
		case '0':
			h[param.Header] = []string{decimal(string(value))}
		default:
		}
	}
}

// decimal returns a JSON number without fraction and exponent if it is an integer that a float64
// represents exactly, which is the range of such arguments.
func decimal(number string) string {
	const exact = 1 << 53
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
		return number
	}
	return strconv.FormatInt(int64(f), 10)
}

// CheckParamHeaders checks that the headers of a tools/call agree with its
// arguments. The error is an [*Error] with [CodeHeaderMismatch].
func CheckParamHeaders(h http.Header, arguments []byte, params []ParamHeader) error {
	for _, param := range params {
		if err := param.check(h, arguments); err != nil {
			return err
		}
	}
	return nil
}

func (p *ParamHeader) check(h http.Header, arguments []byte) error {
	encoded, err := single(h, p.Header)
	if err != nil {
		return err
	}
	value, pointer := p.lookup(arguments)
	absent := value == nil || string(value) == "null"
	text, ok := DecodeHeader(encoded)
	switch {
	case absent && encoded == "":
		return nil
	case absent:
		return p.mismatch("is sent without", pointer)
	case !ok:
		return p.mismatch("is not encoded as it must be, for", pointer)
	case encoded == "" && !isEmptyString(value):
		return p.mismatch("is missing for", pointer)
	case !sameValue(value, text):
		return p.mismatch("does not say the same as", pointer)
	default:
		return nil
	}
}

func (p *ParamHeader) mismatch(how, pointer string) error {
	e := Error{Code: CodeHeaderMismatch, Pointer: pointer}
	e.Message = fmt.Sprintf("the header %s %s the argument %s", p.Header, how, strings.Join(p.Path, "."))
	return &e
}

// lookup returns the argument, or nil if there is none, and the pointer to it.
func (p *ParamHeader) lookup(arguments []byte) (value json.Value, pointer string) {
	at := json.Pointer("/params/arguments")
	value = arguments
	for _, name := range p.Path {
		at = at.AppendToken(name)
		var object map[string]json.Value
		if value == nil || json.Unmarshal(value, &object) != nil {
			value = nil
			continue
		}
		value = object[name]
	}
	return value, string(at)
}

func isEmptyString(value json.Value) bool { return string(value) == `""` }

// sameValue reports whether a header's text means the value. Integers are compared as numbers, so that
// 42.0 equals 42.
func sameValue(value json.Value, text string) bool {
	switch value.Kind() {
	case '"':
		return unquote(value) == text
	case 't', 'f':
		return string(value) == text
	case '0':
		a, errA := strconv.ParseFloat(string(value), 64)
		b, errB := strconv.ParseFloat(text, 64)
		return errA == nil && errB == nil && a == b
	default:
		return false
	}
}
