package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// keptHeaders are the headers that say something about a message.
var keptHeaders = []string{
	"Allow", "Content-Type", "Retry-After", "Ratelimit", "Ratelimit-Policy", "Www-Authenticate",
	"Mcp-Method", "Mcp-Name", wire.HeaderLastEventID, wire.HeaderSession, wire.HeaderVersion,
}

// A Transport is a RoundTripper that records what passes.
type Transport struct {
	r    *Recorder
	base http.RoundTripper
	n    atomic.Int64
}

// NewTransport returns a transport that uses base to reach the server.
func NewTransport(r *Recorder, base http.RoundTripper) *Transport {
	return &Transport{r: r, base: base}
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &roundTrip{r: t.r, in: fmt.Sprintf("%s-%d", t.r.in, t.n.Add(1)), ctx: req.Context()}
	req = req.Clone(req.Context())
	req.Header.Del("Accept-Encoding") // what is recorded has to be read
	t.r.mask.addHeader(req.Header)
	if err := x.request(req); err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		x.end(err)
		return nil, err
	}
	x.head = &fileEntry{In: x.in, From: server, Status: resp.StatusCode, Headers: kept(resp.Header)}
	if wire.IsEvents(resp) {
		x.r.write(x.head)
		x.events = &Lines{say: x.event}
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // its body is written to as well
		x.body, resp.Body = resp.Body, x
	}
	return resp, nil
}

// kept returns the headers that are recorded.
func kept(header http.Header) map[string]string {
	all := map[string]string{}
	for _, name := range keptHeaders {
		if value := header.Get(name); value != "" {
			all[name] = value
		}
	}
	if all[wire.HeaderSession] != "" { // whoever knows it can speak in the session
		all[wire.HeaderSession] = "[session]"
	}
	return all
}

// roundTrip is a request, and the body of its answer.
type roundTrip struct {
	r      *Recorder
	in     string
	ctx    context.Context // the request's
	head   *fileEntry      // of the answer
	events *Lines          // nil: the answer is one text
	data   []byte          // of the event that is being read
	whole  []byte          // the answer that is being read
	size   int
	body   io.ReadCloser
	over   bool
}

// request records the request.
func (x *roundTrip) request(req *http.Request) error {
	e := &fileEntry{In: x.in, From: client, HTTP: req.Method, Headers: kept(req.Header)}
	if req.Body == nil || req.Body == http.NoBody {
		x.r.write(e)
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(req.Body, maxMessage+1))
	if err != nil {
		_ = req.Body.Close() // the first error says more
		return fmt.Errorf("read the request: %w", err)
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), req.Body), req.Body}
	e.say(text, len(text))
	x.r.write(e)
	return nil
}

// Read reads the answer, and records it.
func (x *roundTrip) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if x.events != nil {
		_, _ = x.events.Write(p[:n]) // it never fails
	} else {
		x.size += n
		x.whole = append(x.whole, p[:min(n, max(0, maxMessage-len(x.whole)))]...)
	}
	if err != nil {
		x.end(err)
	}
	return n, err
}

// event takes a line of an event stream. Only the data of an event is a message.
func (x *roundTrip) event(line []byte, size int) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		x.size += size
		x.data = append(x.data, data[:min(len(data), max(0, maxMessage-len(x.data)))]...)
		x.data = append(x.data, '\n')
	}
	if len(line) == 0 && len(bytes.TrimSpace(x.data)) > 0 {
		e := &fileEntry{In: x.in, From: server}
		e.say(x.data, x.size)
		x.r.write(e)
	}
	if len(line) == 0 {
		x.data, x.size = nil, 0
	}
}

// Close implements [io.Closer].
func (x *roundTrip) Close() error {
	x.end(context.Canceled)
	return x.body.Close()
}

// end records the rest of an answer, and how it ended if it was not by itself.
func (x *roundTrip) end(err error) {
	if x.over {
		return
	}
	x.over = true
	if x.head != nil && x.events == nil {
		if x.size > 0 {
			x.head.say(x.whole, x.size)
		}
		x.r.write(x.head)
	}
	switch {
	case errors.Is(err, io.EOF):
	case x.ctx.Err() != nil, errors.Is(err, context.Canceled):
		x.r.write(&fileEntry{In: x.in, From: client, End: "hung up"})
	default:
		x.r.write(&fileEntry{In: x.in, From: server, End: err.Error()})
	}
}
