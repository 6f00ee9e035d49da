package main

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"slices"
)

// A class is a way for a call to go wrong.
type class struct {
	name string
	doc  string
	tool string // that the model calls, order_create by default
	args string // an order by default
	// fault answers the n-th call that arrives, or does not.
	fault func(w http.ResponseWriter, r *http.Request, m *clientMessage, n int) bool
	// before happens before the program starts, and atCall when the model is asked, after the tools are listed.
	before, atCall func(*failingServer)
	stdio          bool   // the server is a program, which exits at the call
	like           string // the class that is told in its place on the page
}

const (
	write  = "order_create"
	read   = "order_get"
	order  = `{"reference":"A-17","amount":2}`
	lookup = `{"reference":"A-17"}`
	waitMS = `{"retryable":true,"retryAfterMs":7000}`
)

// call is what the model calls.
func (c *class) call() (tool, args string) { return cmp.Or(c.tool, write), cmp.Or(c.args, order) }

func (c *class) writes() bool { return c.tool == "" }

// classes are in the order of the page.
var classes = []*class{
	{name: "ok", doc: "nothing goes wrong"},
	{name: "iserror", doc: "the server answers a write with `isError` and a text", fault: body(func(m *clientMessage) string {
		return toolError(m, "Error executing tool order_create: the order service did not answer")
	})},
	{
		name: "iserror-struct", doc: "the same, with a structure that says: retryable, in 7 s",
		fault: body(func(m *clientMessage) string {
			return result(m, `{"content":[{"type":"text","text":"Quota exceeded."}],"structuredContent":{"error":{"code":"QUOTA",`+
				`"retryable":true,"retryAfterMs":7000}},"isError":true}`)
		}),
	},
	{
		name: "rpcerror", doc: "the server answers a write with a JSON-RPC error whose data say: retryable, in 7 s",
		fault: body(func(m *clientMessage) string { return failure(m, -32000, "The provider is busy.", waitMS) }),
	},
	{
		name: "vanished", doc: "the server has listed the tool, and says `Unknown tool` when it is called",
		fault: body(func(m *clientMessage) string { return failure(m, -32602, "Unknown tool: order_create", `null`) }),
	},
	{name: "500", doc: "a write is answered with HTTP 500", fault: status(500, "Internal Server Error")},
	{name: "503once", like: "500", doc: "a write is answered with HTTP 503, once", fault: once(status(503, "Service Unavailable"))},
	{
		name: "503once-read", doc: "a read is answered with HTTP 503, once", tool: read, args: lookup,
		fault: once(status(503, "Service Unavailable")),
	},
	{name: "429", doc: "a write is answered with HTTP 429 and Retry-After: 30", fault: limited},
	{name: "401", doc: "a write is answered with HTTP 401", fault: status(401, "Unauthorized")},
	{name: "html", doc: "a proxy answers a write with a web page, and HTTP 200", fault: webPage},
	{name: "reset", doc: "the connection is reset during a write", fault: reset},
	{
		name: "resetonce-read", like: "503once-read", doc: "the connection is reset during a read, once", tool: read, args: lookup,
		fault: once(reset),
	},
	{name: "hang", doc: "the answer to a write never comes (`timeout: 3s`)", fault: hang},
	{name: "session-lost", doc: "the server has forgotten the session", atCall: (*failingServer).forget},
	{
		name: "restart", like: "session-lost", doc: "the server was restarted: broken connections, no sessions",
		atCall: (*failingServer).restart,
	},
	{name: "down", doc: "the server goes down before the call", atCall: (*failingServer).stop},
	{name: "dead-start", doc: "the server is down when the agent starts; the gateway has seen it before", before: (*failingServer).stop},
	{name: "unknown-tool", doc: "the model calls a tool that does not exist", tool: "order_craete", args: order},
	{name: "missing-arg", doc: "the model leaves out an argument of a write", args: `{"amount":2}`},
	{
		name: "wrong-type", like: "missing-arg", doc: "the model gives a number where a write needs a text",
		args: `{"reference":17,"amount":2}`,
	},
	{
		name: "urlelicit", doc: "the server answers a write with -32042: an account has to be connected",
		fault: body(func(m *clientMessage) string {
			return failure(m, -32042, "Connect your account.", `{"elicitations":[{"mode":"url","elicitationId":"c1",`+
				`"url":"https://shop.example.com/connect","message":"Connect your account."}]}`)
		}),
	},
	{name: "child-crash", doc: "the server is a program, which crashes during a write", stdio: true},
}

func classNamed(name string) *class {
	i := slices.IndexFunc(classes, func(c *class) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return classes[i]
}

type misbehavior = func(w http.ResponseWriter, r *http.Request, m *clientMessage, n int) bool

func body(of func(*clientMessage) string) misbehavior {
	return func(w http.ResponseWriter, _ *http.Request, m *clientMessage, _ int) bool {
		answer(w, http.StatusOK, of(m))
		return true
	}
}

func status(code int, text string) misbehavior {
	return func(w http.ResponseWriter, _ *http.Request, _ *clientMessage, _ int) bool {
		http.Error(w, text, code)
		return true
	}
}

func once(f misbehavior) misbehavior {
	return func(w http.ResponseWriter, r *http.Request, m *clientMessage, n int) bool {
		return n == 1 && f(w, r, m, n)
	}
}

func limited(w http.ResponseWriter, _ *http.Request, _ *clientMessage, _ int) bool {
	w.Header().Set("Retry-After", "30")
	http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
	return true
}

func webPage(w http.ResponseWriter, _ *http.Request, _ *clientMessage, _ int) bool {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<html><body><h1>Sign in to the guest network</h1></body></html>")
	return true
}

func reset(w http.ResponseWriter, _ *http.Request, _ *clientMessage, _ int) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
	return true
}

func hang(_ http.ResponseWriter, r *http.Request, _ *clientMessage, _ int) bool {
	<-r.Context().Done()
	return true
}
