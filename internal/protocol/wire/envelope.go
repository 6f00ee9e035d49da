package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

// MessageKind says what a message is.
type MessageKind uint8

// The kinds of messages.
const (
	Invalid      MessageKind = iota // none of the others
	Request                         // has a method and an id
	Notification                    // has a method of notifications/ and no id
	Response                        // has an id and a result or an error
)

// String returns the JSON-RPC name of the kind.
func (k MessageKind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	default:
		return "invalid"
	}
}

// Methods that the gateway, or a part of it, handles.
const (
	MethodPing             = "ping"
	MethodSetLevel         = "logging/setLevel"
	MethodSubscribe        = "resources/subscribe"
	MethodUnsubscribe      = "resources/unsubscribe"
	MethodInitialize       = "initialize"
	MethodDiscover         = "server/discover"
	MethodToolsList        = "tools/list"
	MethodToolsCall        = "tools/call"
	MethodPromptsGet       = "prompts/get"
	MethodResourcesRead    = "resources/read"
	MethodPromptsList      = "prompts/list"
	MethodResourcesList    = "resources/list"
	MethodTemplatesList    = "resources/templates/list"
	MethodComplete         = "completion/complete"
	MethodCancelled        = "notifications/cancelled"
	MethodProgress         = "notifications/progress"
	MethodListen           = "subscriptions/listen"
	MethodLog              = "notifications/message"
	MethodToolsChanged     = "notifications/tools/list_changed"
	MethodPromptsChanged   = "notifications/prompts/list_changed"
	MethodResourcesChanged = "notifications/resources/list_changed"
	MethodAcknowledged     = "notifications/subscriptions/acknowledged"
	MethodElicit           = "elicitation/create"
	MethodElicitComplete   = "notifications/elicitation/complete"
	MethodSample           = "sampling/createMessage"
	MethodRoots            = "roots/list"
	MethodUpdated          = "notifications/resources/updated"
	MethodInitialized      = "notifications/initialized"
	MethodRootsChanged     = "notifications/roots/list_changed"
)

// Message is a client's message. Its byte slices are parts of Raw and are valid as long as Raw is; its
// strings are copies. A copy of a Message is as good as the message.
type Message struct {
	Raw    []byte // the whole text
	Kind   MessageKind
	ID     ID   // as spelled
	IDAt   Span // its span in Raw
	Method string
	// Name is what the method applies to: params.uri of resources/read, otherwise params.name. It is
	// empty if that is missing or not a string. NameAt is its span.
	Name   string
	NameAt Span

	Params    []byte // an object or array, or nil
	ParamsAt  Span
	Arguments []byte // params.arguments, of any type, or nil
	Cursor    []byte // params.cursor, of any type, or nil
	Task      []byte // params.task, of any type, or nil
	State     []byte // params.requestState, of any type, or nil
	Inputs    []byte // params.inputResponses, of any type, or nil
	Result    []byte // of a response
	Error     []byte // of a response

	Meta   []byte // params._meta, of any type, or nil
	MetaAt Span
	// ProgressToken is params._meta.progressToken, or params.progressToken of a progress notification;
	// of any type, or nil.
	ProgressToken   []byte
	ProgressTokenAt Span
	// RequestID is params.requestId of a cancelled notification; of any type, or nil.
	RequestID   ID
	RequestIDAt Span

	// ProtocolVersion is the version in _meta; empty if it is missing or not a string.
	ProtocolVersion    string
	ClientInfo         []byte // of _meta; of any type, or nil
	ClientCapabilities []byte // of _meta; of any type, or nil
	LogLevel           string // the one that _meta asks for; empty if it is missing or not a string

	// Subscription is the id, in _meta, of the request that a notification or the end of a subscription
	// belongs to; of any type, or nil.
	Subscription   ID
	SubscriptionAt Span

	traceAt     [3]Span // of traceparent, tracestate and baggage in _meta
	requestIDAt Span    // of the request id in _meta, see [Message.Stamp]
}

// Parse reads the client's message body into m. The caller has limited the length of body, and must not
// change it while m is in use.
//
// A text that is not one JSON text in UTF-8 is refused with [CodeParseError]. JSON that is not a
// message is refused with [CodeInvalidRequest]: a repeated name in any object, more than [lexer.MaxDepth]
// levels, a batch, an id that is neither a string nor an integer, a jsonrpc member other than "2.0", a
// method that is not a string, params that are neither an object nor an array, both or none of method,
// result and error, a request without an id: only the methods of notifications/ have none (MCP, "Messages"),
// and a server that looks at nothing but the method would carry it out.
//
// The error is always an [*Error]. m.ID is then the id to answer with: it is set only if the id can be
// read and neither it nor any name is invalid.
func Parse(body []byte, m *Message) error {
	m.Reset()
	m.Raw = body
	if len(body) > maxText {
		return &Error{Code: CodeInvalidRequest, Message: "the message is longer than 2 GiB"}
	}
	scans.Add(1)
	p := borrowParser(body)
	defer p.giveBack()
	if err := p.read(); err != nil {
		return refuse(body, err)
	}
	if dup := p.duplicate; !dup.IsZero() {
		pointer := pointerAt(body, dup.Start)
		return &Error{
			Code:    CodeInvalidRequest,
			Message: fmt.Sprintf("the member %s stands twice in its object, the second time at byte %d", pointer, dup.Start),
			Pointer: pointer,
			Offset:  dup.Start,
		}
	}
	return p.fill(m)
}

// Reset empties m.
func (m *Message) Reset() { *m = Message{} }

// parser is what Parse needs besides the message.
type parser struct {
	body      []byte
	lex       lexer.Lexer
	at        tracker
	names     nameSet
	objects   [lexer.MaxDepth + 1]int // by depth: the offset where the open object begins
	spans     [memberResultMetaRecord + 1]Span
	scratch   []byte
	duplicate Span // the first name that is repeated in its object
}

// reset prepares p for a text, and keeps memory that holds nothing of the last one.
func (p *parser) reset(body []byte) {
	p.body, p.scratch, p.duplicate = body, p.scratch[:0], Span{}
	p.lex = lexer.Lexer{Strict: true}
	p.at.reset()
	p.names.reset(body)
	p.spans = [len(p.spans)]Span{}
}

// read checks the whole text and records the positions of the known members. It continues after a
// repeated name, so that a text that is not JSON is reported as such.
func (p *parser) read() error {
	for p.lex.Pos < len(p.body) {
		tok, _ := p.lex.Next(p.body[p.lex.Pos:])
		switch tok {
		case lexer.Failed:
			return p.lex.Err
		case lexer.More:
		case lexer.Name:
			p.name()
		case lexer.Object:
			p.objects[p.lex.Depth] = p.lex.Start
			p.value(tok)
		default:
			p.value(tok)
		}
	}
	return p.lex.End()
}

func (p *parser) name() {
	start, end := p.lex.Start, p.lex.Pos
	if p.duplicate.IsZero() && !p.names.add(p.objects[p.lex.Depth], start, end, p.lex.Escaped) {
		p.duplicate = Span{Start: start, End: end}
	}
	in := p.at.container(&p.lex)
	if in == memberOther {
		return
	}
	name := p.body[start+1 : end-1]
	if p.lex.Escaped {
		p.scratch = append(p.scratch[:0], unquote(p.body[start:end])...)
		name = p.scratch
	}
	p.at.next = in.child(name)
}

func (p *parser) value(tok lexer.Token) {
	if m, at := p.at.value(&p.lex, tok); m != memberOther {
		p.spans[m] = at
	}
}

// of returns the value of a member, or nil.
func (p *parser) of(m member) []byte { return p.spans[m].Of(p.body) }

// refuse turns a lexer error into the answer for the client.
func refuse(body []byte, err error) error {
	bad, ok := err.(*lexer.SyntaxError) //nolint:errorlint // the lexer returns nothing else, and does not wrap
	if !ok {
		return err
	}
	e := &Error{Code: CodeParseError, Pointer: pointerAt(body, bad.Offset), Offset: bad.Offset}
	if bad.Problem == lexer.TooDeep {
		e.Code = CodeInvalidRequest
	}
	e.Message = "the message is not JSON: "
	switch bad.Problem {
	case lexer.TooDeep:
		e.Message = "the message has "
	case lexer.NotUTF8:
		e.Message = "the message is not UTF-8: "
	default:
	}
	e.Message += bad.Error()
	if bad.Problem == lexer.Unexpected && bad.Offset < len(body) {
		e.Message = fmt.Sprintf("the message is not JSON: unexpected character %q at byte %d", body[bad.Offset], bad.Offset)
	}
	if e.Pointer != "" && bad.Problem != lexer.TooDeep { // a pointer of 128 levels helps nobody
		e.Message += ", in " + e.Pointer
	}
	return e
}

// fill checks the envelope and sets the fields of m.
func (p *parser) fill(m *Message) error {
	if root := p.of(memberRoot); len(root) == 0 || root[0] != '{' { // a number has no delimiter of its own
		return notObject(root)
	}
	if id := ID(p.of(memberID)); !id.IsZero() {
		if len(id) > MaxID+len(`""`) { // no answer could be matched to it
			return p.invalid(memberID, "/id", fmt.Sprintf("the id is longer than %d bytes", MaxID))
		}
		if what := id.problem(); what != "" {
			return p.invalid(memberID, "/id", "the id is "+what+"; it must be a string or an integer")
		}
		m.ID, m.IDAt = id, p.spans[memberID]
	}
	if string(p.of(memberJSONRPC)) != `"2.0"` {
		return p.invalid(memberJSONRPC, "/jsonrpc", `the member jsonrpc must be "2.0"`)
	}
	method, params := p.of(memberMethod), p.of(memberParams)
	if len(method) > 0 && method[0] != '"' {
		return p.invalid(memberMethod, "/method", "the method must be a string")
	}
	if len(params) > 0 && params[0] != '{' && params[0] != '[' {
		return p.invalid(memberParams, "/params", "params must be an object or an array")
	}
	m.Params, m.ParamsAt = params, p.spans[memberParams]
	m.Result, m.Error = p.of(memberResult), p.of(memberError)
	m.Method = textOf(method)
	if err := p.classify(m, method != nil); err != nil {
		m.Method = ""
		return err
	}
	p.fillParams(m)
	return nil
}

func notObject(root []byte) error {
	if len(root) > 0 && root[0] == '[' {
		return &Error{Code: CodeInvalidRequest, Message: "the message is a batch; send each message on its own"}
	}
	return &Error{Code: CodeInvalidRequest, Message: "the message is not a JSON object"}
}

// classify sets m.Kind.
func (p *parser) classify(m *Message, hasMethod bool) error {
	answers := 0
	if m.Result != nil {
		answers++
	}
	if m.Error != nil {
		answers++
	}
	switch {
	case hasMethod && answers > 0:
		return p.invalid(memberMethod, "", "a message has a method, or a result, or an error, but not two of them")
	case answers > 1:
		return p.invalid(memberError, "", "a response has a result or an error, but not both")
	case hasMethod && m.ID.IsZero() && !IsNotification(m.Method):
		return p.invalid(memberMethod, "/id", "a request has no id: "+clip(m.Method))
	case hasMethod && m.ID.IsZero():
		m.Kind = Notification
	case hasMethod:
		m.Kind = Request
	case answers == 0:
		return p.invalid(memberMethod, "/method", "the member method is missing")
	case m.ID.IsZero():
		return p.invalid(memberID, "/id", "a response needs the id of its request")
	default:
		m.Kind = Response
	}
	return nil
}

// IsNotification reports whether messages with that method expect no answer, so that they have no id.
func IsNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }

// invalid returns the error about a member of the envelope.
func (p *parser) invalid(of member, pointer, sentence string) error {
	at := p.spans[of]
	if !at.IsZero() {
		sentence += ", at byte " + strconv.Itoa(at.Start)
	}
	return &Error{Code: CodeInvalidRequest, Message: sentence, Pointer: pointer, Offset: at.Start}
}

// fillParams sets the fields that come from params.
func (p *parser) fillParams(m *Message) {
	name, progress := memberParamsName, memberMetaProgressToken
	switch m.Method {
	case MethodResourcesRead:
		name = memberParamsURI
	case MethodProgress:
		progress = memberParamsProgressToken
	case MethodCancelled:
		m.RequestID, m.RequestIDAt = p.of(memberParamsRequestID), p.spans[memberParamsRequestID]
	}
	m.Name, m.NameAt = textOf(p.of(name)), p.spans[name]
	m.Arguments = p.of(memberParamsArguments)
	m.Cursor, m.Task = p.of(memberParamsCursor), p.of(memberParamsTask)
	m.State, m.Inputs = p.of(memberParamsState), p.of(memberParamsInputs)
	m.Meta, m.MetaAt = p.of(memberParamsMeta), p.spans[memberParamsMeta]
	m.ProgressToken, m.ProgressTokenAt = p.of(progress), p.spans[progress]
	m.ProtocolVersion = textOf(p.of(memberMetaProtocolVersion))
	m.ClientInfo = p.of(memberMetaClientInfo)
	m.ClientCapabilities = p.of(memberMetaClientCapabilities)
	m.LogLevel = textOf(p.of(memberMetaLogLevel))
	m.SubscriptionAt = p.spans[memberMetaSubscription]
	if m.Kind == Response {
		m.SubscriptionAt = p.spans[memberResultMetaSubscription]
	}
	m.Subscription = m.SubscriptionAt.Of(m.Raw)
	m.traceAt = [...]Span{p.spans[memberMetaTraceParent], p.spans[memberMetaTraceState], p.spans[memberMetaBaggage]}
	m.requestIDAt = p.spans[memberMetaRequestID]
}

// textOf returns the text of a JSON string, or "" for another value or none. Words of the protocol need no
// allocation.
func textOf(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		return unquote(raw)
	}
	plain := raw[1 : len(raw)-1]
	if word, ok := words[string(plain)]; ok {
		return word
	}
	return string(plain)
}

// words are texts of which most messages contain one.
var words = func() map[string]string {
	words := map[string]string{}
	for _, word := range append(Versions(),
		MethodInitialize, MethodDiscover, MethodToolsList, MethodToolsCall, MethodPromptsGet, MethodResourcesRead,
		MethodCancelled, MethodProgress, MethodListen, MethodLog, MethodToolsChanged) {
		words[word] = word
	}
	return words
}()
