package mcptool

import (
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
)

// Fail answers r with err in the form of the contract of the [Guard] that r has passed.
// It is for handlers behind a Guard that cannot carry out the call, such as the
// ErrorHandler of a reverse proxy (with contract.AtUpstream). Without a Guard the answer
// is a bare 500.
func Fail(w http.ResponseWriter, r *http.Request, at contract.At, err error) {
	x, ok := r.Context().Value(visitKey{}).(*visit)
	if !ok {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	x.refuse(&denial{at: at, err: err})
}

// refuse ends the request.
func (x *visit) refuse(r *denial) {
	if x.w.started { // it is too late to say anything
		return
	}
	x.w.withholds, x.w.ids = nil, nil // this one is ours
	x.identify()
	e := x.settle(r.at, recourse.From(r.err))
	status := r.status
	if status == 0 {
		status = x.statusOf(r.at, e.Kind)
	}
	at := r.at
	if at == contract.AtUpstream && !x.isCall() { // no tool has run
		at = contract.AtSession
	}
	call := &contract.Call{
		Method: x.msg.Method, Tool: x.msg.Name, Arguments: x.msg.Arguments, URL: door.URL(x.r, x.g.publicURL), At: at,
		Status: status, HTTP: true, Now: x.g.now, ResultType: x.msg.ProtocolVersion >= wire.Version20260728,
	}
	answer := x.g.contract.Write(e, call)
	if r.plain || answer.Surface == contract.SurfaceRPC { // of which the contract says nothing: its codes are those of tools
		answer = x.g.plain.Write(e, call)
	}
	if len(r.versions) > 0 {
		answer.Data = door.WithVersions(answer.Data, r.versions, x.r.Header.Get(wire.HeaderVersion))
	}
	h := x.w.Header()
	x.challenge(answer.Status, e)
	if status == http.StatusTooManyRequests && e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10))
	}
	switch answer.Surface {
	case contract.SurfaceHTTP:
		maps.Copy(h, answer.Header)
		x.send(answer.Status, answer.Body)
	case contract.SurfaceResult:
		x.sendMessage(answer.Status, wire.AppendResult(nil, x.msg.ID, answer.Result))
	case contract.SurfaceRPC:
		x.sendMessage(answer.Status, wire.AppendError(nil, x.msg.ID, answer.RPCCode, answer.Message, answer.Data))
	}
	attrs := []slog.Attr{slog.String("request_id", x.requestID), slog.String("at", string(r.at)), slog.Int("status", answer.Status)}
	handler.Record(x.r.Context(), x.g.log, x.start, attrs, answer.Record, r.err)
}

// challenge tells the client which credentials to send (RFC 9110, section 11.6.1), and
// which scopes a token lacks (RFC 6750, section 3.1).
func (x *visit) challenge(status int, e *recourse.Error) {
	h, value := x.w.Header(), x.g.challenge
	if value == "" || h.Get("WWW-Authenticate") != "" {
		return
	}
	switch {
	case status == http.StatusUnauthorized:
	case status == http.StatusForbidden && e.Kind == recourse.KindMissingScope:
		separator := ", "
		if !strings.Contains(value, " ") { // it has no parameters
			separator = " "
		}
		value += separator + door.Param("error", "insufficient_scope")
		if len(e.MissingScopes) > 0 {
			value += ", " + door.Param("scope", strings.Join(e.MissingScopes, " "))
		}
	default:
		return
	}
	h.Set("WWW-Authenticate", value)
}

// isCall reports whether the request calls a tool.
func (x *visit) isCall() bool {
	return x.msg.Kind == wire.Request && x.msg.Method == wire.MethodToolsCall
}

func (x *visit) sendMessage(status int, message []byte) {
	x.w.Header().Set("Content-Type", wire.TypeJSON)
	x.send(status, message)
}

func (x *visit) send(status int, body []byte) {
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // the client has gone
}

// settle completes a failure with what is known about the request.
func (x *visit) settle(at contract.At, e *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		switch {
		case at != contract.AtUpstream:
			c.Effect = recourse.EffectNone
		case c.Effect == "" && x.r.Method == http.MethodPost:
			c.Effect = recourse.EffectUnknown
		}
		if c.RequestID == "" {
			c.RequestID = x.requestID
		}
		if c.Origin == "" {
			c.Origin = originOf(at, c.Kind)
		}
	})
}

func originOf(at contract.At, kind recourse.Kind) recourse.Origin {
	if door.Status(at) != 0 {
		return recourse.OriginCaller
	}
	switch kind.Class() {
	case recourse.ClassProtocol, recourse.ClassInput, recourse.ClassPermission:
		return recourse.OriginCaller
	default:
		return recourse.OriginGateway
	}
}

// statusOf returns the HTTP status of a refusal. 0 leaves it to the contract, so that
// the model hears of it: for a limit, and for a request that failed behind the guard.
func (x *visit) statusOf(at contract.At, kind recourse.Kind) int {
	if at == contract.AtUpstream && x.msg.Kind == wire.Request {
		return 0
	}
	if status := door.Status(at); status != 0 {
		return status
	}
	switch kind {
	case recourse.KindMalformed, recourse.KindInvalidRequest:
		return http.StatusBadRequest
	case recourse.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case recourse.KindUnreachable, recourse.KindUnavailable, recourse.KindBadResponse:
		return http.StatusBadGateway
	case recourse.KindTimeout:
		return http.StatusGatewayTimeout
	default:
	}
	switch kind.Class() {
	case recourse.ClassAllowance:
		return 0
	case recourse.ClassAuth, recourse.ClassPermission:
		return http.StatusForbidden
	default:
		return http.StatusInternalServerError
	}
}
