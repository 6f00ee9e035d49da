package gateway

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// An exchange is one HTTP request of a client on its way through the stages.
type exchange struct {
	g     *Gateway
	table *table // as it was when the request came
	s     *server
	holds bool   // of the server
	user  string // that the path names, as it was sent
	w     http.ResponseWriter
	r     *http.Request
	start time.Time

	requestID string
	era       wire.Era
	msg       wire.Message
	body      []byte // of the client's request; a transport may read it even after the exchange
	holding   int64  // bytes of it that are counted as in flight
	session   *session

	ctx      context.Context //nolint:containedctx // the exchange is the call
	deadline *deadline
	stop     func()

	rule     config.Tool
	listed   *listedTool // what tools/list says of the tool; nil: not known
	list     *toolList
	mask     *redact.Masker // made for the first failure
	nature   retry.Nature
	attempts int    // that were sent to the server
	reason   string // why it was not sent again

	asks        bool   // the server has asked the client something
	status      int    // of the server's answer to the last attempt; 0: there was none
	answered    bool   // the server has begun to answer the last attempt
	sentIn      string // the session at the server that the last attempt named
	lost        bool   // which the server does not know
	started     bool   // something of the answer has gone out
	eventStream bool   // and it is one

	hold time.Duration // until a stream that is held open asks for the server again

	scan   wire.Scanner
	events wire.EventReader
	window []byte // the part of an answer that is looked into
	cut    string // what the answer is longer than, where it breaks off in what is read
}

// exchanges keeps the memory of past exchanges: windows and parsers.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// maxKept bounds the memory that an idle exchange keeps.
const maxKept = 512 << 10

func newExchange(g *Gateway, w http.ResponseWriter, r *http.Request) *exchange {
	x, _ := exchanges.Get().(*exchange)
	x.g, x.table, x.w, x.r, x.start = g, g.table.Load(), w, r, time.Now()
	x.requestID = wire.RequestID(r.Header.Get(wire.HeaderRequestID))
	w.Header()[wire.HeaderRequestID] = []string{x.requestID}
	return x
}

func (x *exchange) release() {
	if x.asks {
		x.session.questions.drop(x.deadline)
	}
	if x.stop != nil {
		x.stop()
	}
	x.leave()
	x.g.inFlight.bytes.Add(-x.holding)
	if cap(x.body) > maxKept || cap(x.window) > maxKept {
		return
	}
	x.forget()
	exchanges.Put(x)
}

// forget makes x ready for another request: it keeps its memory, and nothing else.
func (x *exchange) forget() {
	*x = exchange{window: x.window[:0], scan: x.scan, events: x.events, msg: x.msg}
	x.scan.Reset()
	x.events.Reset(nil, 0)
	x.msg.Reset()
}

// overStdio reports whether the client speaks over stdio, where there are no headers:
// what they say stands in the body alone (MCP 2026-07-28, basic/transports/stdio,
// "Request Metadata").
func (x *exchange) overStdio() bool {
	_, ok := x.w.(*stdioAnswer)
	return ok
}

// isCall reports whether the request calls a tool.
func (x *exchange) isCall() bool { return x.msg.Method == wire.MethodToolsCall }

// upstreamHeader returns the headers with which the client's message goes on.
func (x *exchange) upstreamHeader() http.Header {
	from := x.r.Header
	h := make(http.Header)
	for _, name := range passedOn {
		if values, ok := from[name]; ok {
			h[name] = values
		}
	}
	switch {
	case x.era != wire.Modern:
	case x.overStdio() && x.listed != nil:
		wire.SetParamHeaders(h, x.msg.Arguments, x.listed.mirrors())
	default:
		for name, values := range from {
			if strings.HasPrefix(name, wire.HeaderParamPrefix) {
				h[name] = values
			}
		}
	}
	for _, name := range x.s.forward {
		values, ok := from[name]
		if peer, _, err := net.SplitHostPort(x.r.RemoteAddr); err == nil && name == wire.HeaderForwardedFor {
			values, ok = append(slices.Clone(values), peer), true
		}
		if ok {
			h[name] = values
		}
	}
	if values := x.programCaller(); len(x.s.Command) > 0 && len(values) > 0 {
		h["Authorization"] = values
	}
	x.addUser(h)
	h["Accept"] = acceptBoth
	h[wire.HeaderRequestID] = []string{x.requestID}
	return h
}

// programCaller returns what tells the clients of a program apart; no program sees it.
// The host of a wrapper needs no credentials: there is one.
func (x *exchange) programCaller() []string {
	values := x.r.Header["Authorization"]
	if x.overStdio() {
		values = append(slices.Clip(values), "the host")
	}
	if x.user != "" {
		values = append(slices.Clip(values), "user "+x.user)
	}
	return values
}

var (
	acceptBoth = []string{"application/json, text/event-stream"}
	acceptSSE  = []string{"text/event-stream"}
	// passedOn are the headers of the protocol and of tracing.
	passedOn = []string{
		"Content-Type", wire.HeaderVersion, wire.HeaderMethod, wire.HeaderName,
		wire.HeaderLastEventID, "Traceparent", "Tracestate", "Baggage",
	}
	// passedBack are the headers of an answer that say something to a client: of HTTP's
	// content, caching and authentication (RFC 9110, 9111), of the protocol and of
	// limits. All others are the server's own affair.
	passedBack = map[string]bool{
		"Content-Type": true, "Content-Encoding": true, "Content-Language": true, "Cache-Control": true, "Expires": true,
		"Pragma": true, "Age": true, "Etag": true, "Last-Modified": true, "Allow": true, "Www-Authenticate": true,
		"Retry-After": true, "Ratelimit": true, "Ratelimit-Policy": true, "Deprecation": true, "Sunset": true,
		"X-Accel-Buffering": true,
	}
)

// keptBack are the headers of an answer that are of the connection, of the server's own
// session and cookies, or that the gateway writes itself, so that not even a gateway that
// only observes passes them on.
var keptBack = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Connection": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Content-Length": true, "Date": true, "Server": true, "Set-Cookie": true,
	wire.HeaderSession: true, wire.HeaderRequestID: true,
	"Access-Control-Allow-Origin": true, "Access-Control-Allow-Credentials": true,
	"Access-Control-Expose-Headers": true, "Vary": true,
}

// isPassedBack reports whether a header of an answer reaches the client.
func isPassedBack(name string) bool {
	return passedBack[name] || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Ratelimit-") ||
		strings.HasPrefix(name, "Mcp-") && name != wire.HeaderSession // what the protocol may add
}

// copyHeader passes the headers of an answer on.
func (x *exchange) copyHeader(from http.Header) {
	to := x.w.Header()
	for name, values := range from {
		if isPassedBack(name) || x.s.observes() && !keptBack[name] {
			to[name] = values
		}
	}
}
