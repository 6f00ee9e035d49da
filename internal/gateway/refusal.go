package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// maxErrorBody limits how much is read of an answer with a status of 400 or more.
const maxErrorBody = 64 << 10

// refusal handles an answer whose HTTP status is not 200.
func (c *call) refusal(resp *http.Response) error {
	refused, narrowed := c.refusesAccount(resp.StatusCode, resp.Header)
	if narrowed != nil {
		return settled(narrowed)
	}
	if c.passesAuth(resp.StatusCode) {
		body, e := c.refusedCredentials(resp)
		return &failure{e: e, text: body, resp: resp}
	}
	within := c.table.config.DecideWithin
	text, _ := io.ReadAll(io.LimitReader(resp.Body, int64(within)+1)) // if reading fails, the status still counts
	if err := c.ctx.Err(); err != nil {
		return c.to.broken(c.ctx, err)
	}
	if len(text) > int(within) {
		c.in.cut = within.String()
		text = wholeWords(text)
		if whole := json.Complete(text); whole != nil {
			text = whole
		}
	}
	reading := c.to.readHTTP(resp.StatusCode, resp.Header, text, c.in.cut)
	e := c.refusedFor(reading.Error(), text)
	if c.out.last.refused = refused; refused {
		return e.WithEffect(recourse.EffectNone)
	}
	if c.out.last.lost = c.lostSession(c.out.last.session, resp.StatusCode, e); c.out.last.lost {
		return e.WithEffect(recourse.EffectNone)
	}
	if reading.Contract == nil && c.forProgram(e) && c.isRefusal(text) {
		return c.rpcFailure(resp.StatusCode, text, e)
	}
	return e
}

// passesAuth reports whether a refusal is between the client and the server: the client's own credentials
// were forwarded.
func (c *call) passesAuth(status int) bool {
	return (status == http.StatusUnauthorized || status == http.StatusForbidden) && c.on.forwards("Authorization")
}

const notedAuth = "passed on under its own status"

// refusedCredentials reads the refusal of the client's own credentials, which is passed on unchanged,
// including the challenge.
func (c *call) refusedCredentials(resp *http.Response) (body []byte, e *recourse.Error) {
	c.out.reason = "the server refused the client's own credentials"
	body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // if reading fails, the status still counts
	if e = c.to.reader().HTTP(resp.StatusCode, resp.Header, body).Error(); e == nil {
		e = recourse.FromStatus(c.to.Title, resp.StatusCode).WithOrigin(recourse.OriginServer)
	}
	return body, e
}

// refusedFor finds out what is wrong with a message if e only says that the server did not accept it. The
// gateway has already checked its form and headers: what remains is the method, or missing params.
func (c *call) refusedFor(e *recourse.Error, body []byte) *recourse.Error {
	status := e.Upstream.Status
	if e.Kind != recourse.KindClientError || isRPCError(json.Lookup(body, "/error")) {
		return e
	}
	why := recourse.New(recourse.KindInvalidRequest, e.Message)
	if fault := c.req.msg.Refused(); fault != nil {
		why = door.Refused(fault)
	}
	switch {
	case status == http.StatusBadRequest && (!c.req.isCall() || why.Kind != recourse.KindInvalidRequest):
	case status == http.StatusNotFound && c.req.era == wire.Modern && why.Kind == recourse.KindUnknownMethod:
	default:
		return e
	}
	return why.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithUpstream(e.Upstream).CausedBy(e.Cause())
}

// isRefusal reports whether body is a JSON-RPC error that answers the request.
func (c *call) isRefusal(body []byte) bool {
	if len(c.req.msg.ID) == 0 || c.in.rescan(body) != nil {
		return false
	}
	signs := c.in.signs
	return isWhole(signs) && signs.ID.Equal(c.sentID()) && isRPCError(signs.Error.Of(body))
}

// readHTTP reads an answer whose status is not 200; cut is as in [contract.Reader].
func (to *target) readHTTP(status int, header http.Header, body []byte, cut string) contract.Reading {
	switch {
	case status == http.StatusUnauthorized && !to.passesCredentials:
		return contract.Reading{Failure: to.misconfigured(status, body), Sign: "HTTP status 401"}
	case status < http.StatusBadRequest:
		e := to.badResponse(fmt.Errorf("HTTP %d, Location %q: %s", status, header.Get("Location"), observe.Beginning(string(body)))).
			WithUpstream(recourse.Upstream{Status: status}).
			WithMessage("%s answered with HTTP status %d, which is not an answer to an MCP request.", to.Title, status)
		return contract.Reading{Failure: e, Sign: "HTTP status"}
	}
	reader := *to.reader()
	reader.Cut = cut
	reading := reader.HTTP(status, header, body)
	e := reading.Error()
	switch {
	case e == nil:
		reading.Failure = recourse.FromStatus(to.Title, status).WithOrigin(recourse.OriginServer)
	case status == http.StatusForbidden && e.Kind == recourse.KindMissingScope && reading.Contract == nil && !to.passesCredentials:
		reading.Failure = to.misconfigured(status, body)
	case reading.Contract == nil && aboutThings(e.Kind) && !isRPCError(json.Lookup(body, "/error")):
		// The status comes from the endpoint, and says nothing about what the tool was asked to do.
		refused := recourse.ClientError(to.Title, status).WithOrigin(recourse.OriginServer).
			WithUpstream(e.Upstream).WithEffect(e.Effect).WithRetryAfter(e.RetryAfter).CausedBy(e.Cause())
		reading.Failure = refused
	}
	return reading
}

// errOwnCredentials is in the cause of a failure that says that the server refused the gateway's own
// credentials.
var errOwnCredentials = errors.New("the server refused the credentials in the entry's headers")

// misconfigured returns the failure for a call that the server refused because of the gateway's own
// credentials. It is not of class auth and has no status, since no client can fix this by authorizing.
func (to *target) misconfigured(status int, body []byte) *recourse.Error {
	e := recourse.Internal().WithMessage("%s refused the gateway's own credentials. "+
		"The operator of the gateway has to renew them.", to.Title)
	return e.WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		CausedBy(fmt.Errorf("%w: HTTP status %d: %s", errOwnCredentials, status, observe.Beginning(string(body))))
}

// aboutThings reports whether a kind is about things and values. The status of an MCP endpoint is about the
// endpoint.
func aboutThings(kind recourse.Kind) bool {
	switch kind {
	case recourse.KindNotFound, recourse.KindConflict, recourse.KindInvalidValue, recourse.KindQuotaExhausted:
		return true
	default:
		return false
	}
}

// isProtocol reports whether e is about the message itself, so that the client's program has to see the
// server's original answer.
func isProtocol(e *recourse.Error) bool {
	return e.Kind.Class() == recourse.ClassProtocol && e.Kind != recourse.KindUnknownSession
}

// lostSession reports whether the server does not know the session that it was sent, and so did nothing. A
// 404 says so (MCP 2025-11-25, basic/transports, "Session Management"). The words of a 400 alone prove
// nothing: the server is asked whether the session is gone.
func (c *call) lostSession(sent string, status int, e *recourse.Error) bool {
	switch {
	case c.session == nil || sent == "":
		return false
	case status == http.StatusNotFound:
		return true
	default:
		return status == http.StatusBadRequest && e.Kind == recourse.KindUnknownSession && c.isGone(sent)
	}
}

// pingTimeout limits how long a server may take to answer a ping.
const pingTimeout = 5 * time.Second

// isGone asks the server, with a request that does nothing, whether it has lost a session.
func (c *call) isGone(session string) bool {
	const maxPong = 64 << 10
	header := c.upstreamHeader()
	header["Content-Type"] = []string{wire.TypeJSON}
	header[wire.HeaderSession] = []string{session}
	id := wire.ID(fmt.Sprintf(`"%s-ping"`, c.req.id))
	ctx, cancel := context.WithTimeout(c.ctx, pingTimeout)
	defer cancel()
	answer, err := upstream.Ask(ctx, c.to.up, c.who.request(header, wire.AppendRequest(nil, id, wire.MethodPing, nil)), id, maxPong)
	return err == nil && (answer.Status == http.StatusNotFound || answer.Status == http.StatusBadRequest)
}

// at returns how far the call had come when it failed.
func (c *call) at(e *recourse.Error) contract.At {
	switch status := e.Upstream.Status; {
	case errors.Is(e.Cause(), errHeldBack) && c.req.isCall():
		return contract.AtUpstream
	case errors.Is(e.Cause(), errHeldBack):
		return contract.AtSession
	case c.out.attempts == 0:
		return contract.AtArguments
	case c.out.last.answered && c.req.isCall():
		return contract.AtTool
	case status == http.StatusUnauthorized && c.to.passesCredentials:
		return contract.AtCredentialsInvalid
	case status == http.StatusForbidden && c.to.passesCredentials && c.who.user != "":
		return contract.AtUserInvalid
	case errors.Is(e.Cause(), errOwnCredentials), errors.Is(e.Cause(), upstream.ErrNotStarted):
		return contract.AtUpstreamMisconfigured
	case !c.req.isCall():
		return contract.AtSession
	default:
		return contract.AtUpstream
	}
}

// provided reads the answer of an HTTP API's provider again, with everything that the gateway knows about its
// errors. Any other error is returned unchanged.
func (c *call) provided(e *recourse.Error) *recourse.Error {
	refusal, ok := errors.AsType[*api.RefusedError](e.Cause())
	if !ok {
		return e
	}
	c.out.last.Status = refusal.Status
	refused, narrowed := c.refusesAccount(refusal.Status, refusal.Header)
	if narrowed != nil {
		return narrowed
	}
	if c.out.last.refused = refused; refused {
		return e.WithEffect(recourse.EffectNone)
	}
	if refusal.Status == http.StatusUnauthorized && !c.to.passesCredentials && !c.on.forwards("Authorization") {
		return c.to.misconfigured(refusal.Status, refusal.Body).WithProvider(c.to.Title)
	}
	c.out.last.answered = refusal.Status != http.StatusUnauthorized
	reader := contract.Reader{Weak: c.to.weak, Families: c.to.families, Trusted: c.to.Trusted, Provider: c.to.Title}
	if c.to.weak != nil {
		reader.Contracts = []*contract.Contract{c.to.weak}
	}
	read := reader.HTTP(refusal.Status, refusal.Header, refusal.Body).Error()
	if read == nil { // a question that nobody here can answer
		return e
	}
	return withViolations(read).WithOrigin(recourse.OriginProvider).WithProvider(c.to.Title).With(func(r *recourse.Error) {
		r.Upstream.Status = refusal.Status
		if r.Upstream.RequestID == "" {
			r.Upstream.RequestID = e.Upstream.RequestID
		}
		if r.Effect == "" && refuses(refusal.Status) && retry.Effect(r, retry.Writes) == recourse.EffectNone {
			r.Effect = recourse.EffectNone
		}
	}).CausedBy(refusal)
}

const (
	maxTold     = 5   // how many violations a sentence lists
	maxToldText = 300 // size of each in bytes
)

// withViolations adds the provider's objections to each argument to the sentence, unless the sentence has
// them: a model acts on the text alone.
func withViolations(e *recourse.Error) *recourse.Error {
	said := strings.TrimSuffix(e.Message, ".") + ". "
	if strings.HasPrefix(said, "{") || strings.HasPrefix(said, "[{") { // the whole body, since there is no sentence
		said = ""
	}
	var told []string
	for _, v := range e.Violations[:min(len(e.Violations), maxTold)] {
		if v.Message != "" && !strings.Contains(said, v.Message) {
			told = append(told, strings.TrimPrefix(v.Param+": "+observe.Cut(v.Message, maxToldText), ": "))
		}
	}
	if told == nil {
		return e
	}
	return e.WithMessage("%s%s", said, strings.Join(told, "; "))
}

// refuses reports whether a status may mean that nothing was done: what the body of a 5xx says does not
// count.
func refuses(status int) bool {
	return status < http.StatusInternalServerError && status != http.StatusRequestTimeout || status == http.StatusNotImplemented
}
