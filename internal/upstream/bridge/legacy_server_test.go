package bridge_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A legacyEra is a server of the legacy era and the connection to it. It opens sessions, and hands other
// requests to call.
type legacyEra struct {
	tb           testing.TB
	capabilities string
	call         func(c *serverCall)

	mu       sync.Mutex
	modern   bool  // it now speaks the modern era
	broken   error // if set, Do returns it
	sessions map[string]bool
	opened   int
	seen     []string                     // methods of the requests, in order
	waiting  map[string]chan wire.Message // by the id of a question: where its answer goes
	streams  []*io.PipeWriter             // opened with GET
	silent   bool                         // it refuses GET
	away     int                          // the status with which it opens no session; 0: it opens one
}

func newLegacyEra(tb testing.TB, call func(c *serverCall)) *legacyEra {
	tb.Helper()
	return &legacyEra{
		tb: tb, capabilities: `{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`, call: call,
		sessions: map[string]bool{}, waiting: map[string]chan wire.Message{},
	}
}

// A serverCall is a request that a legacyEra answers with an event stream.
type serverCall struct {
	*legacyEra

	ctx context.Context
	m   *wire.Message
	out io.Writer
}

func (c *serverCall) say(text string) { fmt.Fprintf(c.out, "data: %s\n\n", text) }

func (c *serverCall) answer(result string) {
	c.say(string(wire.AppendResult(nil, c.m.ID, []byte(result))))
}

// ask sends the client a request with say, and returns its answer.
func (c *serverCall) ask(method string, say func(string)) wire.Message {
	c.mu.Lock()
	id := fmt.Sprintf(`"q%d"`, len(c.waiting))
	answer := make(chan wire.Message, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	say(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"message":"?"}}`)
	select {
	case m := <-answer:
		return m
	case <-c.ctx.Done():
		return wire.Message{}
	}
}

// broadcast sends a message on all streams that were opened with GET.
func (o *legacyEra) broadcast(text string) {
	o.mu.Lock()
	streams := o.streams
	o.mu.Unlock()
	for _, w := range streams {
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}

// cut ends the streams.
func (o *legacyEra) cut() {
	o.mu.Lock()
	streams := o.streams
	o.streams = nil
	o.mu.Unlock()
	for _, w := range streams {
		_ = w.Close()
	}
}

func (o *legacyEra) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, what)
}

// count returns how many of seen begin with what.
func (o *legacyEra) count(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, s := range o.seen {
		if strings.HasPrefix(s, what) {
			n++
		}
	}
	return n
}

// Do implements [upstream.Connection].
func (o *legacyEra) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	method, header, body := cmp.Or(r.Method, http.MethodPost), r.Header, textOf(r)
	o.mu.Lock()
	modern, broken := o.modern, o.broken
	known := o.sessions[header.Get(wire.HeaderSession)]
	o.mu.Unlock()
	var m wire.Message
	if method == http.MethodPost {
		if err := wire.Parse(body, &m); err != nil {
			o.tb.Errorf("the server got %q: %v", body, err)
		}
		o.note(strings.TrimSpace(m.Method + " " + m.RequestID.String()))
	} else {
		o.note(method)
	}
	switch {
	case broken != nil:
		return nil, upstream.Broken(ctx, o.Name(), broken)
	case modern:
		return o.answerModern(&m, header), nil
	case header.Get(wire.HeaderVersion) == wire.Version20260728:
		return reply(http.StatusBadRequest, wire.TypeJSON, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unsupported"}}`), nil
	case m.Method == wire.MethodInitialize:
		return o.initialize(&m), nil
	case !known:
		return reply(http.StatusNotFound, "text/plain", "session not found"), nil
	case method == http.MethodGet:
		return o.stream(ctx), nil
	case method == http.MethodDelete:
		return reply(http.StatusNoContent, "", ""), nil
	case m.Kind == wire.Response:
		o.mu.Lock()
		answer := o.waiting[m.ID.String()]
		o.mu.Unlock()
		if answer != nil { // the answer to a question of ask
			answer <- m
		}
		fallthrough
	case m.Kind != wire.Request:
		return reply(http.StatusAccepted, "", ""), nil
	}
	out, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(context.Cause(ctx)) })
	c := &serverCall{legacyEra: o, ctx: ctx, m: &m, out: w}
	go func() {
		o.call(c)
		_ = w.Close()
	}()
	return events(out), nil
}

func (o *legacyEra) answerModern(m *wire.Message, header http.Header) *wire.Answer {
	if header.Get(wire.HeaderVersion) != wire.Version20260728 {
		return reply(http.StatusBadRequest, wire.TypeJSON, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"version","data":{"supported":["2026-07-28"]}}}`)
	}
	return reply(http.StatusOK, wire.TypeJSON, string(wire.AppendResult(nil, m.ID, []byte(`{"resultType":"complete","supportedVersions":["2026-07-28"]}`))))
}

func (o *legacyEra) initialize(m *wire.Message) *wire.Answer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away != 0 {
		return reply(o.away, "text/plain", "not now")
	}
	o.opened++
	id := fmt.Sprintf("session-%d", o.opened)
	o.sessions[id] = true
	resp := reply(http.StatusOK, wire.TypeJSON, string(wire.AppendResult(nil, m.ID,
		[]byte(`{"protocolVersion":"2025-11-25","capabilities":`+o.capabilities+`,"serverInfo":{"name":"s","version":"1"}}`))))
	resp.Header[wire.HeaderSession] = []string{id}
	return resp
}

func (o *legacyEra) stream(ctx context.Context) *wire.Answer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.silent {
		return reply(http.StatusMethodNotAllowed, "", "")
	}
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = r.CloseWithError(context.Cause(ctx)) })
	o.streams = append(o.streams, w)
	return events(r)
}

func events(body io.ReadCloser) *wire.Answer {
	resp := wire.RespondText(body)
	resp.Stream = true
	return resp
}

// Name implements [upstream.Connection].
func (o *legacyEra) Name() string { return "The farm" }

// Close implements [upstream.Connection].
func (o *legacyEra) Close() {}

var _ upstream.Connection = (*legacyEra)(nil)

// modernRequest returns a request of the modern era and its headers.
func modernRequest(method, name, params, meta string) (http.Header, []byte) {
	header := http.Header{
		"Content-Type": {wire.TypeJSON}, wire.HeaderVersion: {wire.Version20260728}, wire.HeaderMethod: {method}, wire.HeaderName: {name},
		"Authorization": {"Bearer mine"}, // tells callers apart if Options.Forward has it
	}
	return header, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"mine","method":%q,"params":{"name":%q,%s"_meta":{%s`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}}}`,
		method, name, params, meta)
}

// told is an answer to a modern client.
type told struct {
	ID     json.RawMessage `json:"id"`
	Result struct {
		ResultType   string `json:"resultType"`
		RequestState string `json:"requestState"`
		Is           any    `json:"is"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

func textOf(r *upstream.Request) []byte {
	if r.Message != nil {
		return r.Message.Raw
	}
	return r.Body
}

// bridged is a bridge to a server. It tells callers apart by the headers in apart.
type bridged struct {
	*bridge.Bridge

	apart []string
}

func newBridge(tb testing.TB, to upstream.Connection, options bridge.Options) *bridged {
	tb.Helper()
	b := bridge.New(to, options)
	tb.Cleanup(b.Close)
	return &bridged{b, options.Forward}
}

// Send sends a request of the caller that header identifies.
func (b *bridged) Send(ctx context.Context, method string, header http.Header, body []byte) (*wire.Answer, error) {
	var known []string
	for _, name := range b.apart {
		known = append(known, header[name]...)
	}
	return b.Do(ctx, &upstream.Request{Method: method, Header: header, Body: body, Caller: upstream.CallerOf(known...)})
}

// send sends a request, and returns the answer and the messages before it.
func send(tb testing.TB, b *bridged, header http.Header, body []byte) (answer told, before []string, err error) {
	tb.Helper()
	resp, err := b.Send(tb.Context(), http.MethodPost, header, body)
	if err != nil {
		return answer, nil, err
	}
	defer resp.Close()
	text, err := io.ReadAll(resp)
	if err != nil {
		return answer, nil, err
	}
	messages := [][]byte{text}
	if strings.HasPrefix(resp.ContentType(), wire.TypeEventStream) {
		messages = nil
		events := wire.NewEventReader(bytes.NewReader(text), 0)
		for event, err := events.Next(); err == nil; event, err = events.Next() {
			messages = append(messages, bytes.Clone(event.Data))
		}
	}
	for _, message := range messages {
		if !bytes.Contains(message, []byte(`"id"`)) {
			before = append(before, string(message))
			continue
		}
		if err := json.Unmarshal(message, &answer); err != nil || string(answer.ID) != `"mine"` {
			tb.Errorf("got HTTP %d %q, want an answer", resp.Status, message)
		}
	}
	return answer, before, nil
}
