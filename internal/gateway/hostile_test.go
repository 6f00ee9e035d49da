package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A hostileAnswer is an answer as raw bytes, with ID for the request's id.
type hostileAnswer struct {
	name  string
	write func(w io.Writer) error // until the gateway hangs up
	kinds []recourse.Kind         // accepted failures; nil: a success
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// again writes head, and then s over and over. It pauses, to leave the processor to other tests.
func again(head, s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, head)
		for block := strings.Repeat(s, 1+1<<10/len(s)); err == nil; time.Sleep(2 * time.Millisecond) {
			_, err = io.WriteString(w, block)
		}
		return err
	}
}

func answer(header, body string) func(io.Writer) error {
	return text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + header + "\r\n\r\n" + body)
}

func whole(body string) func(io.Writer) error {
	return func(w io.Writer) error {
		// The end of the connection ends the body, since its length is unknown before the id is filled in.
		return answer("Connection: close", body)(w)
	}
}

const eventHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

// hostileAnswers returns all hostile answers. events is the number of events in "many events".
func hostileAnswers(events int) []hostileAnswer {
	const (
		unreachable = recourse.KindUnreachable
		bad         = recourse.KindBadResponse
		timeout     = recourse.KindTimeout
		good        = `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
	)
	kinds := func(k ...recourse.Kind) []recourse.Kind { return k }
	return []hostileAnswer{
		{"SSH", text("SSH-2.0-OpenSSH_9.6\r\n"), kinds(unreachable)},
		{"nothing", text(""), kinds(unreachable)},
		{"zeros", text(strings.Repeat("\x00", 5000)), kinds(unreachable)},
		{"status that is a word", text("HTTP/1.1 abc OK\r\n\r\n"), kinds(unreachable)},
		{"status 999", text("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), kinds(recourse.KindServerError, recourse.KindClientError, bad, recourse.KindUnknown)},
		{"status 204", text("HTTP/1.1 204 No Content\r\n\r\n"), kinds(bad)},
		{"status 202", text("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), kinds(bad)},
		{"status 206", text("HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\n\r\n"), kinds(bad)},
		{"status 101", text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), kinds(unreachable, bad)},
		{"endless header", again("HTTP/1.1 200 OK\r\nX-Long: ", "a"), kinds(unreachable, bad)},
		{"endless headers", again("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), kinds(unreachable, bad)},
		{"endless early hints", again("", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), kinds(unreachable, timeout)},
		{"early hints and an answer", func(w io.Writer) error {
			_ = text("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")(w)
			return whole(good)(w)
		}, nil},
		{"two lengths", answer("Content-Length: 5\r\nContent-Length: 6", "aaaaaa"), kinds(unreachable)},
		{"length too long", answer("Content-Length: 5000", good), kinds(unreachable)},
		{"length too short", answer("Content-Length: 20", good), kinds(bad)},
		{"broken chunk", answer("Transfer-Encoding: chunked", "zz\r\n"), kinds(unreachable)},
		{"trailers", answer("Transfer-Encoding: chunked\r\nTrailer: X-T", fmt.Sprintf("%x\r\n%s\r\n0\r\nX-T: 1\r\n\r\n", len(good)-1, good)), nil},
		{"gzip", answer("Content-Encoding: gzip\r\nConnection: close", zipped(good)), kinds(bad)},
		{"gzip bomb", answer("Content-Encoding: gzip\r\nConnection: close", zipped(strings.Repeat("a", 1<<20))), kinds(bad)},
		{"no type", text("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + good), nil},

		{"not UTF-8", whole("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"\xff\"}}"), kinds(bad)},
		{"a million levels", whole(strings.Repeat("[", 1e6)), kinds(bad)},
		{"a million levels inside", whole(`{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat(`{"a":`, 1e6)), kinds(bad)},
		{"batch", whole("[" + good + "]"), kinds(bad)},
		{"text", whole(`"ok"`), kinds(bad)},
		{"no jsonrpc", whole(`{"id":ID,"result":{"content":[]}}`), kinds(bad)},
		{"jsonrpc 1.0", whole(`{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}`), kinds(bad)},
		{"no id", whole(`{"jsonrpc":"2.0","result":{"content":[]}}`), kinds(bad)},
		{"id null", whole(`{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`), kinds(bad)},
		{"id object", whole(`{"jsonrpc":"2.0","id":{},"result":{"content":[]}}`), kinds(bad)},
		{"two ids", whole(`{"jsonrpc":"2.0","id":ID,"id":ID,"result":{"content":[]}}`), kinds(bad)},
		{"two results", whole(`{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}`), kinds(bad)},
		{"result and error", whole(`{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`), kinds(bad)},
		{"request", whole(`{"jsonrpc":"2.0","id":ID,"method":"sampling/createMessage"}`), kinds(bad)},
		{"error that is text", whole(`{"jsonrpc":"2.0","id":ID,"error":"down"}`), kinds(bad, recourse.KindUnknown)},
		{"error without a code", whole(`{"jsonrpc":"2.0","id":ID,"error":{}}`), kinds(bad, recourse.KindUnknown)},
		{"error with odd members", whole(`{"jsonrpc":"2.0","id":ID,"error":{"code":"x","message":7,"data":[1]}}`), kinds(bad, recourse.KindUnknown)},
		{"isError with odd members", whole(`{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":"x","structuredContent":[1],"_meta":7}}`), kinds(recourse.KindUnknown)},
		{"isError without content", whole(`{"jsonrpc":"2.0","id":ID,"result":{"isError":true}}`), kinds(recourse.KindUnknown)},
		{"record of nonsense", whole(`{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[],"_meta":{"io.github.recoursehq/error":[1]}}}`), kinds(recourse.KindUnknown)},
		{
			"error of a lost session", whole(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"x","data":{"v":1,"kind":"unknown_session"}}}`),
			kinds(recourse.KindClientError), // the session exists: the client must not open another
		},
		{"long error", whole(`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"` + strings.Repeat("a", 200<<10) + `"}}`), kinds(recourse.KindUnknown)},

		{"endless events", again(eventHead, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"), kinds(timeout)},
		{"endless comments", again(eventHead, ": x\n\n"), kinds(timeout)},
		{"endless comment", again(eventHead+":", "x"), nil},
		{"endless field", again(eventHead, "x"), nil},
		{"endless data", again(eventHead+"data: {\"jsonrpc\":\"2.0\",\"method\":\"", "x"), nil},
		{"endless empty events", again(eventHead, "data:\n\n"), kinds(timeout)},
		{"many events", text(eventHead + strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", events)), kinds(bad)},
		{"answers to others", text(eventHead + strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n\n", events/2)), kinds(bad)},
		{"event that is plain text", text(eventHead + "data: hello\n\n"), kinds(bad)},
		{"event without an end", text(eventHead + "data: " + good), kinds(bad)},
		{"event of another type", text(eventHead + "event: error\ndata: " + good + "\n\n"), kinds(bad)},
		{"event in many lines", text(eventHead + "data: " + strings.ReplaceAll(good, ",", ",\ndata: ") + "\r\n\r\n"), nil},
	}
}

// serveRaw serves a server without a list of tools. It answers tools/call with the bytes of write.
func serveRaw(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	listener, err := testkit.ListenInMemory()
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				answerRaw(conn, write)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		conns.Wait()
	})
	return "http://" + listener.Addr().String() + "/mcp"
}

// answerRaw answers the only request of a connection.
func answerRaw(conn net.Conn, write func(io.Writer) error) {
	const patience = 10 * time.Second
	_ = conn.SetDeadline(time.Now().Add(patience))
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(r.Body).Decode(&msg) != nil {
		return
	}
	if msg.Method != "tools/call" {
		write = whole(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`)
	}
	_ = write(&withID{conn, string(msg.ID)}) // the gateway may hang up
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // so that no bytes are lost
	}
	_, _ = io.Copy(io.Discard, conn)
}

type withID struct {
	w  io.Writer
	id string
}

func (w *withID) Write(p []byte) (int, error) {
	_, err := w.w.Write(bytes.ReplaceAll(p, []byte("ID"), []byte(w.id)))
	return len(p), err
}

// unfinished are the answers with an endless event. When too much of it has reached the client, the answer can only be
// broken off.
var unfinished = []string{"endless comment", "endless field", "endless data"}

// The client gets an answer in time, whatever bytes the server sends.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	testHostileServers(t, 1000)
}

func TestLongHostileServers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testHostileServers(t, 20_000)
}

func testHostileServers(t *testing.T, events int) {
	t.Helper()
	for _, c := range hostileAnswers(events) {
		testkit.Virtual(t, c.name, func(t *testing.T) {
			entry := []string{"tools: {any: {read_only: false}}"}
			if c.name != "many events" { // reading them takes longer
				entry = append(entry, gatewaytest.UntilDeadline)
			}
			f := gatewaytest.Start(t, serveRaw(t, c.write), entry...)
			client := f.Client(t, testkit.Modern)
			client.Keep = 64 << 20
			a, err := client.Call(t.Context(), "any", `{}`)
			if slices.Contains(unfinished, c.name) {
				if a == nil || a.Took > gatewaytest.Deadline || err == nil && gatewaytest.Record(t, a).Kind != recourse.KindTimeout {
					t.Errorf("got %+v, %v", a, err)
				}
				return
			}
			if err != nil || a.Message == nil || string(a.Message.ID) != "1" || a.Status != http.StatusOK {
				t.Fatalf("got HTTP %d %.500s, %v", a.Status, a.Body, err)
			}
			if a.Took > gatewaytest.Deadline && c.name != "many events" {
				t.Errorf("got the answer after %v", a.Took)
			}
			if !json.Valid(a.Message.Raw) && len(a.Events) == 0 {
				t.Errorf("got %.500s, want JSON", a.Body)
			}
			if c.kinds == nil {
				if !a.Succeeded() {
					t.Errorf("got %s", a.Body)
				}
				return
			}
			if n := len(a.Events); n > 0 {
				a.Message = a.Events[n-1].Message()
			}
			if e := gatewaytest.Record(t, a); !slices.Contains(c.kinds, e.Kind) {
				t.Errorf("got %s, want one of %v: %.500s", e.Kind, c.kinds, a.Body)
			}
		})
	}
}

// A failure that is cut off is the caller's only if it answers the caller's request.
func TestCutFailureOfAnotherRequest(t *testing.T) {
	t.Parallel()
	failed := `,"result":{"isError":true,"content":[{"type":"text","text":"` + strings.Repeat("because ", 8<<10) + `"}]}}`
	for id, want := range map[string]recourse.Kind{`ID`: recourse.KindUnknown, `"another"`: recourse.KindBadResponse} {
		url := serveRaw(t, whole(`{"jsonrpc":"2.0","id":`+id+failed))
		f := startConfig(t, "max_failure: 32KiB\ndecide_within: 16KiB\nservers: {farm: {url: '"+url+"'}}\n")
		a, err := f.Client(t, testkit.Modern).Call(t.Context(), "any", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); e.Kind != want {
			t.Errorf("id %s: got %s, want %s", id, e.Kind, want)
		}
	}
}

// A large event from which a record is removed keeps its id.
func TestLargeEventKeepsItsID(t *testing.T) {
	t.Parallel()
	url := serveRaw(t, text(eventHead+`id: e-7`+"\n"+
		`data: {"jsonrpc":"2.0","id":ID,"result":{"_meta":{"io.github.recoursehq/error":{"kind":"not_found"}},"content":[{"type":"text","text":"`+
		strings.Repeat("a line. ", 8<<10)+`"}]}}`+"\n\n"))
	f := startConfig(t, "decide_within: 4KiB\nservers: {farm: {url: '"+url+"'}}\n")
	a, err := f.Client(t, testkit.Modern).Call(t.Context(), "any", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Events) != 1 || a.Events[0].ID != "e-7" || strings.Contains(a.Events[0].Data, "not_found") {
		t.Errorf("got %d events, %.300s", len(a.Events), a.Body)
	}
}

// A stream that breaks after its answer breaks for clients of an endpoint that only observes, too.
func TestObservedStreamBreaksAfterItsAnswer(t *testing.T) {
	t.Parallel()
	url := serveRaw(t, text("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 4096\r\nConnection: close\r\n\r\n"+
		`data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n\n"))
	f := gatewaytest.Start(t, url, "mode: observe")
	a, err := f.Client(t, testkit.Modern).Call(t.Context(), "any", `{}`)
	if err == nil || a == nil || !a.Succeeded() {
		t.Errorf("got %v, %+v, want the answer and an error", err, a)
	}
}
