package testkit

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// An Exchange is one message and its answer. A [Fault] answers by one of Answer, Refuse, RefuseSession, Send, SendAs
// and Reply, or writes to Events, to Writer or to the connection that Hijack returns.
type Exchange struct {
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	era     Era
	session *legacyClient // of the legacy era; nil before initialize and in the modern

	msg    protocol.Incoming
	id     json.RawMessage // the message's id, as spelled by the client; nil for a notification
	params json.RawMessage
	call   protocol.CallParams // of tools/call
	tool   *Tool               // the called tool; nil if there is none
}

func (s *Server) newExchange(w http.ResponseWriter, r *http.Request, msg protocol.Incoming) *Exchange {
	e := &Exchange{server: s, w: w, r: r, msg: msg, id: msg.ID, params: msg.Params}
	if r.Header.Get(protocol.HeaderVersion) >= protocol.Version20260728 {
		e.era = Modern
	}
	if msg.Method == protocol.MethodCallTool {
		_ = json.Unmarshal(msg.Params, &e.call) // missing members stay empty
		s.read(func() { e.tool = s.tools.Find(e.call.Name) })
	}
	return e
}

// ended reports whether the server itself has closed the connection.
func (e *Exchange) ended() bool {
	c, ok := e.r.Context().Value(connKey{}).(*connInfo)
	return ok && c.stopped()
}

// Context returns a context that ends when the client goes, cancels, or the server stops.
func (e *Exchange) Context() context.Context { return e.r.Context() }

// Server returns the server that has received the message.
func (e *Exchange) Server() *Server { return e.server }

// ID returns the message's id as the client wrote it; nil for a notification.
func (e *Exchange) ID() json.RawMessage { return e.id }

// Writer returns where HTTP writes the answer.
func (e *Exchange) Writer() http.ResponseWriter { return e.w }

// Events returns an event stream as the answer.
func (e *Exchange) Events() *Events { return &Events{w: e.w} }

// execute runs the tool's side effect, and counts it.
func (e *Exchange) execute() {
	if e.tool == nil {
		return
	}
	e.server.update(func() {
		e.server.ledger.executions[e.call.Name]++
		if e.tool.effect != nil {
			e.tool.effect(e.server, e.call.Arguments)
		}
	})
}

// behave answers as the protocol requires.
func (e *Exchange) behave() {
	switch e.msg.Method {
	case protocol.MethodInitialize:
		e.initialize()
	case protocol.MethodDiscover:
		e.discover()
	case protocol.MethodListTools:
		e.Answer(e.Result(protocol.Object("tools", e.server.currentTools().Definitions(), "ttlMs", 0, "cacheScope", "private")))
	case protocol.MethodCallTool:
		e.callTool()
	case protocol.MethodListen:
		if e.era == Modern {
			e.server.serveListen(e)
			return
		}
		e.unknown()
	case protocol.MethodPing:
		if e.era == Legacy {
			e.Answer("{}")
			return
		}
		e.unknown()
	case protocol.NotifyCancelled:
		e.cancelled()
		e.w.WriteHeader(http.StatusAccepted)
	default:
		e.rest()
	}
}

// rest answers other methods: those that begin with "x/" are echoed, notifications are accepted.
func (e *Exchange) rest() {
	switch {
	case e.id == nil:
		e.w.WriteHeader(http.StatusAccepted)
	case strings.HasPrefix(e.msg.Method, "x/"):
		e.Answer(e.Result(Invented(e.params)))
	default:
		e.unknown()
	}
}

// Invented returns the result with which the server answers a method that begins with "x/": the request's
// params, byte for byte, between members that no specification names and spellings that decoding and encoding
// would change.
func Invented(params []byte) string {
	if params == nil {
		params = []byte("null")
	}
	return `{"echoed":` + string(params) +
		`,"x-invented":{"b":1.0,"a":1e2,"big":12345678901234567890,"text":"\u00e9\/\u2028","list":[ 1 , 2 ]}}`
}

func (e *Exchange) unknown() {
	status := http.StatusOK
	if e.era == Modern {
		status = http.StatusNotFound
	}
	e.Refuse(status, protocol.CodeMethodNotFound, "Method not found: "+e.msg.Method, "")
}

func (e *Exchange) initialize() {
	var params struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if e.era == Modern {
		e.unknown()
		return
	}
	_ = json.Unmarshal(e.params, &params) // an unreadable version counts as unknown
	switch params.ProtocolVersion {
	case protocol.Version20250326, protocol.Version20250618, protocol.Version20251125:
	default:
		params.ProtocolVersion = protocol.Version20251125
	}
	if id := e.server.newSession(); id != sharedSession {
		e.w.Header().Set(protocol.HeaderSession, id)
	}
	e.Answer(protocol.Object(
		"protocolVersion", params.ProtocolVersion,
		"capabilities", json.RawMessage(protocol.Capabilities),
		"serverInfo", json.RawMessage(protocol.ServerInfo),
		"instructions", instructions,
	))
}

const instructions = "A server that fails on request."

func (e *Exchange) discover() {
	if e.era == Legacy {
		e.unknown()
		return
	}
	e.Answer(e.Result(protocol.Object(
		"supportedVersions", []string{protocol.Version20260728},
		"capabilities", json.RawMessage(protocol.Capabilities),
		"instructions", instructions,
		"ttlMs", 0, "cacheScope", "private",
	)))
}

// Result adds the members that the modern era requires to a result, which is a JSON object, and keeps its own
// `_meta`.
func (e *Exchange) Result(result string) string {
	if e.era == Legacy {
		return result
	}
	return protocol.Completed(result)
}

// Answer sends a result.
func (e *Exchange) Answer(result string) { e.Send(protocol.Answer(e.id, result)) }

// Refuse sends a JSON-RPC error as JSON; data is JSON, or empty.
func (e *Exchange) Refuse(status, code int, text, data string) {
	e.Reply(status, protocol.TypeJSON, protocol.Refusal(e.id, code, text, data))
}

// RefuseSession answers as if the message named a session that is not known.
func (e *Exchange) RefuseSession() { refuseSession(e.w, http.StatusNotFound) }

// Send sends a complete message in the server's form.
func (e *Exchange) Send(msg string) { e.SendAs(e.server.form, msg) }

// SendAs sends a complete message in a form.
func (e *Exchange) SendAs(form AnswerForm, msg string) {
	if form == SSE {
		e.Events().Send("", msg)
		return
	}
	e.Reply(http.StatusOK, protocol.TypeJSON, msg)
}

// Reply sends an HTTP answer with Content-Length.
func (e *Exchange) Reply(status int, contentType, body string) {
	if contentType != "" {
		e.w.Header().Set("Content-Type", contentType)
	}
	e.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	e.w.WriteHeader(status)
	_, _ = io.WriteString(e.w, body) // the client may have gone, which is fine
}

// Events writes an event stream.
type Events struct {
	w     http.ResponseWriter
	begun bool
}

// begin sends the headers.
func (ev *Events) begin() {
	if ev.begun {
		return
	}
	ev.begun = true
	ev.w.Header().Set("Content-Type", protocol.TypeSSE)
	ev.w.Header().Set("Cache-Control", "no-cache, no-transform")
	ev.w.WriteHeader(http.StatusOK)
	ev.flush()
}

// Send sends one message as an event, with an id unless it is empty.
func (ev *Events) Send(id, msg string) {
	ev.begin()
	_, _ = io.WriteString(ev.w, protocol.Event(id, msg)) // the client may have gone, which is fine
	ev.flush()
}

func (ev *Events) flush() {
	_ = http.NewResponseController(ev.w).Flush() // fails only if the client has gone
}
