package mcptool

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// withholds reports whether the handler's answer is replaced: a failure without JSON, since no
// client can read it, and a 400 to an unknown protocol version, since it may blame something
// else.
func (x *visit) withholds(status int, header http.Header) bool {
	if status < http.StatusBadRequest || header.Get("Content-Type") == "" {
		return false
	}
	return !isJSON(header) || status == http.StatusBadRequest && x.hasStrangeVersion()
}

func isJSON(header http.Header) bool {
	media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.HasSuffix(strings.TrimSpace(media), "json")
}

// hasStrangeVersion reports whether the request names an unknown protocol version.
func (x *visit) hasStrangeVersion() bool {
	const overStdio = "2024-11-05" // for which clients ask over HTTP, too
	version := x.r.Header.Get(wire.HeaderVersion)
	_, known := wire.EraOf(version)
	return version != "" && version != overStdio && !known
}

// isModern reports whether the request is of MCP 2026-07-28 or later.
func (x *visit) isModern() bool { return x.r.Header.Get(wire.HeaderVersion) >= wire.Version20260728 }

// reword sends the guard's own refusal instead of an answer that was withheld, if any. An
// answer without a body stays as it is.
func (x *visit) reword() {
	held := x.w.held
	if held == nil {
		return
	}
	x.w.held, x.w.withholds = nil, nil
	h := x.w.Header()
	text := bytes.TrimSpace(held.text)
	if len(text) == 0 || isJSON(h) && isVersionError(text) {
		x.w.WriteHeader(held.status)
		_, _ = x.w.Write(held.text) // the client has gone
		return
	}
	var r *denial
	if isJSON(h) {
		r = x.wrongVersion(nil)
	} else {
		r = x.refusedAs(held.status, string(text))
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "X-Content-Type-Options"} {
		h.Del(name)
	}
	cause := fmt.Errorf("the handler behind the guard answered with HTTP status %d: %s", held.status, text)
	r.err = recourse.From(r.err).CausedBy(cause)
	x.refuse(r)
}

// isVersionError reports whether an answer says that the protocol version is not supported.
func isVersionError(text []byte) bool {
	return string(json.Lookup(text, "/error/code")) == strconv.Itoa(wire.CodeUnsupportedVersion)
}

// refusedAs reads the handler's refusal from its status and text. If the request itself shows
// what is wrong, the text does not matter.
func (x *visit) refusedAs(status int, text string) *denial {
	switch {
	case status == http.StatusMethodNotAllowed:
		return x.wrongMethod()
	case status == http.StatusUnsupportedMediaType:
		return invalid(status, "Send the message as Content-Type application/json, without Content-Encoding.")
	case status == http.StatusNotAcceptable, status == http.StatusBadRequest && !x.acceptsAnswers():
		return invalid(http.StatusNotAcceptable,
			"Accept must include application/json and text/event-stream; for a GET, the latter.")
	case status == http.StatusRequestEntityTooLarge:
		return &denial{at: contract.AtSession, err: recourse.New(recourse.KindTooLarge, ""), status: status, plain: true}
	case status == http.StatusUnauthorized:
		return &denial{at: contract.AtCredentialsInvalid, err: recourse.Unauthenticated()}
	case status == http.StatusForbidden && reOrigin.MatchString(text):
		return &denial{at: contract.AtSession, err: recourse.New(recourse.KindRefusedOrigin, ""), status: status, plain: true}
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		// It may have run the call, or ask for a wait.
		return &denial{at: contract.AtUpstream, err: x.said(status, text)}
	}
	e, fault := x.said(status, text), x.msg.Refused()
	switch {
	case e.Kind == recourse.KindUnknownSession, status == http.StatusNotFound && x.r.Header.Get(wire.HeaderSession) != "":
		e = recourse.New(recourse.KindUnknownSession, "")
		return &denial{at: contract.AtSession, err: e, status: http.StatusNotFound}
	case e.Kind == recourse.KindUnsupportedVersion:
		return x.wrongVersion(e)
	case e.Kind == recourse.KindUnknownMethod:
		return x.wrongMessage(e)
	case status == http.StatusNotFound && x.isModern() && fault != nil:
		return x.wrongMessage(door.Refused(fault).CausedBy(fault))
	case status == http.StatusNotFound:
		return invalid(status, "There is no MCP server at this path.")
	case status != http.StatusBadRequest:
		return &denial{at: contract.AtSession, err: e, status: status, plain: true}
	case x.hasStrangeVersion():
		return x.wrongVersion(nil)
	case fault != nil:
		return x.wrongMessage(door.Refused(fault).CausedBy(fault))
	}
	return invalid(status, "The server did not take the message. Compare its headers and members with what MCP says of them.")
}

// reOrigin matches what the Go SDK and net/http say about cross-origin requests.
var reOrigin = regexp.MustCompile(`(?i)^(?:Forbidden: invalid Host header|cross-origin request)`)

// said reads a status with a text.
func (x *visit) said(status int, text string) *recourse.Error {
	if status == http.StatusInternalServerError {
		return recourse.Internal()
	}
	reader := contract.Reader{Contracts: []*contract.Contract{x.g.plain}, Provider: "The server", Trusted: true}
	header := http.Header{"Content-Type": {"text/plain"}, "Retry-After": x.w.Header()["Retry-After"]}
	return reader.HTTP(status, header, []byte(text)).Error()
}

// invalid returns the refusal of something that is not a request.
func invalid(status int, message string) *denial {
	e := recourse.New(recourse.KindInvalidRequest, message)
	return &denial{at: contract.AtSession, err: e, status: status, plain: true}
}

// wrongMethod returns the refusal of an HTTP method, with the Allow header (RFC 9110, section
// 15.5.6).
func (x *visit) wrongMethod() *denial {
	h := x.w.Header()
	if h.Get("Allow") == "" {
		h.Set("Allow", http.MethodPost)
	}
	return invalid(http.StatusMethodNotAllowed, "This MCP endpoint takes "+h.Get("Allow")+".")
}

// wrongMessage returns the refusal of a message because of its method or params. A request gets
// it with status 200, unless MCP 2026-07-28 has a status for it.
func (x *visit) wrongMessage(e *recourse.Error) *denial {
	status := http.StatusBadRequest
	switch {
	case x.msg.Kind != wire.Request, e.Kind == recourse.KindInvalidRequest:
	case !x.isModern():
		status = http.StatusOK
	case e.Kind == recourse.KindUnknownMethod:
		status = http.StatusNotFound
	}
	return &denial{at: contract.AtSession, err: e, status: status, plain: true}
}

// wrongVersion returns the refusal of a protocol version. e is what the handler said, if
// anything.
func (x *visit) wrongVersion(e *recourse.Error) *denial {
	r := &denial{at: contract.AtSession, status: http.StatusBadRequest, plain: true, versions: wire.Versions()}
	if e != nil {
		_ = json.Unmarshal(json.Value(e.Details["supported"]), &r.versions) // else those that are known here
	}
	r.err = recourse.New(recourse.KindUnsupportedVersion, "").
		WithMessage("This protocol version is not supported. The server speaks %s.", strings.Join(r.versions, ", "))
	return r
}

// acceptsAnswers reports whether the client accepts the media types of MCP's answers.
func (x *visit) acceptsAnswers() bool {
	accept := x.r.Header["Accept"]
	switch x.r.Method {
	case http.MethodPost:
		return len(accept) > 0 && wire.Accepts(accept, wire.TypeJSON) && wire.Accepts(accept, wire.TypeEventStream)
	case http.MethodGet:
		return len(accept) > 0 && wire.Accepts(accept, wire.TypeEventStream)
	default:
		return true
	}
}
