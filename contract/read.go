package contract

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// Reader reads the failures that servers send, in whatever form they come.
type Reader struct {
	// Contracts are the forms that are known, the likeliest first.
	Contracts []*Contract
	// Weak is the contract that the server is known to keep. Its weak signs count:
	// members and texts that say "failed" inside an answer that otherwise says that
	// it succeeded, and forms that say little by themselves. nil: none do, since a
	// tool may rightly answer {"success":false}.
	Weak *Contract
	// Trusted says that a record is believed on its origin and its effect.
	Trusted bool
	// Provider is the display name of the server.
	Provider string
}

// Reading is a failure as it was read.
type Reading struct {
	// Failure is an *recourse.Error or a *recourse.NeedsInput.
	Failure recourse.Failure
	// Contract is the contract whose form it had, or nil.
	Contract *Contract
	// Sign says by what it was recognised, for a person.
	Sign string
}

// Error returns the record, or nil for a question.
func (r Reading) Error() *recourse.Error {
	e, _ := r.Failure.(*recourse.Error)
	return e
}

// maxMessage bounds a message that is taken from a server's text, in bytes.
const maxMessage = 8 << 10

// answer is a tool result as far as it can tell of a failure.
type answer struct {
	text    string       // of the first text block
	objects []json.Value // wherever an error object may stand
	sure    bool         // it says that it is a failure
}

// Result reads the member "result" of an answer; ok is false when it is no
// failure.
func (r *Reader) Result(result json.Value) (reading Reading, ok bool) {
	var head resultHead
	if json.UnmarshalLenient(result, &head) != nil {
		head = resultHead{}
		head.readEach(result)
	}
	a := answer{sure: head.IsError || isErrorObject(head.Error)}
	record, recorded := readRecord(head.Meta[recourse.MetaKey])
	if recorded && a.sure {
		return r.record(record), true
	}
	a.text, a.objects = textsOf(head.Content)
	a.objects = append(a.objects, head.Structured, head.Error)
	for _, raw := range a.objects {
		switch kindOf(raw) {
		case needsInputKind:
			return Reading{Failure: readNeedsInput(raw), Sign: "kind " + needsInputKind}, true
		case toolErrorKind:
			a.sure = true
		}
	}
	if a.sure {
		return r.failed(a), true
	}
	if r.Weak == nil {
		return Reading{}, false
	}
	if reading, ok = r.form(r.Weak, a, false); !ok {
		return reading, false
	}
	sign := reading.Sign
	if recorded { // which tells more of the failure that the form is a sign of
		reading = r.record(record)
	}
	reading.Sign = "weak sign: " + sign
	return reading, true
}

// resultHead are the members of a result that can tell of a failure.
type resultHead struct {
	Content    []json.Value          `json:"content"`
	Structured json.Value            `json:"structuredContent"`
	IsError    bool                  `json:"isError"`
	Error      json.Value            `json:"error"`
	Meta       map[string]json.Value `json:"_meta"`
}

// readEach reads each member alone: one of another type than the protocol's must
// not hide the others.
func (h *resultHead) readEach(result json.Value) {
	for _, m := range membersOf(result) {
		one := append(append(json.AppendQuote([]byte{'{'}, m.name), ':'), m.value...)
		if read := *h; json.UnmarshalLenient(append(one, '}'), &read) == nil {
			*h = read
		}
	}
}

// maxBlocks bounds how many text blocks are looked at.
const maxBlocks = 8

// textsOf returns the first text of content, and the texts that are JSON objects.
func textsOf(content []json.Value) (firstText string, objects []json.Value) {
	n := 0
	for _, block := range content {
		text, ok := textBlock(block)
		if !ok {
			continue
		}
		if n == 0 {
			firstText = text
		}
		if object := json.Value(strings.TrimSpace(text)); object.Kind() == '{' {
			objects = append(objects, object)
		}
		if n++; n == maxBlocks {
			break
		}
	}
	return firstText, objects
}

// failed reads an answer that is a failure by a sure sign.
func (r *Reader) failed(a answer) Reading {
	for _, raw := range a.objects {
		if e, ok := readRecord(raw); ok {
			return r.record(e)
		}
	}
	for _, c := range r.Contracts {
		if reading, ok := r.form(c, a, c == r.Weak); ok {
			return reading
		}
	}
	if e, sign, ok := detect(a.text); ok {
		return r.plain(e, sign)
	}
	for _, raw := range a.objects {
		if e, ok := readForeign(raw); ok {
			return r.plain(e, "error object")
		}
	}
	return r.plain(recourse.New(recourse.KindUnknown, cut(a.text)), "isError")
}

// form reads a in the form of c; open allows words that c does not list.
func (r *Reader) form(c *Contract, a answer, open bool) (Reading, bool) {
	if c.hasObject() {
		for _, raw := range a.objects {
			if reading, ok := r.draft(c, "JSON", open, func(d *draft) bool { return c.readObject(raw, d) }); ok {
				return reading, true
			}
		}
	}
	if a.text == "" {
		return Reading{}, false
	}
	return r.draft(c, "text", open, func(d *draft) bool { return c.readText(a.text, d) })
}

// draft reads by read, and completes the record by what its code stands for.
func (r *Reader) draft(c *Contract, what string, open bool, read func(*draft) bool) (Reading, bool) {
	d := newDraft()
	d.open = open
	if !read(d) {
		return Reading{}, false
	}
	if d.e.Contract == c.Name { // the record itself stood there
		return r.record(d.e), true
	}
	r.believe(d.e)
	c.complete(d, d.e)
	if d.e.Origin == "" || d.e.Origin == recourse.OriginGateway && !r.Trusted {
		d.e.Origin = recourse.OriginServer
	}
	return Reading{Failure: d.e, Contract: c, Sign: what + " in the form of " + c.Name + ", code " + cutTo(d.e.Code, maxCode)}, true
}

// RPC reads the member "error" of an answer.
func (r *Reader) RPC(raw json.Value) Reading {
	reading, _ := r.rpc(raw)
	return reading
}

// rpc reads a JSON-RPC error; plain says that only its code tells the kind.
func (r *Reader) rpc(raw json.Value) (reading Reading, plain bool) {
	var head struct {
		Code    json.Value `json:"code"`
		Message json.Value `json:"message"`
		Data    json.Value `json:"data"`
	}
	if err := json.UnmarshalLenient(raw, &head); err != nil || head.Code == nil && head.Message == nil {
		return r.plain(recourse.BadResponse(r.Provider), "JSON-RPC error without code and message"), true
	}
	if e, ok := readRecord(head.Data); ok {
		return r.record(e), false
	}
	code, message := cutTo(plainText(head.Code), maxCode), plainText(head.Message)
	for _, c := range r.Contracts {
		if reading, ok := r.rpcForm(c, code, message, head.Data); ok {
			return reading, false
		}
		if reading, ok := r.form(c, answer{text: message, objects: []json.Value{head.Data}}, c == r.Weak); ok {
			return reading, false
		}
	}
	e, plain := fromRPC(code, message, head.Data)
	return r.plain(e, "JSON-RPC error "+code), plain
}

func (r *Reader) rpcForm(c *Contract, code, message string, data json.Value) (Reading, bool) {
	for _, en := range c.codes {
		if en.rpc == nil || strconv.Itoa(en.rpc.code) != code {
			continue
		}
		reading, ok := r.draft(c, "JSON-RPC error", true, func(d *draft) bool {
			if en.rpc.data != nil && !en.rpc.data.read(c, data, d) {
				return false
			}
			if inner := c.byCode[d.e.Code]; inner != en {
				d.as = inner // the object inside says more than the JSON-RPC error
			}
			d.e.Code = en.code
			return en.rpc.message.match(message, func(p *path, text string) { p.setText(d.base(), text) })
		})
		if ok {
			return reading, true
		}
	}
	return Reading{}, false
}

// HTTP reads an HTTP answer with a status of 400 or more; one with another status
// is a bad response.
func (r *Reader) HTTP(status int, header http.Header, body []byte) Reading {
	for _, c := range r.Contracts {
		if reading, ok := r.httpForm(c, status, header, body); ok {
			return reading
		}
	}
	sign := "HTTP status " + strconv.Itoa(status)
	response := http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
	said := recourse.FromHTTP(r.Provider, &response)
	if said == nil {
		return r.plain(recourse.BadResponse(r.Provider), sign)
	}
	if e, sign, ok := detectHTTP(status, body); ok {
		return r.plain(withHTTP(e, said), sign)
	}
	if media, _, _ := mime.ParseMediaType(header.Get("Content-Type")); !strings.HasSuffix(media, "json") {
		return r.plain(said, sign)
	}
	if inner, ok := rpcError(body); ok {
		return r.rpcInHTTP(inner, said, sign)
	}
	if f, ok := parseForeign(body); ok {
		said = f.apply(said)
		if message := f.message(); message != "" {
			said.Message = message
		}
	}
	return r.plain(said, sign)
}

func (r *Reader) httpForm(c *Contract, status int, header http.Header, body []byte) (Reading, bool) {
	for _, en := range c.codes {
		// An answer without a body tells nothing of the contract that it is in.
		if en.http == nil || en.http.body == nil && c != r.Weak {
			continue
		}
		reading, ok := r.draft(c, "HTTP answer", true, func(d *draft) bool {
			if !en.http.read(c, status, header, body, d) || !en.says(d.e.Message) {
				return false
			}
			d.e.Code, d.e.Upstream.Status = en.code, status
			return true
		})
		if ok {
			return reading, true
		}
	}
	return Reading{}, false
}

// says reports whether message is what en says, where that is always the same.
func (en *entry) says(message string) bool {
	for _, t := range en.message {
		if !t.constant() || t.literal() == message {
			return true
		}
	}
	return len(en.message) == 0
}

// rpcInHTTP reads a JSON-RPC error inside an HTTP error. Where it says less than
// the status, the status gives the kind.
func (r *Reader) rpcInHTTP(inner json.Value, said *recourse.Error, sign string) Reading {
	reading, plain := r.rpc(inner)
	e := reading.Error()
	if e == nil {
		return reading
	}
	if plain && vague(e.Kind, said.Upstream.Status) {
		e = e.With(func(c *recourse.Error) {
			c.Kind, c.Effect, c.MissingScopes = said.Kind, said.Effect, said.MissingScopes
		})
		reading.Sign = sign + ", " + reading.Sign
	}
	reading.Failure = withHTTP(e, said)
	return reading
}

// vague reports whether the kind of a JSON-RPC error says less than the HTTP status
// around it.
func vague(kind recourse.Kind, status int) bool {
	switch kind {
	case recourse.KindInternal, recourse.KindUnknown:
		return true
	case recourse.KindInvalidRequest, recourse.KindInvalidValue:
		return status != http.StatusBadRequest
	default:
		return false
	}
}

// rpcError returns the member "error" of a JSON-RPC answer.
func rpcError(body []byte) (json.Value, bool) {
	var message struct {
		Version json.Value `json:"jsonrpc"`
		Error   json.Value `json:"error"`
	}
	err := json.UnmarshalLenient(body, &message)
	return message.Error, err == nil && message.Version != nil && message.Error.Kind() == '{'
}

// withHTTP adds to e what the HTTP answer around it says.
func withHTTP(e, answer *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		c.Upstream.Status = answer.Upstream.Status
		if c.Upstream.RequestID == "" {
			c.Upstream.RequestID = answer.Upstream.RequestID
		}
		c.After = max(c.After, answer.After) // each is a minimum
		if c.Effect == "" {
			c.Effect = answer.Effect
		}
	}).CausedBy(answer.Cause())
}

// record takes a record that a server sent. It is changed in place.
func (r *Reader) record(e *recourse.Error) Reading {
	r.believe(e)
	if e.Origin == "" && !r.Trusted {
		e.Origin = recourse.OriginServer
	}
	reading := Reading{Failure: e, Sign: "record"}
	for _, c := range r.Contracts {
		if c.Name == e.Contract {
			reading.Contract = c
		}
	}
	return reading
}

// believe leaves of a record, which it changes in place, what is believed: a wait
// up to a bound, words that are known, and origin and effect only of a server that
// is trusted. That it is the caller's fault, or the provider's, any server may say.
func (r *Reader) believe(e *recourse.Error) {
	e.After = min(max(e.After, 0), recourse.MaxWait)
	if !slices.Contains(retries, string(e.Retry)) {
		e.Retry = ""
	}
	if !r.Trusted || !slices.Contains(effects, string(e.Effect)) {
		e.Effect = ""
	}
	foreign := !r.Trusted && e.Origin == recourse.OriginGateway
	if foreign || !slices.Contains(origins, string(e.Origin)) {
		e.Origin = ""
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			r.believe(item.Error)
		}
	}
}

func (r *Reader) plain(e *recourse.Error, sign string) Reading {
	return Reading{Sign: sign, Failure: e.With(func(c *recourse.Error) {
		if c.Origin == "" || c.Origin == recourse.OriginProvider {
			c.Origin = recourse.OriginServer
		}
		if c.Provider == "" && c.Kind.Class() == recourse.ClassUpstream {
			c.Provider = r.Provider
		}
	})}
}

// isErrorObject reports whether raw is an object with a code and a message.
func isErrorObject(raw json.Value) bool {
	var o struct {
		Code    json.Value `json:"code"`
		Message json.Value `json:"message"`
	}
	return raw.Kind() == '{' && json.UnmarshalLenient(raw, &o) == nil && o.Code != nil && o.Message != nil
}

// The kinds by which an object says that it is a failure or a question.
const (
	toolErrorKind  = "toolError:v1"
	needsInputKind = "needsInput:v1"
)

func kindOf(raw json.Value) string {
	if raw.Kind() != '{' || !bytes.Contains(raw, []byte(":v1")) {
		return ""
	}
	var o struct {
		Kind json.Value `json:"kind"`
	}
	if json.UnmarshalLenient(raw, &o) != nil {
		return ""
	}
	return plainText(o.Kind)
}

// readNeedsInput reads an object of kind needsInput:v1. Members of another type
// than expected are passed over.
func readNeedsInput(raw json.Value) *recourse.NeedsInput {
	n := &recourse.NeedsInput{}
	for _, m := range membersOf(raw) {
		switch m.name {
		case memberMessage:
			n.Message = cut(plainText(m.value))
		case "options":
			if json.UnmarshalLenient(m.value, &n.Options) != nil {
				n.Options = nil
			}
		case "needsInput":
			var o struct {
				Fields      []string            `json:"fields"`
				Reason      string              `json:"reason"`
				Suggestions map[string][]string `json:"suggestions"`
			}
			if json.UnmarshalLenient(m.value, &o) == nil {
				n.Fields, n.Reason, n.Suggestions = o.Fields, o.Reason, o.Suggestions
			}
		}
	}
	return n
}

// maxCode bounds a server's own error code, in bytes.
const maxCode = 128

// cut bounds a message.
func cut(text string) string { return cutTo(text, maxMessage) }

func cutTo(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}
