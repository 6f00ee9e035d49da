package faults

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// handover is how long the server waits between the last byte and a reset. A reset discards what the kernel
// has not delivered yet; on the loopback interface delivery takes microseconds.
const handover = 20 * time.Millisecond

// ResetBeforeAnswer reads the message and resets the connection before any byte of an answer.
func ResetBeforeAnswer() testkit.Fault {
	return testkit.Fault{Name: "reset before the answer", Runs: true, Happen: func(e *testkit.Exchange) { reset(e, "") }}
}

// ResetInBody resets the connection in the middle of the answer's body.
func ResetInBody() testkit.Fault {
	return testkit.Fault{Name: "reset in the body", Runs: true, Happen: func(e *testkit.Exchange) {
		answer := rawAnswer(protocol.Answer(e.ID(), e.PlainResult()))
		const missing = 10
		reset(e, answer[:len(answer)-missing])
	}}
}

// ResetAfterAnswer resets the connection after a complete answer.
func ResetAfterAnswer() testkit.Fault {
	return testkit.Fault{Name: "reset after the answer", Runs: true, Happen: func(e *testkit.Exchange) {
		reset(e, rawAnswer(protocol.Answer(e.ID(), e.PlainResult())))
	}}
}

// CloseAfterHeaders announces an answer and closes the connection before its body.
func CloseAfterHeaders() testkit.Fault {
	return testkit.Fault{Name: "close after the headers", Runs: true, Happen: func(e *testkit.Exchange) {
		headers, _, _ := strings.Cut(rawAnswer(protocol.Answer(e.ID(), e.PlainResult())), "\r\n\r\n")
		cut(e, headers+"\r\n\r\n")
	}}
}

// Hang reads the message and never answers; it ends when the client goes or cancels.
func Hang() testkit.Fault {
	return testkit.Fault{Name: "hang", Runs: true, Happen: func(e *testkit.Exchange) { <-e.Context().Done() }}
}

// Drip answers one byte at a time, with gaps, and never finishes.
func Drip(form testkit.AnswerForm, gap time.Duration) testkit.Fault {
	return testkit.Fault{Name: "slow drip, " + form.String(), Runs: true, Happen: func(e *testkit.Exchange) {
		opening := protocol.Envelope(e.ID(), `"result":{"content":[{"type":"text","text":"`)
		opening = opening[:len(opening)-1] // the envelope's closing brace, which is never sent
		e.Writer().Header().Set("Content-Type", protocol.TypeJSON)
		if form == testkit.SSE {
			e.Writer().Header().Set("Content-Type", protocol.TypeSSE)
			opening = "event: message\ndata: " + opening
		}
		for i := 0; ; i++ {
			next := "a"
			if i < len(opening) {
				next = opening[i : i+1]
			}
			_, _ = io.WriteString(e.Writer(), next) // the context shows when the client has gone
			_ = http.NewResponseController(e.Writer()).Flush()
			if !testkit.Pause(e.Context(), gap) {
				return
			}
		}
	}}
}

// CutEvent closes the connection inside an event.
func CutEvent() testkit.Fault {
	return testkit.Fault{Name: "SSE cut inside an event", Runs: true, Happen: func(e *testkit.Exchange) {
		msg := protocol.Event("", protocol.Answer(e.ID(), e.PlainResult()))
		cut(e, rawStream(msg[:len(msg)/2]))
	}}
}

// EndWithoutAnswer ends an event stream cleanly after a notification, without an answer.
func EndWithoutAnswer() testkit.Fault {
	return testkit.Fault{Name: "SSE ends without an answer", Runs: true, Happen: func(e *testkit.Exchange) {
		e.Events().Send("", `{"jsonrpc":"2.0","method":"notifications/message","params":`+
			`{"level":"info","data":"working"}}`)
	}}
}

// rawAnswer returns a whole HTTP answer.
func rawAnswer(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", protocol.TypeJSON, len(body), body)
}

// rawStream returns the beginning of an event stream: headers and one chunk, but not the last chunk.
func rawStream(data string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n",
		protocol.TypeSSE, len(data), data)
}

// cut writes bytes below net/http and closes the connection cleanly.
func cut(e *testkit.Exchange, raw string) {
	conn, err := e.Hijack()
	if err != nil {
		return
	}
	defer closeConn(conn)
	_, _ = io.WriteString(conn, raw) // the client may have gone, which is fine
}

// reset writes bytes below net/http and resets the connection.
func reset(e *testkit.Exchange, raw string) {
	conn, err := e.Hijack()
	if err != nil {
		return
	}
	defer closeConn(conn)
	if raw != "" {
		_, _ = io.WriteString(conn, raw) // the client may have gone, which is fine
		testkit.Pause(e.Context(), handover)
	}
	_ = conn.SetLinger(0) // fails only on a connection that has already gone
}

// closeConn closes a hijacked connection, which may be gone already.
func closeConn(conn net.Conn) { _ = conn.Close() }
