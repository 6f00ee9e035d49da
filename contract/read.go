package contract

import (
	"bytes"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// Reader reads the failures that servers send, in whatever form they come.
type Reader struct {
	// Contracts are the forms that are known, the likeliest first.
	Contracts []*Contract
	// Weak is the contract whose weak signs count: members and texts that say
	// "failed" inside an answer that otherwise says that it succeeded. nil: none do,
	// since a tool may rightly answer {"success":false}.
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
	e, _ := r.Failure.(*recourse.Error) //nolint:errorlint // a sealed interface
	return e
}

// maxMessage bounds a message that is taken from a server's text, in characters.
const maxMessage = 8 << 10

// Result reads the member "result" of an answer; ok is false when it is no
// failure.
func (r *Reader) Result(result json.Value) (Reading, bool) {
	var head struct {
		Content    []json.Value          `json:"content"`
		Structured json.Value            `json:"structuredContent"`
		IsError    bool                  `json:"isError"`
		Error      json.Value            `json:"error"`
		Meta       map[string]json.Value `json:"_meta"`
	}
	if json.UnmarshalLenient(result, &head) != nil {
		head.Content = nil // members of another type say nothing; the others are still there
	}
	if e, ok := readRecord(head.Meta[recourse.MetaKey]); ok && (head.IsError || isErrorObject(head.Error)) {
		return r.record(e), true
	}
	text := firstText(head.Content)
	object := json.Value(strings.TrimSpace(text))
	sure := head.IsError || isErrorObject(head.Error)
	kind := kindOf(head.Structured) + kindOf(object)
	switch {
	case strings.Contains(kind, needsInputKind):
		if n, ok := readNeedsInput(object, head.Structured); ok {
			return Reading{Failure: n, Sign: "kind " + needsInputKind}, true
		}
	case strings.Contains(kind, toolErrorKind):
		sure = true
	}
	if sure {
		return r.failed(text, object, head.Structured, head.Error), true
	}
	if r.Weak == nil {
		return Reading{}, false
	}
	for _, raw := range []json.Value{object, head.Structured} {
		if reading, ok := r.object(r.Weak, raw); ok {
			reading.Sign = "weak sign: " + reading.Sign
			return reading, true
		}
	}
	if reading, ok := r.text(r.Weak, text); ok {
		reading.Sign = "weak sign: " + reading.Sign
		return reading, true
	}
	return Reading{}, false
}

// failed reads an answer that is a failure by a sure sign.
func (r *Reader) failed(text string, objects ...json.Value) Reading {
	for _, raw := range objects {
		if e, ok := readRecord(raw); ok {
			return r.record(e)
		}
	}
	for _, c := range r.Contracts {
		for _, raw := range objects {
			if reading, ok := r.object(c, raw); ok {
				return reading
			}
		}
		if reading, ok := r.text(c, text); ok {
			return reading
		}
	}
	if e, sign, ok := detect(text); ok {
		return r.plain(e, sign)
	}
	for _, raw := range objects {
		if e, ok := readForeign(raw); ok {
			return r.plain(e, "error object")
		}
	}
	return r.plain(recourse.New(recourse.KindUnknown, cut(text)), "isError")
}

// object reads a JSON object in the shape of c.
func (r *Reader) object(c *Contract, raw json.Value) (Reading, bool) {
	if len(raw) == 0 || raw[0] != '{' || c.shape == nil {
		return Reading{}, false
	}
	return r.form(c, "JSON in the form of "+c.Name, func(e *recourse.Error, said func(*recourse.Error, bool)) bool {
		return c.readObject(raw, e, said)
	})
}

// text reads a text in the syntax of c.
func (r *Reader) text(c *Contract, text string) (Reading, bool) {
	if text == "" {
		return Reading{}, false
	}
	return r.form(c, "text in the form of "+c.Name, func(e *recourse.Error, said func(*recourse.Error, bool)) bool {
		return c.layout.text.read(c, text, e, said)
	})
}

// form reads by read, and completes the record by what the code says.
func (r *Reader) form(c *Contract, sign string, read func(*recourse.Error, func(*recourse.Error, bool)) bool) (Reading, bool) {
	e := new(recourse.Error)
	said := map[*recourse.Error]bool{}
	if !read(e, func(e *recourse.Error, retryable bool) { said[e] = retryable }) {
		return Reading{}, false
	}
	if e.Contract == c.Name { // the record itself stood there
		return r.record(e), true
	}
	c.complete(e, said)
	if e.Origin == "" {
		e.Origin = recourse.OriginServer
	}
	return Reading{Failure: e, Contract: c, Sign: sign + ", code " + e.Code}, true
}

// complete gives a record that was read by c what its code stands for.
func (c *Contract) complete(e *recourse.Error, said map[*recourse.Error]bool) {
	e.Contract = c.Name
	e.Kind = recourse.KindUnknown
	if en, ok := c.byCode[e.Code]; ok {
		e.Kind, e.Code = en.kind, en.code
		base := reflect.ValueOf(e).Elem()
		for _, k := range en.set {
			k.path.set(base, k.value)
		}
		c.unform(e, en)
	}
	if retryable, ok := said[e]; ok && retryable != (e.Kind.Retry() == recourse.RetrySameCall) {
		e.Retry = recourse.RetryNever
		if retryable {
			e.Retry = recourse.RetrySameCall
		}
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			c.complete(item.Error, said)
		}
	}
}

// unform takes away from the message what the code's own form put around it.
func (c *Contract) unform(e *recourse.Error, en *entry) {
	for _, t := range en.message {
		message := ""
		if t.match(e.Message, func(p *path, text string) {
			if p.src == "message" {
				message = text
				return
			}
			p.setText(reflect.ValueOf(e).Elem(), text)
		}) {
			e.Message = message
			return
		}
	}
}

// RPC reads the member "error" of an answer.
func (r *Reader) RPC(raw json.Value) Reading {
	var head struct {
		Code    json.Value `json:"code"`
		Message string     `json:"message"`
		Data    json.Value `json:"data"`
	}
	if json.UnmarshalLenient(raw, &head) != nil {
		return r.plain(recourse.BadResponse(r.Provider), "JSON-RPC error without code and message")
	}
	if e, ok := readRecord(head.Data); ok {
		return r.record(e)
	}
	for _, c := range r.Contracts {
		if reading, ok := r.rpcForm(c, string(head.Code), head.Message, head.Data); ok {
			return reading
		}
		if reading, ok := r.object(c, head.Data); ok {
			return reading
		}
		if reading, ok := r.text(c, head.Message); ok {
			return reading
		}
	}
	return r.plain(fromRPC(string(head.Code), head.Message, head.Data), "JSON-RPC error "+string(head.Code))
}

func (r *Reader) rpcForm(c *Contract, code, message string, data json.Value) (Reading, bool) {
	for _, en := range c.codes {
		if en.rpc == nil || string(appendInt(en.rpc.code)) != code {
			continue
		}
		reading, ok := r.form(c, "JSON-RPC error in the form of "+c.Name, func(e *recourse.Error, _ func(*recourse.Error, bool)) bool {
			if en.rpc.data != nil && !en.rpc.data.read(c, data, e) {
				return false
			}
			e.Code = en.code
			base := reflect.ValueOf(e).Elem()
			return en.rpc.message.match(message, func(p *path, text string) { p.setText(base, text) })
		})
		if ok {
			return reading, true
		}
	}
	return Reading{}, false
}

// HTTP reads an HTTP answer with a status of 400 or more.
func (r *Reader) HTTP(status int, header http.Header, body []byte) Reading {
	for _, c := range r.Contracts {
		for _, en := range c.codes {
			if en.http == nil {
				continue
			}
			reading, ok := r.form(c, "HTTP answer in the form of "+c.Name, func(e *recourse.Error, _ func(*recourse.Error, bool)) bool {
				if !en.http.read(c, status, header, body, e) {
					return false
				}
				e.Code, e.Upstream.Status = en.code, status
				return true
			})
			if ok {
				return reading
			}
		}
	}
	response := http.Response{StatusCode: status, Header: header, Body: readCloser(body)}
	plain := recourse.FromHTTP(r.Provider, &response)
	if inner, ok := r.httpRPC(header, body); ok {
		reading := r.RPC(inner)
		if e := reading.Error(); e != nil && !r.vague(e) {
			reading.Failure = withHTTP(e, plain)
			return reading
		}
	}
	if e, sign, ok := detectHTTP(status, body); ok {
		return r.plain(withHTTP(e, plain), sign)
	}
	return r.plain(plain, "HTTP status "+string(appendInt(status)))
}

// vague reports whether a JSON-RPC error inside an HTTP error says less than the
// status.
func (r *Reader) vague(e *recourse.Error) bool {
	return e.Kind == recourse.KindInternal || e.Kind == recourse.KindUnknown
}

func (r *Reader) httpRPC(header http.Header, body []byte) (json.Value, bool) {
	if media, _, _ := mime.ParseMediaType(header.Get("Content-Type")); media != "application/json" {
		return nil, false
	}
	var message struct {
		Version string     `json:"jsonrpc"`
		Error   json.Value `json:"error"`
	}
	err := json.UnmarshalLenient(body, &message)
	return message.Error, err == nil && message.Version != "" && len(message.Error) > 0 && message.Error[0] == '{'
}

// withHTTP adds to e what the HTTP answer around it says.
func withHTTP(e, answer *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		c.Upstream.Status = answer.Upstream.Status
		if c.Upstream.RequestID == "" {
			c.Upstream.RequestID = answer.Upstream.RequestID
		}
		if c.After == 0 {
			c.After = answer.After
		}
		if c.Effect == "" {
			c.Effect = answer.Effect
		}
	}).CausedBy(answer.Cause())
}

// record takes a record that a server sent. What a server says of origin and
// effect is not believed, unless it is trusted.
func (r *Reader) record(e *recourse.Error) Reading {
	if !r.Trusted {
		e = e.With(func(c *recourse.Error) {
			c.Effect = ""
			if c.Origin != recourse.OriginProvider && c.Origin != recourse.OriginCaller {
				c.Origin = recourse.OriginServer
			}
		})
	}
	reading := Reading{Failure: e, Sign: "record"}
	for _, c := range r.Contracts {
		if c.Name == e.Contract {
			reading.Contract = c
		}
	}
	return reading
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

func firstText(content []json.Value) string {
	for _, block := range content {
		if text, ok := textBlock(block); ok {
			return text
		}
	}
	return ""
}

// isErrorObject reports whether raw is an object with a code and a message.
func isErrorObject(raw json.Value) bool {
	var o struct {
		Code    json.Value `json:"code"`
		Message json.Value `json:"message"`
	}
	return len(raw) > 0 && raw[0] == '{' && json.UnmarshalLenient(raw, &o) == nil && o.Code != nil && o.Message != nil
}

// The kinds by which an object says that it is a failure or a question.
const (
	toolErrorKind  = "toolError:v1"
	needsInputKind = "needsInput:v1"
)

func kindOf(raw json.Value) string {
	if !bytes.Contains(raw, []byte(":v1")) {
		return ""
	}
	var o struct {
		Kind string `json:"kind"`
	}
	if len(raw) == 0 || raw[0] != '{' || json.UnmarshalLenient(raw, &o) != nil {
		return ""
	}
	return o.Kind
}

func readNeedsInput(objects ...json.Value) (*recourse.NeedsInput, bool) {
	for _, raw := range objects {
		var o struct {
			Kind       string `json:"kind"`
			Message    string `json:"message"`
			NeedsInput struct {
				Fields      []string            `json:"fields"`
				Reason      string              `json:"reason"`
				Suggestions map[string][]string `json:"suggestions"`
			} `json:"needsInput"`
			Options []recourse.Option `json:"options"`
		}
		if len(raw) == 0 || raw[0] != '{' || json.UnmarshalLenient(raw, &o) != nil || o.Kind != needsInputKind {
			continue
		}
		return &recourse.NeedsInput{
			Message: o.Message, Reason: o.NeedsInput.Reason, Fields: o.NeedsInput.Fields,
			Suggestions: o.NeedsInput.Suggestions, Options: o.Options,
		}, true
	}
	return nil, false
}

// cut bounds a message.
func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + " …"
}
