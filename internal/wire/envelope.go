package wire

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/recoursehq/recourse/internal/lexer"
)

// Kind says what a message is.
type Kind uint8

// The kinds of messages.
const (
	Invalid      Kind = iota // none of the others
	Request                  // has a method and an id
	Notification             // has a method and no id
	Response                 // has an id and a result or an error
)

// String returns the JSON-RPC name of the kind.
func (k Kind) String() string {
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
// strings are copies. A Message can be reused for one [Parse] after another, which saves allocations,
// but not for two at once.
type Message struct {
	Raw    []byte // the whole text
	Kind   Kind
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

	reader reader
}

// reader is what Parse needs besides the message, reused from text to text.
type reader struct {
	lex       lexer.Lexer
	at        tracker
	names     nameSet
	objects   [lexer.MaxDepth + 1]int // by depth: the offset where the open object begins
	spans     [memberResultMetaRecord + 1]Span
	scratch   []byte
	duplicate Span // the first name that is repeated in its object
}

// Parse reads the client's message body into m. The caller has limited the length of body, and must not
// change it while m is in use.
//
// A text that is not one JSON text in UTF-8 is refused with [CodeParseError]. JSON that is not a
// message is refused with [CodeInvalidRequest]: a repeated name in any object, more than [lexer.MaxDepth]
// levels, a batch, an id that is neither a string nor an integer, a jsonrpc member other than "2.0", a
// method that is not a string, params that are neither an object nor an array, both or none of method,
// result and error.
//
// The error is always an [*Error]. m.ID is then the id to answer with: it is set only if the id can be
// read and neither it nor any name is invalid.
func Parse(body []byte, m *Message) error {
	m.reset(body)
	if len(body) > maxText {
		return &Error{Code: CodeInvalidRequest, Message: "the message is longer than 2 GiB"}
	}
	if err := m.reader.read(body); err != nil {
		return refuse(body, err)
	}
	if dup := m.reader.duplicate; !dup.IsZero() {
		pointer := pointerAt(body, dup.Start)
		return &Error{
			Code:    CodeInvalidRequest,
			Message: fmt.Sprintf("the member %s stands twice in its object, the second time at byte %d", pointer, dup.Start),
			Pointer: pointer,
			Offset:  dup.Start,
		}
	}
	return m.fill()
}

// Reset empties m completely, but keeps memory that holds nothing of the last message.
func (m *Message) Reset() { m.reset(nil) }

func (m *Message) reset(body []byte) {
	names, scratch := m.reader.names, m.reader.scratch[:0]
	*m = Message{} // in place: a literal would be copied
	m.Raw, m.reader.names, m.reader.scratch = body, names, scratch
	m.reader.lex.Strict = true
	m.reader.at.reset()
	m.reader.names.reset(body)
}

// read checks the whole text and records the positions of the known members. It continues after a
// repeated name, so that a text that is not JSON is reported as such.
func (r *reader) read(body []byte) error {
	for r.lex.Pos < len(body) {
		tok, _ := r.lex.Next(body[r.lex.Pos:])
		switch tok {
		case lexer.Failed:
			return r.lex.Err
		case lexer.More:
		case lexer.Name:
			r.name(body)
		case lexer.Object:
			r.objects[r.lex.Depth] = r.lex.Start
			r.value(tok)
		default:
			r.value(tok)
		}
	}
	return r.lex.End()
}

func (r *reader) name(body []byte) {
	start, end := r.lex.Start, r.lex.Pos
	if r.duplicate.IsZero() && !r.names.add(r.objects[r.lex.Depth], start, end, r.lex.Escaped) {
		r.duplicate = Span{Start: start, End: end}
	}
	in := r.at.container(&r.lex)
	if in == memberOther {
		return
	}
	name := body[start+1 : end-1]
	if r.lex.Escaped {
		r.scratch = append(r.scratch[:0], unquote(body[start:end])...)
		name = r.scratch
	}
	r.at.next = in.child(name)
}

func (r *reader) value(tok lexer.Token) {
	if m, at := r.at.value(&r.lex, tok); m != memberOther {
		r.spans[m] = at
	}
}

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
func (m *Message) fill() error {
	at := &m.reader.spans
	if root := at[memberRoot].Of(m.Raw); len(root) == 0 || root[0] != '{' { // a number has no delimiter of its own
		return notObject(root)
	}
	if id := ID(at[memberID].Of(m.Raw)); !id.IsZero() {
		if len(id) > MaxID+len(`""`) { // no answer could be matched to it
			return m.invalid(memberID, "/id", fmt.Sprintf("the id is longer than %d bytes", MaxID))
		}
		if what := id.problem(); what != "" {
			return m.invalid(memberID, "/id", "the id is "+what+"; it must be a string or an integer")
		}
		m.ID, m.IDAt = id, at[memberID]
	}
	if string(at[memberJSONRPC].Of(m.Raw)) != `"2.0"` {
		return m.invalid(memberJSONRPC, "/jsonrpc", `the member jsonrpc must be "2.0"`)
	}
	method, params := at[memberMethod].Of(m.Raw), at[memberParams].Of(m.Raw)
	if len(method) > 0 && method[0] != '"' {
		return m.invalid(memberMethod, "/method", "the method must be a string")
	}
	if len(params) > 0 && params[0] != '{' && params[0] != '[' {
		return m.invalid(memberParams, "/params", "params must be an object or an array")
	}
	m.Params, m.ParamsAt = params, at[memberParams]
	m.Result, m.Error = at[memberResult].Of(m.Raw), at[memberError].Of(m.Raw)
	if err := m.classify(method != nil); err != nil {
		return err
	}
	m.Method = m.text(memberMethod)
	m.fillParams()
	return nil
}

func notObject(root []byte) error {
	if len(root) > 0 && root[0] == '[' {
		return &Error{Code: CodeInvalidRequest, Message: "the message is a batch; send each message on its own"}
	}
	return &Error{Code: CodeInvalidRequest, Message: "the message is not a JSON object"}
}

// classify sets m.Kind.
func (m *Message) classify(hasMethod bool) error {
	answers := 0
	if m.Result != nil {
		answers++
	}
	if m.Error != nil {
		answers++
	}
	switch {
	case hasMethod && answers > 0:
		return m.invalid(memberMethod, "", "a message has a method, or a result, or an error, but not two of them")
	case answers > 1:
		return m.invalid(memberError, "", "a response has a result or an error, but not both")
	case hasMethod && m.ID.IsZero():
		m.Kind = Notification
	case hasMethod:
		m.Kind = Request
	case answers == 0:
		return m.invalid(memberMethod, "/method", "the member method is missing")
	case m.ID.IsZero():
		return m.invalid(memberID, "/id", "a response needs the id of its request")
	default:
		m.Kind = Response
	}
	return nil
}

// invalid returns the error about a member of the envelope.
func (m *Message) invalid(of member, pointer, sentence string) error {
	at := m.reader.spans[of]
	if !at.IsZero() {
		sentence += ", at byte " + strconv.Itoa(at.Start)
	}
	return &Error{Code: CodeInvalidRequest, Message: sentence, Pointer: pointer, Offset: at.Start}
}

// fillParams sets the fields that come from params.
func (m *Message) fillParams() {
	at := &m.reader.spans
	name, progress := memberParamsName, memberMetaProgressToken
	switch m.Method {
	case MethodResourcesRead:
		name = memberParamsURI
	case MethodProgress:
		progress = memberParamsProgressToken
	case MethodCancelled:
		m.RequestID, m.RequestIDAt = at[memberParamsRequestID].Of(m.Raw), at[memberParamsRequestID]
	}
	m.Name, m.NameAt = m.text(name), at[name]
	m.Arguments = at[memberParamsArguments].Of(m.Raw)
	m.Meta, m.MetaAt = at[memberParamsMeta].Of(m.Raw), at[memberParamsMeta]
	m.ProgressToken, m.ProgressTokenAt = at[progress].Of(m.Raw), at[progress]
	m.ProtocolVersion = m.text(memberMetaProtocolVersion)
	m.ClientInfo = at[memberMetaClientInfo].Of(m.Raw)
	m.ClientCapabilities = at[memberMetaClientCapabilities].Of(m.Raw)
	m.LogLevel = m.text(memberMetaLogLevel)
	m.SubscriptionAt = at[memberMetaSubscription]
	if m.Kind == Response {
		m.SubscriptionAt = at[memberResultMetaSubscription]
	}
	m.Subscription = m.SubscriptionAt.Of(m.Raw)
}

// text returns the string at the member, or "" if it is missing or not a string. Words of the protocol
// need no allocation.
func (m *Message) text(of member) string {
	raw := m.reader.spans[of].Of(m.Raw)
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
