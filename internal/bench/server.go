package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// The server's endpoints. The gateway serves a server NAME at /NAME/mcp, so that the path is the same with a proxy,
// with the gateway, and with neither.
const (
	pathJSON        = "/json/mcp"         // answers with one JSON text
	pathEvents      = "/events/mcp"       // answers with an event stream
	pathLarge       = "/large/mcp"        // answers tools/call with largeSize bytes of text, as JSON
	pathLargeEvents = "/large-events/mcp" // and as an event
	pathUnavailable = "/unavailable/mcp"  // answers tools/call with 503
	pathHung        = "/hung/mcp"         // never answers tools/call
	pathStopped     = "/stopped/mcp"      // as pathJSON, of a server that is stopped

	pathGuarded = "/guarded/mcp" // of the server that never answers, with a limit on concurrent calls, in the gateway only
	pathBroken  = "/broken/mcp"  // of the server that answers 503, with a breaker

	pathChild   = "/child/mcp"   // of a child process, in the gateway only
	pathWaiting = "/waiting/mcp" // of a child that takes childDelay for each call

	serverStopped = "stopped"
)

const (
	protocolVersion = "2025-11-25"
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	typeJSON        = "application/json"
	typeEvents      = "text/event-stream"
)

// largeSize is the size of the large result's text, in bytes.
const largeSize = 50 << 20

// largePiece is repeated as the text of the large result.
var largePiece = bytes.Repeat([]byte("0123456789abcdef"), 4<<10)

// An mcpServer is an MCP server of the legacy era with a tool, echo, that costs as little as net/http allows: what is
// measured is in front of it. It only understands the messages of this program and of the gateway, whose members it
// finds by their names.
type mcpServer struct {
	sessions sync.Map     // the ids that it has issued
	calls    atomic.Int64 // requests of callers; tools/list comes from the gateway and is not counted
}

var _ http.Handler = (*mcpServer)(nil)

// buffers reuses the memory of the server's messages.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ServeHTTP answers one message of a client.
func (s *mcpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	request, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(request)
	request.Reset()
	if _, err := request.ReadFrom(r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id, method := member(request.Bytes(), "id"), member(request.Bytes(), "method")
	if string(method) == `"initialize"` {
		s.calls.Add(1)
		s.initialize(w, id)
		return
	}
	if _, ok := s.sessions.Load(r.Header.Get(headerSession)); !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch string(method) {
	case `"tools/list"`:
		_, _ = w.Write(appendTools(nil, id)) // a client that has gone needs no answer
	case `"tools/call"`:
		s.calls.Add(1)
		if r.URL.Path == pathHung {
			<-r.Context().Done()
			return
		}
		s.call(w, r.URL.Path, id, request.Bytes())
	default: // a notification
		w.WriteHeader(http.StatusAccepted)
	}
}

// echoTool is the tool in tools/list.
const echoTool = `{"name":"echo","description":"Returns the message.","inputSchema":{"type":"object",` +
	`"properties":{"message":{"type":"string","description":"What to return."}},` +
	`"required":["message"],"additionalProperties":false}}`

func (s *mcpServer) initialize(w http.ResponseWriter, id []byte) {
	session := rand.Text()
	s.sessions.Store(session, nil)
	w.Header().Set(headerSession, session)
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(appendInitialized(nil, id)) // a client that has gone needs no answer
}

// appendInitialized appends the answer to initialize.
func appendInitialized(dst, id []byte) []byte {
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},`+
		`"serverInfo":{"name":"bench","version":"1"}}}`, id, protocolVersion)
}

// appendTools appends the answer to tools/list.
func appendTools(dst, id []byte) []byte {
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, id, echoTool)
}

// appendEmpty appends an empty answer, as to ping.
func appendEmpty(dst, id []byte) []byte {
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
}

func (s *mcpServer) call(w http.ResponseWriter, path string, id, request []byte) {
	switch path {
	case pathUnavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
	case pathLarge:
		w.Header().Set("Content-Type", typeJSON)
		writeLarge(w, id)
	case pathLargeEvents:
		w.Header().Set("Content-Type", typeEvents)
		_, _ = io.WriteString(w, eventOpening) // a client that has gone needs no answer
		writeLarge(w, id)
		_, _ = io.WriteString(w, eventClosing)
	default:
		answer, _ := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(answer)
		answer.Reset()
		s.echo(w, path == pathEvents, answer, id, request)
	}
}

func writeLarge(w io.Writer, id []byte) {
	_, _ = w.Write(appendOpening(nil, id)) // a client that has gone needs no answer
	for n := 0; n < largeSize; n += len(largePiece) {
		_, _ = w.Write(largePiece)
	}
	_, _ = io.WriteString(w, closing)
}

// echo answers with the message in the request.
func (s *mcpServer) echo(w http.ResponseWriter, events bool, answer *bytes.Buffer, id, request []byte) {
	if events {
		answer.WriteString(eventOpening)
	}
	answer.Write(appendEcho(answer.AvailableBuffer(), id, request))
	if !events {
		w.Header().Set("Content-Type", typeJSON)
		w.Header().Set("Content-Length", strconv.Itoa(answer.Len()))
		_, _ = w.Write(answer.Bytes()) // a client that has gone needs no answer
		return
	}
	answer.WriteString(eventClosing)
	w.Header().Set("Content-Type", typeEvents)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(answer.Bytes())
	_ = http.NewResponseController(w).Flush() // as servers do that may send more
}

// An answer to echo is opening, the id, content, the text and closing; as an event, all of it is between the last two.
const (
	opening      = `{"jsonrpc":"2.0","id":`
	content      = `,"result":{"content":[{"type":"text","text":"`
	closing      = `"}],"isError":false}}`
	eventOpening = "event: message\ndata: "
	eventClosing = "\n\n"
)

// appendEcho appends the answer to a call of echo, with the message as it is written in the request.
func appendEcho(dst, id, request []byte) []byte {
	text := member(request, "message")
	return append(append(appendOpening(dst, id), text[1:len(text)-1]...), closing...)
}

func appendOpening(dst, id []byte) []byte {
	return append(append(append(dst, opening...), id...), content...)
}

// member returns the value of the first member of that name that is a string or a number, as it is written.
func member(message []byte, name string) []byte {
	_, value, _ := bytes.Cut(message, []byte(`"`+name+`":`))
	if len(value) == 0 || value[0] != '"' {
		return value[:max(bytes.IndexAny(value, ",}"), 0)]
	}
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return value[:i+1]
		}
	}
	return nil
}
