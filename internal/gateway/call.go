package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// maxErrorBody bounds how much of an answer with a status of 400 or more is read.
const maxErrorBody = 64 << 10

// call sends the request, and sends it again where that is safe and of use. Only
// what happens to the transport is a reason: a failure that a tool has answered
// with is the caller's to judge.
func (x *exchange) call() {
	x.s.budget.Call()
	renewed := false
	for {
		generation, e := x.attempt()
		if e == nil {
			return
		}
		if !x.started && !x.s.observes() && x.lost {
			if e = x.regain(e, generation, renewed); e == nil {
				renewed = true
				x.attempts-- // the server has done nothing with it
				continue
			}
		}
		e = e.WithEffect(x.effect(e))
		decision := x.s.policy.Decide(e, x.nature, x.attempts, x.deadline.left())
		x.reason = decision.Reason
		switch {
		case !decision.Repeat:
		case x.started:
			x.reason = "a part of the answer has gone out"
		case x.s.observes():
			x.reason = "failures are only observed"
		case !x.mayRepeat():
			x.reason = "the server refused the call, and only its words say that the same call can succeed"
		case errors.Is(e.Cause(), upstream.ErrNotStarted):
			x.reason = "the program cannot be started"
		case !x.s.contract.Retryable(e.WithEffect(recourse.EffectNone), x.contractCall(e, 0)): // the effect has been decided on
			x.reason = "the contract says that the same call cannot succeed"
		case !x.s.budget.Take():
			x.reason = "the budget for repetitions is used up"
		case pause(x.ctx, decision.Wait):
			// A session that has gone with its program is none that was refused.
			renewed = renewed && (x.nature == retry.Writes || x.status != 0)
			continue
		default:
			x.reason = "the call ended before the wait did"
		}
		x.fail(e, nil, nil)
		return
	}
}

// regain makes the session anew that the server has lost. Its 404 is its word that
// it did nothing, so that the call can be sent again, writes included; but once.
func (x *exchange) regain(lost *recourse.Error, generation int, before bool) *recourse.Error {
	switch {
	case before && lost.Kind == recourse.KindUnknownSession:
		return recourse.Unavailable(x.s.Title).WithMessage("%s does not know the session that it has just opened.", x.s.Title).
			WithOrigin(recourse.OriginServer).WithUpstream(lost.Upstream).WithEffect(recourse.EffectNone).CausedBy(lost.Cause())
	case before:
		return lost
	}
	if err := x.session.renew(x.ctx, x, generation); err != nil {
		x.status = 0 // of the call there is no answer
		return recourse.From(err).WithEffect(recourse.EffectNone)
	}
	return nil
}

// attempt sends the request once and deals with the answer. It returns the failure
// of the transport, if there is one, and which session it was sent in.
func (x *exchange) attempt() (generation int, e *recourse.Error) {
	header := x.upstreamHeader()
	generation = x.addSession(header)
	x.attempts++
	x.answered, x.cut = false, ""
	x.status, x.lost, x.sentIn = 0, false, header.Get(wire.HeaderSession)
	resp, err := x.s.up.Send(x.ctx, http.MethodPost, header, x.body)
	if err != nil {
		return generation, recourse.From(err)
	}
	defer resp.Body.Close()
	x.answered, x.status = resp.StatusCode == http.StatusOK, resp.StatusCode
	switch {
	case resp.StatusCode == http.StatusOK && wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeEventStream):
		return generation, x.relay(resp)
	case resp.StatusCode == http.StatusOK:
		return generation, x.answer(resp)
	default:
		return generation, x.refusal(resp)
	}
}

// refusal deals with an answer whose HTTP status is not 200.
func (x *exchange) refusal(resp *http.Response) *recourse.Error {
	if x.passesAuth(resp.StatusCode) {
		x.passAuth(resp)
		return nil
	}
	within := x.table.config.DecideWithin
	body, _ := io.ReadAll(io.LimitReader(resp.Body, int64(within)+1)) // a broken body says no more than the status
	if err := x.ctx.Err(); err != nil {
		return x.s.up.Broken(x.ctx, err)
	}
	text := body
	if len(body) > int(within) && !x.s.observes() {
		x.cut = within.String()
		if text = wholeWords(body); json.Complete(text) != nil {
			text = json.Complete(text)
		}
	}
	reading := x.s.readHTTP(resp.StatusCode, resp.Header, text, x.cut)
	e := x.refusedFor(reading.Error(), text)
	if x.s.observes() {
		x.observe(e)
		x.begin(resp)
		x.pour(io.MultiReader(bytes.NewReader(body), resp.Body))
		return nil
	}
	if x.lost = x.lostSession(x.sentIn, resp.StatusCode, e); x.lost {
		return e.WithEffect(recourse.EffectNone)
	}
	if reading.Contract == nil && x.forProgram(e) && x.isRefusal(text) {
		x.passRPCError(resp.StatusCode, text, e)
		return nil
	}
	return e
}

// refusedFor returns e, or where it says no more than that the server did not take the
// message, what is wrong with that as far as the gateway knows what it has sent. It has
// seen to the form and the headers; so it is the method, or params that are missing.
func (x *exchange) refusedFor(e *recourse.Error, body []byte) *recourse.Error {
	status := e.Upstream.Status
	if e.Kind != recourse.KindClientError || isRPCError(json.Lookup(body, "/error")) {
		return e
	}
	why := recourse.New(recourse.KindInvalidRequest, e.Message)
	if fault := x.msg.Refused(); fault != nil {
		why = fromWire(fault)
	}
	switch {
	case status == http.StatusBadRequest && (!x.isCall() || why.Kind != recourse.KindInvalidRequest):
	case status == http.StatusNotFound && x.era == wire.Modern && why.Kind == recourse.KindUnknownMethod:
	default:
		return e
	}
	return why.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithUpstream(e.Upstream).CausedBy(e.Cause())
}

// passesAuth reports whether the answer is between the client and the server: the
// client's own credentials went on and were refused.
func (x *exchange) passesAuth(status int) bool {
	return (status == http.StatusUnauthorized || status == http.StatusForbidden) && x.s.forwards("Authorization")
}

// passAuth passes the refusal of the client's own credentials on as it is, challenge
// and all.
func (x *exchange) passAuth(resp *http.Response) {
	x.reason = "the client's own credentials were refused: that is between it and the server"
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a broken body says no more than the status
	e := x.s.reader().HTTP(resp.StatusCode, resp.Header, body).Error()
	if e == nil {
		e = recourse.FromStatus(x.s.Title, resp.StatusCode).WithOrigin(recourse.OriginServer)
	}
	x.passRefusal(resp, body)
	x.record(e.WithEffect(x.effect(e)), "passed on under its own status")
}

// isRefusal reports whether body is a JSON-RPC error that answers the request.
func (x *exchange) isRefusal(body []byte) bool {
	if len(x.msg.ID) == 0 {
		return false
	}
	x.scan.Reset()
	if _, err := x.scan.Write(body); err != nil || x.scan.Close() != nil {
		return false
	}
	signs := x.scan.Signs()
	return isWhole(signs) && signs.ID.Equal(x.msg.ID) && isRPCError(signs.Error.Of(body))
}

// passOn sends an answer to the client as it is.
func (x *exchange) passOn(resp *http.Response) {
	x.begin(resp)
	x.pour(resp.Body)
}

// readHTTP reads an answer with another status than 200; cut is that of a
// [contract.Reader].
func (s *server) readHTTP(status int, header http.Header, body []byte, cut string) contract.Reading {
	switch {
	case status == http.StatusUnauthorized && !s.forwardsCredentials():
		return contract.Reading{Failure: s.misconfigured(status, body), Sign: "HTTP status 401"}
	case status < http.StatusBadRequest:
		e := recourse.BadResponse(s.Title).WithOrigin(recourse.OriginServer).WithUpstream(recourse.Upstream{Status: status}).
			WithMessage("%s answered with HTTP status %d, which no MCP request is answered with.", s.Title, status).
			CausedBy(fmt.Errorf("HTTP %d, Location %q: %s", status, header.Get("Location"), beginning(string(body))))
		return contract.Reading{Failure: e, Sign: "HTTP status"}
	}
	reader := *s.reader()
	reader.Cut = cut
	reading := reader.HTTP(status, header, body)
	e := reading.Error()
	switch {
	case e == nil:
		reading.Failure = recourse.FromStatus(s.Title, status).WithOrigin(recourse.OriginServer)
	case status == http.StatusForbidden && e.Kind == recourse.KindMissingScope && reading.Contract == nil && !s.forwardsCredentials():
		reading.Failure = s.misconfigured(status, body)
	case reading.Contract == nil && aboutEndpoint(e.Kind) && !isRPCError(json.Lookup(body, "/error")):
		// The status is the endpoint's, and says nothing of what the tool was asked for.
		refused := recourse.ClientError(s.Title, status).WithOrigin(recourse.OriginServer).
			WithUpstream(e.Upstream).WithEffect(e.Effect).WithRetryAfter(e.RetryAfter).CausedBy(e.Cause())
		reading.Failure = refused
	}
	return reading
}

// errOwnCredentials is in the cause of a failure that says that the server refused what
// the gateway brings to it.
var errOwnCredentials = errors.New("the server refused the credentials in the entry's headers")

// misconfigured returns the failure of a call that the server refused for the gateway's
// own credentials. No caller can do anything about it, nor whoever has given the
// server access to something; so it is neither of class auth nor has it a status.
func (s *server) misconfigured(status int, body []byte) *recourse.Error {
	e := recourse.Internal().WithMessage("%s refused the gateway's own credentials. "+
		"The operator of the gateway has to renew them.", s.Title)
	return e.WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		CausedBy(fmt.Errorf("%w: HTTP status %d: %s", errOwnCredentials, status, beginning(string(body))))
}

// aboutEndpoint reports whether a kind that an HTTP status stands for would be
// about things and values, which an MCP endpoint's own status is not.
func aboutEndpoint(kind recourse.Kind) bool {
	switch kind {
	case recourse.KindNotFound, recourse.KindConflict, recourse.KindInvalidValue, recourse.KindQuotaExhausted:
		return true
	default:
		return false
	}
}

// isProtocol reports whether e is about the message itself, so that the client's
// program has to see the server's answer as it was written.
func isProtocol(e *recourse.Error) bool {
	return e.Kind.Class() == recourse.ClassProtocol && e.Kind != recourse.KindUnknownSession
}

// deliver sends a notification, or the client's answer to a question of the
// server's. There is nothing to repeat it for but a connection that was never made
// or a session that has to be made anew.
func (x *exchange) deliver() {
	x.rule.Timeout = x.s.Timeout
	if x.msg.Kind == wire.Response && x.session != nil {
		x.session.questions.answer(x.msg.ID)
	}
	x.msg.ID = nil // that of a response is the server's own question: nobody waits for an answer
	x.ctx, x.deadline, x.stop = withDeadline(x.r.Context(), x.s.Timeout, x.s.Timeout, x.timedOut())
	x.hand(http.MethodPost, x.body)
}

// hand gives the server a message that has no answer of its own, once more when a
// session had to be made anew for it.
func (x *exchange) hand(method string, body []byte) {
	renewed := false
	if x.leftBehind(method) {
		return
	}
	for {
		header := x.upstreamHeader()
		switch method {
		case http.MethodGet:
			header["Accept"] = acceptSSE
			fallthrough
		case http.MethodDelete:
			delete(header, "Content-Type")
		}
		if renewed { // the events were those of the session that is lost
			delete(header, wire.HeaderLastEventID)
		}
		generation := x.addSession(header)
		x.lost, x.sentIn = false, header.Get(wire.HeaderSession)
		e := x.handOver(method, header, body)
		if e == nil {
			return
		}
		if x.lost {
			if method == http.MethodDelete { // it is over at the server as well
				x.s.sessions.remove(x.session)
				x.w.WriteHeader(http.StatusNoContent)
				return
			}
			if !renewed {
				err := x.session.renew(x.ctx, x, generation)
				if err == nil {
					renewed = true
					continue
				}
				e = recourse.From(err)
			}
		}
		switch {
		case method == http.MethodGet && x.holdStream(e):
			continue
		case !x.started:
			x.refuse(statusOf(method, e), e)
		}
		return
	}
}

// leftBehind takes the session along to the server that has taken the place of its own.
// It reports whether that has answered the message.
func (x *exchange) leftBehind(method string) bool {
	if method == http.MethodDelete && x.session != nil {
		if here, _ := x.session.isAt(x.s.place); !here { // nobody else knows it
			x.s.sessions.remove(x.session)
			x.w.WriteHeader(http.StatusNoContent)
			return true
		}
	}
	for {
		e := x.moveSession()
		if e == nil {
			return false
		}
		if method != http.MethodGet || !x.holdStream(e) {
			if !x.started {
				x.refuse(statusOf(method, e), e)
			}
			return true
		}
	}
}

// handOver sends a message and passes on what the server says. It returns the
// failure of the transport, or of a server that does not take the message.
func (x *exchange) handOver(method string, header http.Header, body []byte) *recourse.Error {
	x.attempts++
	resp, err := x.s.up.Send(x.ctx, method, header, body)
	if err != nil {
		return recourse.From(err)
	}
	defer resp.Body.Close()
	isStream := resp.StatusCode == http.StatusOK && wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeEventStream)
	switch {
	case method == http.MethodGet && isStream:
		x.passStream(resp) // that it ends is no failure: the client opens it again
	case x.started: // a stream that is held open goes on or ends
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a broken body says no more than the status
		e := x.s.readHTTP(resp.StatusCode, resp.Header, text, "").Error()
		x.lost = x.lostSession(x.sentIn, resp.StatusCode, e)
		return e
	case resp.StatusCode == http.StatusMethodNotAllowed && method != http.MethodPost:
		if resp.Header.Get("Allow") == "" {
			resp.Header.Set("Allow", http.MethodPost)
		}
		x.passMethods(resp)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return x.refusal(resp)
	case method == http.MethodDelete && x.session != nil:
		x.s.sessions.remove(x.session)
		fallthrough
	default:
		x.passOn(resp)
	}
	return nil
}

// passMethods passes on which HTTP methods the server takes. That is how clients find out
// that there is no stream to listen to, and no failure; but an answer without a message can
// have them try transports of old.
func (x *exchange) passMethods(resp *http.Response) {
	if x.s.observes() || wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeJSON) {
		x.passOn(resp)
		return
	}
	allow := resp.Header["Allow"]
	x.w.Header()["Allow"] = allow
	message := fmt.Sprintf("%s takes %s.", x.s.Title, strings.Join(allow, ", "))
	x.sendMessage(resp.StatusCode, wire.AppendError(nil, nil, wire.CodeInvalidRequest, message, nil))
}

// statusOf returns the HTTP status by which the gateway says that a message could
// not be delivered: the server's own, but for what is between gateway and server.
// A notification that the server refuses is that, too: a 4xx would end the whole
// session of a client that uses the Go SDK.
func statusOf(method string, e *recourse.Error) int {
	switch status := e.Upstream.Status; {
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		return status
	case e.Kind == recourse.KindTimeout:
		return http.StatusGatewayTimeout
	case method == http.MethodPost, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return http.StatusBadGateway
	case e.Kind == recourse.KindUnknownSession:
		return http.StatusNotFound
	case status >= http.StatusBadRequest:
		return status
	default:
		return http.StatusBadGateway
	}
}
