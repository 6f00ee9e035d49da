package gateway

import (
	"context"
	"net/http"
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

	asks        bool // the server has asked the client something
	answered    bool // the server has begun to answer the last attempt
	started     bool // something of the answer has gone out
	eventStream bool // and it is one
	hurried     bool // the client has to take it in time

	hold time.Duration // until a stream that is held open asks for the server again

	scan   wire.Scanner
	events wire.EventReader
	window []byte // the part of an answer that is looked into
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
	if x.hurried {
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{}) // the connection may be used again
	}
	x.leave()
	if cap(x.body) > maxKept || cap(x.window) > maxKept {
		return
	}
	x.forget()
	exchanges.Put(x)
}

// forget makes x ready for another request, and keeps its memory.
func (x *exchange) forget() {
	x.g, x.table, x.s, x.w, x.r, x.session = nil, nil, nil, nil, nil, nil
	x.ctx, x.deadline, x.stop = nil, nil, nil
	x.rule, x.listed, x.list, x.mask = config.Tool{}, nil, nil, nil
	x.body = nil
	x.era, x.nature, x.attempts, x.reason = 0, 0, 0, ""
	x.user, x.answered = "", false
	x.asks, x.started, x.eventStream, x.hurried, x.hold = false, false, false, false, 0
	x.events.Reset(nil, 0)
	x.msg.ID, x.msg.Method, x.msg.Name = nil, "", "" // a request that is refused unread has none
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
	case x.era != wire.New:
	case x.overStdio() && x.listed != nil:
		wire.SetParamHeaders(h, x.msg.Arguments, x.listed.mirrored)
	default:
		for name, values := range from {
			if strings.HasPrefix(name, wire.HeaderParamPrefix) {
				h[name] = values
			}
		}
	}
	for _, name := range x.s.forward {
		if values, ok := from[name]; ok {
			h[name] = values
		}
	}
	if values, ok := from["Authorization"]; ok && len(x.s.Command) > 0 {
		h["Authorization"] = values // no program sees it: it tells clients apart
	}
	x.addUser(h)
	h["Accept"] = acceptBoth
	h[wire.HeaderRequestID] = []string{x.requestID}
	return h
}

var (
	acceptBoth = []string{"application/json, text/event-stream"}
	acceptSSE  = []string{"text/event-stream"}
	// passedOn are the headers of the protocol and of tracing.
	passedOn = []string{
		"Content-Type", wire.HeaderVersion, wire.HeaderMethod, wire.HeaderName,
		wire.HeaderLastEventID, "Traceparent", "Tracestate", "Baggage",
	}
	// keptBack are the headers of an answer that are of the connection, of the
	// server's own session and cookies, or that the gateway writes itself.
	keptBack = map[string]bool{
		"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Connection": true, "Te": true,
		"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
		"Content-Length": true, "Date": true, "Server": true, "Set-Cookie": true,
		wire.HeaderSession: true, wire.HeaderRequestID: true,
		"Access-Control-Allow-Origin": true, "Access-Control-Allow-Credentials": true,
		"Access-Control-Expose-Headers": true, "Vary": true,
	}
)

// copyHeader passes the headers of an answer on.
func (x *exchange) copyHeader(from http.Header) {
	to := x.w.Header()
	for name, values := range from {
		if !keptBack[name] {
			to[name] = values
		}
	}
}
