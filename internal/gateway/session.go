package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// bodyTimeout bounds how long a client may take to send its message.
const bodyTimeout = 60 * time.Second

// admit decides whether the request comes to a server at all: its path, its Host
// and Origin, its method, and what the contract asks for. It reports false when it has answered.
func (x *exchange) admit() bool {
	x.hurry(x.start.Add(bodyTimeout))
	if !x.enter() {
		x.refuse(http.StatusNotFound, recourse.New(recourse.KindInvalidRequest, "").
			WithMessage("There is no MCP server at this path."))
		return false
	}
	if !x.table.hosts[hostName(x.r.Host)] && !x.table.hosts[strings.ToLower(x.r.Host)] {
		x.refuse(http.StatusForbidden, recourse.New(recourse.KindRefusedOrigin, "").
			WithMessage("The gateway does not answer under this Host; "+
				"the configuration's `hosts` and `public_url` name those that it does."))
		return false
	}
	if !x.admitOrigin() {
		return false
	}
	switch x.r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return x.admitCaller()
	default:
		x.w.Header()["Allow"] = allowed
		x.refuse(http.StatusMethodNotAllowed, recourse.New(recourse.KindInvalidRequest, "").
			WithMessage("An MCP endpoint takes POST, GET and DELETE."))
		return false
	}
}

var allowed = []string{"GET, POST, DELETE"}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// admitOrigin refuses pages of other origins than those that are configured, and
// answers the questions that browsers ask before they call (Fetch standard, CORS).
func (x *exchange) admitOrigin() bool {
	origin := x.r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	if !x.table.origins[strings.ToLower(origin)] && !sameHost(origin, x.r.Host) {
		x.refuse(http.StatusForbidden, recourse.New(recourse.KindRefusedOrigin, "").
			WithMessage("Pages of this origin may not call the gateway; the configuration's `origins` names those that may."))
		return false
	}
	h := x.w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, X-Request-Id, Retry-After, WWW-Authenticate, X-RateLimit-Remaining")
	if x.r.Method != http.MethodOptions || x.r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if headers := x.r.Header.Get("Access-Control-Request-Headers"); headers != "" {
		h.Set("Access-Control-Allow-Headers", headers)
	}
	h.Set("Access-Control-Max-Age", "600")
	x.w.WriteHeader(http.StatusNoContent)
	return false
}

// sameHost reports whether an origin is that of the gateway itself, whose Host has
// been found to be one of its own.
func sameHost(origin, host string) bool {
	_, authority, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(authority, host)
}

// post takes a client's message.
func (x *exchange) post() {
	status, e := x.readMessage()
	if e != nil {
		x.refuse(status, e)
		return
	}
	if !x.findSession() {
		return
	}
	switch {
	case x.msg.Kind != wire.Request:
		x.deliver()
	case x.route() && x.validate():
		if len(x.s.Command) > 0 && x.isCall() && !x.s.observes() {
			x.body = x.msg.WithRequestID(x.requestID) // a program gets no headers
		}
		x.call()
	}
}

// readMessage reads and checks the body and the headers that belong to it. The
// status is that of a refusal.
func (x *exchange) readMessage() (status int, e *recourse.Error) {
	h := x.r.Header
	if !wire.IsMediaType(h.Get("Content-Type"), wire.TypeJSON) || h.Get("Content-Encoding") != "" {
		return http.StatusUnsupportedMediaType, recourse.New(recourse.KindInvalidRequest, "").
			WithMessage("The message has to be sent as Content-Type application/json, without Content-Encoding.")
	}
	if !wire.Accepts(h["Accept"], wire.TypeJSON) || !wire.Accepts(h["Accept"], wire.TypeEventStream) {
		return http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest, "").
			WithMessage("Accept has to name both application/json and text/event-stream.")
	}
	if status, e := x.readBody(int64(x.table.config.MaxRequest)); e != nil {
		return status, e
	}
	if err := wire.Parse(x.body, &x.msg); err != nil {
		x.msg.ID = nil // nothing in a message that is none is taken at its word
		return http.StatusBadRequest, fromWire(err)
	}
	era, err := wire.CheckHeaders(h, &x.msg)
	if err != nil {
		return http.StatusBadRequest, fromWire(err)
	}
	x.era = era
	return 0, nil
}

// readBody reads the body, but never more than limit bytes of it.
func (x *exchange) readBody(limit int64) (status int, e *recourse.Error) {
	if len(x.r.TransferEncoding) > 0 {
		// It may have had a Content-Length as well, which net/http does not tell: then the
		// connection has to end (RFC 9112, section 6.1).
		x.w.Header().Set("Connection", "close")
	}
	tooLarge := func() (int, *recourse.Error) {
		x.w.Header().Set("Connection", "close") // the rest of the body is not read
		x.msg.ID = x.firstID()
		return http.StatusRequestEntityTooLarge, recourse.TooLarge(limit)
	}
	if x.r.ContentLength > limit {
		if x.r.Header.Get("Expect") == "" { // else the body has not been sent yet
			x.hurry(time.Now().Add(firstTimeout))
			x.body, _ = appendAll(nil, io.LimitReader(x.r.Body, firstPart), firstPart) // what there is, is enough
		}
		return tooLarge()
	}
	if n := int(x.r.ContentLength); n > 0 && n <= 64<<10 {
		x.body = make([]byte, 0, n+1)
	}
	var err error
	x.body, err = appendAll(x.body, &bodyReader{x: x, from: x.r.Body}, limit)
	switch {
	case errors.Is(err, errBusy):
		x.w.Header().Set("Connection", "close") // the rest of the body is not read
		x.msg.ID = x.firstID()
		return x.busy()
	case errors.Is(err, errOverLimit):
		return tooLarge()
	case err != nil:
		x.w.Header().Set("Connection", "close") // the rest of the body is not read
		return http.StatusBadRequest, recourse.New(recourse.KindMalformed, "").
			WithMessage("The message did not arrive as a whole.").CausedBy(err)
	default:
		x.hurry(time.Time{})
		return 0, nil
	}
}

// hurry bounds the time in which a body has to be received. The bound stays when the
// body is not read: net/http still waits for what is left of it.
func (x *exchange) hurry(until time.Time) {
	if x.r.ContentLength != 0 {
		_ = http.NewResponseController(x.w).SetReadDeadline(until) // not every writer has one
	}
}

// Of a message that is too large, the first part is looked into, if it comes at once.
const (
	firstPart    = 1 << 10
	firstTimeout = 100 * time.Millisecond
)

// firstID returns the id of a request of which only the beginning was read, where
// it stands there, so that the client's program knows what was refused; the Go SDK
// ends its session over a 4xx without one.
func (x *exchange) firstID() wire.ID {
	x.scan.Reset()
	_, _ = x.scan.Write(x.body[:min(len(x.body), firstPart)]) // it is not the whole, and may be nothing
	id := x.scan.Signs().ID
	if len(id) == 0 || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id.Clone()
}

var errOverLimit = errors.New("more than the limit")

// appendAll appends everything that r holds to dst, up to limit bytes.
func appendAll(dst []byte, r io.Reader, limit int64) ([]byte, error) {
	const chunk = 4 << 10
	for {
		if cap(dst)-len(dst) == 0 {
			dst = slices.Grow(dst, chunk)
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)) > limit:
			return dst, errOverLimit
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}

// fromWire turns a refusal of package wire into a record.
func fromWire(err error) *recourse.Error {
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return recourse.Internal().CausedBy(err)
	}
	kind := map[int]recourse.Kind{
		wire.CodeParseError:         recourse.KindMalformed,
		wire.CodeInvalidRequest:     recourse.KindInvalidRequest,
		wire.CodeMethodNotFound:     recourse.KindUnknownMethod,
		wire.CodeInvalidParams:      recourse.KindMissingParam,
		wire.CodeHeaderMismatch:     recourse.KindHeaderMismatch,
		wire.CodeUnsupportedVersion: recourse.KindUnsupportedVersion,
	}[refusal.Code]
	e := recourse.New(kind, sentence(refusal.Message))
	if kind == recourse.KindMissingParam {
		e = e.WithViolations(recourse.Violation{
			Pointer: refusal.Pointer, Param: refusal.Pointer, Rule: "required", Message: refusal.Message,
		})
	}
	return e
}

// sentence makes a sentence of a clause.
func sentence(clause string) string {
	if clause == "" {
		return clause
	}
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}

// findSession looks up the session that an legacy message names. It reports false
// when it has answered.
func (x *exchange) findSession() bool {
	id := x.r.Header.Get(wire.HeaderSession)
	if x.era != wire.Legacy || id == "" || x.msg.Method == wire.MethodInitialize {
		return true
	}
	if x.session = x.s.sessions.find(id, x.credentials()); x.session == nil {
		x.refuse(http.StatusNotFound, recourse.New(recourse.KindUnknownSession, ""))
		return false
	}
	return true
}

// listen opens the stream of an legacy session on which the server speaks of its
// own accord, or resumes one (Last-Event-ID).
func (x *exchange) listen() {
	x.era = wire.Legacy
	if status, e := x.readBody(int64(x.table.config.MaxRequest)); e != nil { // there should be none
		x.refuse(status, e)
		return
	}
	switch {
	case !wire.Accepts(x.r.Header["Accept"], wire.TypeEventStream):
		x.refuse(http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest, "").
			WithMessage("Accept has to name text/event-stream."))
	case x.findSession():
		x.stream()
	}
}

// endSession ends an legacy session, here and at the server.
func (x *exchange) endSession() {
	x.era = wire.Legacy
	if status, e := x.readBody(int64(x.table.config.MaxRequest)); e != nil { // there should be none
		x.refuse(status, e)
		return
	}
	if !x.findSession() {
		return
	}
	x.forwardDelete()
}

// withProtocolData adds to the data of a JSON-RPC error what the protocol wants there,
// beside the record (MCP 2026-07-28, "Errors").
func (x *exchange) withProtocolData(answer contract.Answer, e *recourse.Error) contract.Answer {
	if e.Kind != recourse.KindUnsupportedVersion || answer.Surface != contract.SurfaceRPC || len(answer.Data) < len("{}") {
		return answer
	}
	var versions []string // as the server has said
	_ = json.Unmarshal(json.Value(e.Details["supported"]), &versions)
	versions = slices.DeleteFunc(versions, func(v string) bool { return len(v) != len(wire.Version20260728) })
	if len(versions) == 0 {
		versions = wire.Versions()
	}
	supported, err := json.Marshal(versions)
	if err != nil {
		return answer
	}
	requested := json.AppendQuote(nil, clip(x.r.Header.Get(wire.HeaderVersion)))
	answer.Data = append(fmt.Appendf(nil, `{"supported":%s,"requested":%s,`, supported, requested), answer.Data[1:]...)
	return answer
}

func clip(s string) string {
	const most = 64
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
