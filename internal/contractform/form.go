package contractform

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Form is a contract as data. Templates and paths are as in the file.
type Form struct {
	Codes    []*Code
	Fallback *Code
	Words    map[string]*Code // by code, and by words that are read as one

	Layout      Layout
	ToolResults []ToolResult   // of tools that return their failures
	Members     []ObjectMember // of the object, in their order

	Question *Shape // of the object of a question, or nil
	Upstream *Shape // of the body of an HTTP error of a system that the server calls, or nil
	Reads    []Read
	Ranges   []Range

	Hints                                []Hint // for every code
	HintTools                            []string
	Verify                               map[string]VerifyCall    // by tool
	Batch                                map[string]string        // the argument with the items, by tool
	Expects                              map[string][]Expectation // what a success looks like, by tool
	Once                                 map[string][]string      // the arguments that tell a repetition, by tool
	ResourcesByArgument, ResourcesByTool map[string]string        // types of things, by the plain name of an argument and by tool

	ReadOnly    bool            // every tool without a Verify only reads
	Readers     []string        // tools that only read in any case
	Literals    string          // how values are spelled in calls: json or python
	ShowsValues bool            // it can show the value that was given for an argument
	Silence     *bool           // what it means if nothing says whether to repeat the call; nil: nothing
	ResultKinds []recourse.Kind // the kinds for which a failed call is a tool result
}

// DocOf returns what the contract says about a member of its object; "" for a member of another shape.
func (f *Form) DocOf(sh *Shape, name string) string {
	if sh != f.Layout.Shape {
		return ""
	}
	for _, m := range f.Members {
		if m.Name == name {
			return m.Doc
		}
	}
	return ""
}

// Code is an entry of a contract.
type Code struct {
	Code      string
	Open      bool   // Code is a template that passes on another system's word
	Name      string // the name of a number
	Kind      recourse.Kind
	Group     string
	When      string
	Selectors []Selector // empty: by name only
	Reads     []string   // other codes that are read as this one
	Set       []Constant
	Retry     Retryable
	Wait      time.Duration
	Messages  []string
	Hints     []Hint
	Ask       *Ask
	HTTP      *HTTP
	RPC       *RPC
	Otherwise string // the code that replaces this one if no HTTP answer can be given
}

// InResult reports whether the code can appear in a tool result.
func (c *Code) InResult() bool { return !c.Open && c.Otherwise == "" && c.RPC == nil }

// Constant is a member of the record with a fixed value.
type Constant struct {
	Path  string
	Value json.Value
}

// Retryable says how a code decides whether to repeat the call.
type Retryable struct {
	Mode   RetryMode
	Status []string // of ByStatus
}

// RetryMode is how a code decides.
type RetryMode int

// The modes.
const (
	ByRecord RetryMode = iota
	Always
	Never
	ByStatus
	Stated
)

// Hint is a text that is given if its selector matches and the server has its tools.
type Hint struct {
	When  Selector
	Text  string
	Tools []string
}

// Ask is the question that is written instead of a failure.
type Ask struct {
	Selectors []Selector
	Messages  []string
	Reason    string
	Fields    []string
}

// HTTP is an HTTP answer. Without a media type it has no body.
type HTTP struct {
	Status  int
	Headers []Header
	Media   string
	Body    *Body
}

// Header is a header with the template of its value.
type Header struct{ Name, Value string }

// RPC is a JSON-RPC error.
type RPC struct {
	Code     int
	Messages []string
	Data     *Body
}

// ShapeMember has exactly one of its sources.
type ShapeMember struct {
	Name     string
	Constant json.Value
	Path     *Path
	Choices  []Choice
	Nested   *Shape
	List     *Path // each of its items is written by Nested
}

// Required reports whether the member is in every object that is written. on is the type that the shape describes.
func (m *ShapeMember) Required(on reflect.Type) bool {
	return m.Constant != nil || m.Path != nil && on == RecordType && alwaysThere[m.Path.Src]
}

// alwaysThere are paths that are never empty in a written record.
var alwaysThere = map[string]bool{
	"kind": true, "code": true, "contract": true, "message": true, "retryable": true, "retry": true,
}

// Body is JSON with templates. It has exactly one of its members.
type Body struct {
	Constant json.Value
	Text     string // a template
	Object   []BodyMember
	List     []*Body
	Shape    bool // the contract's own object
}

// BodyMember is a member of an object of a body.
type BodyMember struct {
	Name  string
	Value *Body
}

// Selector is a list of conditions, which must all hold.
type Selector []Condition

// Condition asks for one of Values.
type Condition struct {
	On     string
	Values []string
}

// OnResource is the condition for the type of the resource.
const OnResource = "resource"

// String writes the conditions as in the file.
func (s Selector) String() string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = c.On + ": " + strings.Join(c.Values, ", ")
	}
	return strings.Join(parts, "; ")
}

// Layout says where in a tool result a failure appears.
type Layout struct {
	Shape      *Shape // of the JSON object; nil: the record's own JSON form
	Record     bool   // the object is the record, which is in _meta in any case
	Line       *Line  // the text; nil: the object itself
	Indent     int    // of the object, in spaces
	Human      string // a template of a text for people, gated by the format argument
	Format     Format
	Structured bool   // the object is also in structuredContent
	Result     string // and in this member of the result
	IsError    bool
	MimeTypes  bool
	Advises    bool // the contract's hints follow the message
}

// WritesObject reports whether the object is anywhere in a result.
func (l *Layout) WritesObject() bool {
	return l.Line == nil || l.Structured || l.Result != "" || l.Record
}

// Line is a text that is not JSON.
type Line struct {
	Src           string
	Parts         []Part
	BeforeHints   string // "": hints are not written
	BetweenHints  string
	EnvelopeMark  string
	EnvelopeShape *Shape // of the structure after the line, or nil
}

// NamesCode reports whether the code is in the line.
func (l *Line) NamesCode() bool {
	return slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Path != nil && p.Path.IsCode() })
}

// Part is a literal or, if Path is set, a placeholder.
type Part struct {
	Literal string
	Path    *Path
}

// Format is the argument with which a call chooses between texts. The zero value means that there is none.
type Format struct {
	Argument, Fallback string
	Tools              []string // that take it, whatever their inputSchema says
}

// ToolResult is the layout for tools that return their failures in their own kind of result.
type ToolResult struct {
	Tools  []string
	Layout Layout
}

// Shape maps the members of an object to members of the record.
type Shape struct {
	Members []ShapeMember
	Rest    string // path of a map whose members are added to the others
}

// Marked reports whether a constant distinguishes objects of the shape from others.
func (s *Shape) Marked() bool {
	return slices.ContainsFunc(s.Members, func(m ShapeMember) bool { return m.Constant != nil })
}

// Type names the JSON type of the member; for a constant, the constant itself, as code in Markdown.
func (m *ShapeMember) Type() string {
	switch {
	case m.Constant != nil:
		return "`" + string(m.Constant) + "`"
	case m.List != nil:
		return TypeArray
	case m.Nested != nil:
		return TypeObject
	case m.Choices != nil:
		return strings.Join(m.ChoiceTypes(), " or ")
	default:
		return m.Path.Type()
	}
}

// ChoiceTypes names the JSON types of a member with alternatives.
func (m *ShapeMember) ChoiceTypes() []string {
	var types []string
	for _, c := range m.Choices {
		t := typeOfConstant(c.Constant)
		if c.Constant == nil {
			t = c.Path.Type()
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}

func typeOfConstant(raw json.Value) string {
	switch raw.Kind() {
	case '"':
		return TypeString
	case '0':
		if bytes.ContainsAny(raw, ".eE") {
			return TypeNumber
		}
		return TypeInteger
	case 't', 'f':
		return TypeBoolean
	case '[':
		return TypeArray
	case '{':
		return TypeObject
	default:
		return TypeAny
	}
}

// Choice is one of several sources: the first whose selector matches and that is not empty is used.
type Choice struct {
	When     Selector
	Constant json.Value
	Path     *Path // nil for a constant
}

// Path leads to a member of the record's JSON form, or to a computed one.
type Path struct {
	Src      string
	Computed string       // JSON type of a computed member
	Leaf     reflect.Type // of any other
}

// IsCode reports whether p is the record's own code.
func (p *Path) IsCode() bool { return p.Src == "code" || p.Src == "code.number" }

// Type names the JSON type of the member.
func (p *Path) Type() string {
	if p.Computed != "" {
		return p.Computed
	}
	return TypeOf(p.Leaf)
}

// Read is another form of a failure, which is only read and never written: a text or an object.
type Read struct {
	Text  string
	Shape *Shape
	Set   []Constant
}

// Range gives a kind to codes that are numbers and not listed.
type Range struct {
	From, To int
	Kind     recourse.Kind
	Name     string
}

// VerifyCall is the call that settles whether a tool's call took effect.
type VerifyCall struct {
	Tool   string
	Args   []VerifyArg
	LookAt string
	Landed *Landed // nil: a person decides
}

// Landed says what the answer of the call looks like if the write has landed: whether there is something at Path or, if
// a value is given, whether it equals that value or, with Contains, contains it.
type Landed struct {
	Path     string
	Exists   *bool
	Contains bool
	Pointer  string // to the value, in the failed call's arguments
	Value    json.Value
}

// VerifyArg comes from the failed call's arguments if Pointer is set.
type VerifyArg struct {
	Name    string
	Pointer string
	List    bool // the value is wrapped in a list
	Value   json.Value
	Spelled string // Value as it is written in a call
}

// ObjectMember documents a member of the contract's object.
type ObjectMember struct {
	Name    string
	Type    string
	Present string // when it is present
	Doc     string
}

// Vocabulary is what files can name, other than the members of the record.
type Vocabulary struct {
	Conditions []Condition // with their words, if these are a closed set
	Computed   []Computed
}

// Computed is a path that is computed.
type Computed struct{ Path, Type, Doc string }

// source is package contract, which registers itself: whoever has a contract has imported it.
var source struct {
	form       func(contract any) *Form
	family     func(family any) *FamilyFile
	vocabulary func() Vocabulary
}

// Provide registers package contract, so that other packages of this module can look into a contract although none of
// its exported signatures names an internal type. It returns true, so that a variable's declaration can call it.
func Provide(form func(contract any) *Form, family func(family any) *FamilyFile, vocabulary func() Vocabulary) bool {
	source.form, source.family, source.vocabulary = form, family, vocabulary
	return true
}

// Of returns a *contract.Contract as data.
func Of(contract any) *Form { return source.form(contract) }

// OfFamily returns the file of a *contract.Family.
func OfFamily(family any) *FamilyFile { return source.family(family) }

// Words returns the vocabulary.
func Words() Vocabulary { return source.vocabulary() }
