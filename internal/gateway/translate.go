package gateway

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// Codes of JSON-RPC errors that are no failures but ask the client for something,
// and that its program has to see as they are.
const codeURLElicitation = "-32042"

// emptyResult says of a failure that it was a result, and no more.
var emptyResult = json.Value("{}")

// kindSigns are what a result holds that says by its kind that it is a failure.
var kindSigns = []byte(`toolError:v1`)

// translate finds out whether the answer that was scanned is a failure, and then
// writes it in the form of the contract. It reports false for a success, which is
// not looked into any further.
func (x *exchange) translate(text []byte) bool {
	reading, original, ok := x.reading(text)
	if !ok {
		return false
	}
	e := reading.Error()
	if e == nil { // a question: it is the server's own, and no failure
		return false
	}
	e = x.caused(e, text)
	own := reading.Contract == nil && x.forProgram(e) || !x.isCall()
	if original == nil && own && isRPCError(x.scan.Signs().Error.Of(text)) {
		x.passRPCError(cmp.Or(x.protocolStatus(e.Kind), http.StatusOK), text, e)
		return true
	}
	if original != nil && x.cut != "" { // beside what is told of it, half of something is no use
		original = emptyResult
	}
	x.reason = "the server answered: that is the caller's to judge"
	x.fail(e, original, reading.Contract)
	return true
}

// forProgram reports whether a JSON-RPC error is for the client's program rather
// than for its model: it is about the message itself, about another method than a
// call, or about the state with which a call goes on (MCP 2026-07-28, multi
// round-trip requests).
func (x *exchange) forProgram(e *recourse.Error) bool {
	return isProtocol(e) || !x.isCall() ||
		json.Lookup(x.msg.Params, "/requestState") != nil || json.Lookup(x.msg.Params, "/inputResponses") != nil
}

// isRPCError reports whether raw is a JSON-RPC error that clients can read.
func isRPCError(raw json.Value) bool {
	return json.Lookup(raw, "/code").Kind() == '0' && json.Lookup(raw, "/message").Kind() == '"'
}

// reading reads the failure in an answer. The original is its result, masked.
func (x *exchange) reading(text []byte) (reading contract.Reading, original json.Value, ok bool) {
	// The masker is made for the first failure: a success needs none.
	return x.read(text, x.scan.Signs(), func(raw []byte) []byte { return x.masker().JSON(raw) })
}

// read does so with what masks.
func (x *exchange) read(text []byte, signs *wire.Signs, mask func([]byte) []byte) (reading contract.Reading, original json.Value, ok bool) {
	reader := *x.s.reader()
	reader.Cut = x.cut
	if !signs.Error.IsZero() {
		raw := signs.Error.Of(text)
		if string(json.Lookup(raw, "/code")) == codeURLElicitation {
			return reading, nil, false
		}
		return reader.RPC(mask(raw)), nil, true
	}
	if !x.isCall() {
		return reading, nil, false
	}
	result := signs.Result.Of(text)
	if json.Value(result).Kind() != '{' { // no result of a tool
		return x.unreadable(), nil, true
	}
	if !x.suspicious(text, signs) {
		return reading, nil, false
	}
	original = mask(result)
	reading, ok = reader.Result(original)
	if !ok && (signs.IsError || signs.OddError) { // it says so twice, or in a word of its own
		original = append(bytes.TrimRight(original, " \t\r\n}"), `,"isError":true}`...)
		if reading, ok = reader.Result(original); !ok {
			return x.unreadable(), nil, true
		}
	}
	return reading, original, ok
}

// suspicious reports whether a result shows any sign of a failure.
func (x *exchange) suspicious(text []byte, signs *wire.Signs) bool {
	return signs.IsError || signs.OddError || signs.Record || !signs.ResultError.IsZero() ||
		x.s.weak != nil || bytes.Contains(text, kindSigns)
}

// late logs a failure that was found behind the window, when it could no longer be
// rewritten.
func (x *exchange) late() {
	signs := x.scan.Signs()
	if !signs.IsError && signs.Error.IsZero() && signs.ResultError.IsZero() {
		return
	}
	e := recourse.New(recourse.KindUnknown, "").WithOrigin(recourse.OriginServer)
	x.record(e.WithEffect(x.effect(e)), "failure behind the decision window, not rewritten")
}

// passRPCError sends the JSON-RPC error that was scanned on under the server's own
// code, which the client's program may know: masked, and with the record in its
// data unless it is about the message itself.
func (x *exchange) passRPCError(status int, text []byte, e *recourse.Error) {
	e = x.settle(e)
	signs := x.scan.Signs()
	raw := json.Value(x.masker().JSON(signs.Error.Of(text)))
	if x.cut != "" {
		x.passCutError(status, raw, e)
		return
	}
	own := withoutForgery(raw) // what a server that is trusted has said there is in e
	if record := x.s.contract.Write(e, x.contractCall(e, 0)).Record; !isProtocol(e) || x.s.Trusted && len(own) != len(raw) {
		own = withRecord(own, record)
	}
	raw = own
	message := wire.Splice(nil, text, wire.Edit{At: signs.IDAt, With: x.msg.ID}, wire.Edit{At: signs.Error, With: raw})
	x.reply(status, message)
	x.record(e, "")
}

// withRecord adds the record to the data of a JSON-RPC error: it is the data where
// there is none, and a member of it where that is an object.
func withRecord(raw json.Value, record *recourse.Error) json.Value {
	form, err := record.MarshalJSON()
	if err != nil {
		return raw
	}
	data := json.Lookup(raw, "/data")
	switch data.Kind() {
	case '{':
		var members map[string]json.Value
		if json.UnmarshalLenient(data, &members) != nil {
			return raw
		}
		members[recourse.MetaKey] = form
		if data, err = json.Marshal(members); err != nil {
			return raw
		}
		return withData(raw, data)
	case 0, 'n':
		return withData(raw, form)
	default:
		return raw
	}
}

// fail ends the call with e, in the form of the contract. original is the result
// that e was read from, in the form of the contract from; both may be nil.
func (x *exchange) fail(e *recourse.Error, original json.Value, from *contract.Contract) {
	if x.r.Context().Err() != nil { // nobody is there to be told
		x.record(recourse.Cancelled().WithOrigin(recourse.OriginCaller).WithEffect(x.effect(e)).CausedBy(e), "the client has gone")
		return
	}
	e = x.settle(e)
	status := 0
	if original == nil { // no status of the protocol's is about what a result says
		status = x.protocolStatus(e.Kind)
	}
	call := x.contractCall(e, status)
	call.Original, call.OriginalContract = stdjson.RawMessage(original), from
	call.Quotes = from != nil && from == x.s.weak && from == x.s.contract
	x.write(x.withProtocolData(x.masked(x.s.contract.Write(e, call)), e), e)
}

// protocolStatus returns the HTTP status that the era wants for a kind; 0 where it
// wants none.
func (x *exchange) protocolStatus(kind recourse.Kind) int {
	switch {
	case x.started:
		return 0
	case x.era != wire.Modern && kind == recourse.KindUnknownSession:
		return http.StatusNotFound
	case kind == recourse.KindUnsupportedVersion: // of neither era
		return http.StatusBadRequest
	case x.era != wire.Modern:
		return 0
	case x.msg.Method == wire.MethodDiscover && kind.Class() == recourse.ClassUpstream:
		// A JSON-RPC error in an answer with status 200 is how a server of the legacy era
		// says that it does not know the method.
		return http.StatusServiceUnavailable
	}
	switch kind {
	case recourse.KindUnknownMethod:
		return http.StatusNotFound
	case recourse.KindHeaderMismatch, recourse.KindMissingCapability:
		return http.StatusBadRequest
	default:
		return 0
	}
}

// contractCall describes the call that failed with e to the contract.
func (x *exchange) contractCall(e *recourse.Error, status int) *contract.Call {
	call := &contract.Call{
		Method: x.msg.Method, Tool: x.msg.Name, Arguments: stdjson.RawMessage(x.msg.Arguments),
		URL: x.url(), Status: status, HTTP: x.answersHTTP(), ResultType: x.era == wire.Modern, At: x.at(e), Shows: x.shows,
	}
	if x.listed != nil {
		call.OutputSchema = x.listed.outputSchema
		call.FormatArgument = x.listed.takes(x.s.contract.FormatArgument())
	}
	if list := x.list; list != nil {
		call.HasTool = func(name string) bool { return list.tools[name] != nil }
	}
	return call
}

// answersHTTP reports whether the failure can be a whole HTTP answer: over stdio there
// is none, and of one that has begun the status is sent.
func (x *exchange) answersHTTP() bool { return !x.started && !x.overStdio() }

// url returns the URL of the request as the client knows it.
func (x *exchange) url() string {
	if base := strings.TrimSuffix(x.table.config.PublicURL, "/"); base != "" {
		return base + x.r.URL.RequestURI()
	}
	scheme := "http"
	if x.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + x.r.Host + x.r.URL.RequestURI()
}

// refuse ends a request before it was taken up as a call, by an HTTP status.
func (x *exchange) refuse(status int, e *recourse.Error) { x.refuseAt(contract.AtSession, status, e) }

// refuseAt does so at one of the places before a call.
func (x *exchange) refuseAt(at contract.At, status int, e *recourse.Error) {
	c := x.s.contractOrDefault()
	if e.Origin == "" {
		e = e.WithOrigin(recourse.OriginCaller)
	}
	e = e.WithRequestID(x.requestID)
	if x.s != nil {
		e = x.masker().Error(e).CausedBy(e.Cause())
	}
	answer := c.Write(e.WithEffect(x.effect(e)), &contract.Call{
		At: at, Status: status, HTTP: x.answersHTTP(), Method: x.msg.Method, URL: x.url(),
	})
	x.write(x.withProtocolData(x.masked(answer), e), e)
}

// contractOrDefault returns the contract of s, which may be nil.
func (s *server) contractOrDefault() *contract.Contract {
	if s != nil {
		return s.contract
	}
	c := contract.Builtin().MustGet(contract.Default)
	return c
}

// write sends an answer of the contract's and records it.
func (x *exchange) write(answer contract.Answer, e *recourse.Error) {
	status := answer.Status
	switch answer.Surface {
	case contract.SurfaceHTTP:
		maps.Copy(x.w.Header(), answer.Header)
		x.send(status, answer.Body)
	case contract.SurfaceResult:
		x.reply(status, wire.AppendResult(nil, x.msg.ID, answer.Result))
	case contract.SurfaceRPC:
		x.reply(status, wire.AppendError(nil, x.msg.ID, answer.Code, answer.Message, answer.Data))
	}
	x.record(answer.Record.CausedBy(e.Cause()), "")
}

// reply sends a JSON-RPC message of the gateway's own, as the event that ends the
// stream where one has begun.
func (x *exchange) reply(status int, message []byte) {
	if x.eventStream {
		_, _ = x.w.Write(wire.AppendEvent(nil, "", "message", message)) // the client has gone
		_ = http.NewResponseController(x.w).Flush()
		return
	}
	x.sendMessage(status, message)
}

// sendMessage sends a whole JSON-RPC message.
func (x *exchange) sendMessage(status int, message []byte) {
	x.w.Header()["Content-Type"] = []string{wire.TypeJSON}
	x.send(status, message)
}
