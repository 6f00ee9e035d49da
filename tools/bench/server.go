package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// The server's endpoints. The gateway serves a server NAME at /NAME/mcp, so that the path is the same with a proxy, with the gateway, and
// with neither.
const (
	pathJSON   = "/json/mcp"   // answers with one JSON text
	pathEvents = "/events/mcp" // answers with an event stream
	pathLarge  = "/large/mcp"  // answers tools/call with largeSize bytes of text
	pathHung   = "/hung/mcp"   // never answers tools/call
	pathChild  = "/child/mcp"  // of a child process, in the gateway only

	protocolVersion = "2025-11-25"
	headerSession   = "Mcp-Session-Id"
	typeJSON        = "application/json"
	typeEvents      = "text/event-stream"
)

// largeSize is the size of the large result's text, in bytes.
const largeSize = 50 << 20

// largePiece is repeated as the text of the large result.
var largePiece = bytes.Repeat([]byte("0123456789abcdef"), 4<<10)

// buffers reuses the memory of the server's messages.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// answerMessage is an MCP server of the legacy era with a tool, echo, that costs as little as net/http allows: what is measured is in front
// of it. It only understands the messages of this program and of the gateway, whose members it finds by their names.
func answerMessage(w http.ResponseWriter, r *http.Request) {
	request, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(request)
	request.Reset()
	if _, err := request.ReadFrom(r.Body); err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	id, method := member(request.Bytes(), "id"), string(member(request.Bytes(), "method"))
	switch {
	case len(id) == 0:
		w.WriteHeader(http.StatusAccepted)
		return
	case method == `"tools/call"`:
		call(w, r, id, request.Bytes())
		return
	case method == `"initialize"`:
		w.Header().Set(headerSession, rand.Text())
	}
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(appendOther(nil, id, method)) // a client that has gone needs no answer
}

// appendOther appends the answer to a request that is no tools/call.
func appendOther(dst, id []byte, method string) []byte {
	result := "{}"
	switch method {
	case `"initialize"`:
		result = `{"protocolVersion":"` + protocolVersion + `","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
	case `"tools/list"`:
		result = `{"tools":[{"name":"echo","description":"Returns the message.","inputSchema":{"type":"object",` +
			`"properties":{"message":{"type":"string","description":"Returned."}},"required":["message"],"additionalProperties":false}}]}`
	}
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func call(w http.ResponseWriter, r *http.Request, id, request []byte) {
	switch r.URL.Path {
	case pathHung:
		<-r.Context().Done()
	case pathLarge:
		w.Header().Set("Content-Type", typeJSON)
		_, _ = w.Write(appendOpening(nil, id)) // a client that has gone needs no answer
		for n := 0; n < largeSize; n += len(largePiece) {
			_, _ = w.Write(largePiece)
		}
		_, _ = io.WriteString(w, closing)
	default:
		echo(w, r.URL.Path == pathEvents, id, request)
	}
}

// echo answers with the message in the request.
func echo(w http.ResponseWriter, events bool, id, request []byte) {
	answer, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(answer)
	answer.Reset()
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
	_, _ = w.Write(answer.Bytes())
	_ = http.NewResponseController(w).Flush() // as servers do that may send more
}

// A response to echo is opening, the id, content, the text and closing; as an event, all of it is between the last two.
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

// serveChild is the same server on standard input and output, until in ends.
func serveChild(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	var answer []byte
	for lines.Scan() {
		line := lines.Bytes()
		id, method := member(line, "id"), string(member(line, "method"))
		switch {
		case len(id) == 0:
			continue
		case method == `"tools/call"`:
			answer = appendEcho(answer[:0], id, line)
		default:
			answer = appendOther(answer[:0], id, method)
		}
		answer = append(answer, '\n')
		if _, err := out.Write(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
