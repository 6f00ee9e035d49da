package contract

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// HTTP reads an HTTP answer with a status of 400 or more. Any other status is a bad response.
func (r *Reader) HTTP(status int, header http.Header, body []byte) Reading {
	refused := recourse.FromStatus("", status).Effect == recourse.EffectNone
	if inner, ok := rpcError(body); ok && status < http.StatusInternalServerError {
		refused = refused || refusedCode(inner)
	}
	return r.applyTrust(r.noteCut(splitViolations(r.http(status, header, body))), refused)
}

func (r *Reader) http(status int, header http.Header, body []byte) Reading {
	sign := "HTTP status " + strconv.Itoa(status)
	response := http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
	said := recourse.FromHTTP(r.Provider, &response)
	if said == nil {
		return r.plain(recourse.BadResponse(r.Provider), sign)
	}
	if reading, ok := r.inContract(said, header, body); ok {
		return reading
	}
	reading := r.foreignHTTP(said, header, body, sign)
	if _, isRPC := rpcError(body); !isRPC {
		keepBeside(reading.Error(), json.NodeOf(body), header)
	}
	return reading
}

// maxBeside limits what is kept of a body beside its sentence, in bytes.
const maxBeside = 4 << 10

// keepBeside keeps in the details what a body in no form of a contract says beside its sentence and its code. What is too long for
// that is named there.
func keepBeside(e *recourse.Error, body *json.Node, header http.Header) {
	if e == nil || !body.IsObject() {
		return
	}
	isProblem := strings.HasPrefix(header.Get("Content-Type"), problemType)
	room, omitted := maxBeside, []string(nil)
	for _, m := range wild.Beside(body, e.Message) {
		plain := json.NodeOf(m.Value).Plain()
		isKind := isProblem && (m.Name == "type" || m.Name == "title") // which the status tells
		switch size := len(m.Name) + len(m.Value); {
		case isKind, plain == e.Upstream.Code, plain == strconv.Itoa(e.Upstream.Status):
		case size > room:
			omitted = append(omitted, clean.Cut(m.Name, clean.MaxCode))
		default:
			room -= size
			keepDetail(e, m.Name, m.Value)
		}
	}
	if len(omitted) > 0 {
		list := strings.Join(omitted[:min(len(omitted), 10)], ", ")
		keepDetail(e, "omitted", json.AppendQuote(nil, "too long: "+list))
	}
}

// foreignHTTP reads an HTTP answer in no form of a contract; said is what any answer with its status and header says.
func (r *Reader) foreignHTTP(said *recourse.Error, header http.Header, body []byte, sign string) Reading {
	status := said.Upstream.Status
	if object := json.NodeOf(body); object.IsObject() && object.Member("jsonrpc") == nil {
		body = r.spelled(object, longWait).Raw
	}
	if e, sign, ok := wild.DetectHTTP(status, body); ok {
		return r.plain(withHTTP(e, said), sign)
	}
	if e, sign, ok := r.inBody(said, body); ok {
		if _, isRPC := rpcError(body); !isRPC {
			return r.plain(e, sign)
		}
	}
	if media, _, _ := mime.ParseMediaType(header.Get("Content-Type")); !strings.HasSuffix(media, "json") {
		said.Message = cmp.Or(wild.SentenceOf(string(body)), said.Message)
		return r.plain(said, sign)
	}
	if inner, ok := rpcError(body); ok {
		return r.rpcInHTTP(inner, said, sign)
	}
	if message := wild.AddObject(said, json.NodeOf(body)); message != "" {
		said.Message = message
	}
	return r.plain(said, sign)
}

// inContract reads an HTTP answer in the form of a contract; said is what any answer with its status and header says.
func (r *Reader) inContract(said *recourse.Error, header http.Header, body []byte) (Reading, bool) {
	status := said.Upstream.Status
	if reading, ok := r.inBodyForm(said, header, body); ok {
		return reading, true
	}
	for _, c := range []*Contract{r.Upstream, r.Own} {
		if e := c.upstreamError(r.Provider, status, header, body); e != nil {
			return Reading{Failure: e, Contract: c, Sign: "HTTP answer in the form that " + c.Name + " describes"}, true
		}
	}
	for _, c := range r.Contracts {
		if reading, ok := r.httpForm(c, status, header, body); ok {
			return reading, true
		}
	}
	return r.inSentence(said, body)
}

func (r *Reader) httpForm(c *Contract, status int, header http.Header, body []byte) (Reading, bool) {
	for _, en := range c.codes {
		// An answer without a body does not show its contract: the expected one is assumed, unless it is that of a service
		// behind the server.
		if en.http == nil || en.http.body == nil && (c != r.Contracts[0] || r.Upstream != nil) {
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
			reading.Original, reading.OriginalAt = body, SurfaceHTTP
			return reading, true
		}
	}
	return Reading{}, false
}

// says reports whether message is the fixed message of en, if it has one.
func (en *codeEntry) says(message string) bool {
	for _, t := range en.message {
		if !t.Constant() || t.Text() == message {
			return true
		}
	}
	return len(en.message) == 0
}

// rpcInHTTP reads a JSON-RPC error in an HTTP error. If it says less than the status, the status gives the
// kind.
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
	if reading.Contract != nil {
		reading.Original, reading.OriginalAt = stdjson.RawMessage(inner), SurfaceRPC
	}
	return reading
}

// vague reports whether the kind of a JSON-RPC error says less than the HTTP status around it.
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

// withHTTP adds the facts from the HTTP answer around e.
func withHTTP(e, answer *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		c.Upstream.Status = answer.Upstream.Status
		if c.Upstream.RequestID == "" {
			c.Upstream.RequestID = answer.Upstream.RequestID
		}
		c.RetryAfter = max(c.RetryAfter, answer.RetryAfter) // both are minimums
		if c.Effect == "" {
			c.Effect = answer.Effect
		}
		if len(c.MissingScopes) == 0 && c.Kind == answer.Kind {
			c.MissingScopes = answer.MissingScopes
		}
	}).CausedBy(answer.Cause())
}

// maxUpstreamBody limits how much of an answer FromHTTP reads, in bytes.
const maxUpstreamBody = 64 << 10

// FromHTTP turns the HTTP answer of a service that the server itself calls into an Error, as
// [recourse.FromHTTP] does; it returns nil for a status below 400. It also reads the body as the contract's
// `upstream` describes: a word that is one of the contract's codes, or is read as one, takes precedence over
// the status. The body is read up to 64 KiB; the caller closes it.
func (c *Contract) FromHTTP(provider string, resp *http.Response) *recourse.Error {
	if resp.StatusCode < http.StatusBadRequest || c.upstream == nil || resp.Body == nil {
		return recourse.FromHTTP(provider, resp)
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxUpstreamBody)) // if reading fails, the status still counts
	again := *resp
	again.Body = io.NopCloser(bytes.NewReader(body))
	e := recourse.FromHTTP(provider, &again)
	if object := json.NodeOf(body); object.IsObject() {
		c.readUpstream(e, object, true)
	}
	return e
}

// upstreamError reads the HTTP answer of a service whose errors have the form in c's `upstream`; nil if it does not. Members
// that the form does not know are kept in the details.
func (c *Contract) upstreamError(provider string, status int, header http.Header, body []byte) *recourse.Error {
	if c == nil || c.upstream == nil {
		return nil
	}
	object := json.NodeOf(body)
	for _, name := range wrappers {
		inner := object
		if name != "" {
			inner = json.NodeOf(withOthers(json.MembersOf(object.RawMember(name)), object, name))
		}
		if inner.IsObject() && slices.ContainsFunc(c.upstream.members, func(m shapeMember) bool {
			return (m.path == nil || m.path.Src != "message") && m.is(inner.RawMember(m.name)) // anybody has a message
		}) {
			e := recourse.FromHTTP(provider, &http.Response{
				StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(inner.Raw)),
			})
			c.readUpstream(e, inner, false)
			inOtherSentence(e, inner)
			return e
		}
	}
	return nil
}

// inOtherSentence takes the sentence of a body from another member than the usual one, where frameworks put it.
func inOtherSentence(e *recourse.Error, body *json.Node) {
	if body.Member("message") != nil {
		return
	}
	if sentence := wild.AddObject(new(recourse.Error), body); sentence != "" {
		e.Message = sentence
		maps.DeleteFunc(e.Details, func(_ string, value stdjson.RawMessage) bool { return json.Plain(json.Value(value)) == sentence })
	}
}

// readUpstream adds the body's facts to e, which was made from the status; drops says that those without a place are not kept.
func (c *Contract) readUpstream(e *recourse.Error, object *json.Node, drops bool) {
	said := *e
	if c.upstream.places("upstream.code") { // then it is stored nowhere else
		e.Upstream.Code = ""
	}
	d := newDraft()
	d.e, d.drops = e, drops
	c.upstream.read(object, d.base(), d)
	e.Message = clean.Message(e.Message)
	e.RetryAfter = max(e.RetryAfter, said.RetryAfter) // both are minimums
	if len(e.Upstream.Code) > clean.MaxCode {
		e.Upstream.Code = ""
	}
	if en, ok := c.byCode[e.Upstream.Code]; ok {
		e.Kind = en.kind
		language.Store(en.set, d.base())
		if e.Kind != said.Kind && e.Message == said.Message {
			e.Message = "" // it came from the status
		}
	}
	if retryable, ok := d.said[e]; ok {
		language.SayRetryable(e, retryable)
	}
}
