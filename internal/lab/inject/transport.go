package inject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Transport is a RoundTripper in which calls fail: a client that uses it sees the faults itself, and
// [Front] makes a proxy of it. Connections that are refused or reset are errors of package net.
type Transport struct {
	injector *Injector
	traffic  Traffic
	base     http.RoundTripper
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport returns a transport that uses base to reach the server; traffic is [MCP] or [API].
func NewTransport(i *Injector, traffic Traffic, base http.RoundTripper) *Transport {
	return &Transport{i, traffic, base}
}

// maxRequest limits a request that is examined. A larger one passes unchanged.
const maxRequest = 16 << 20

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c, r, err := t.call(r)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return t.base.RoundTrip(r)
	}
	todo := t.injector.take(c)
	if todo.fault == nil && !todo.remembers {
		return t.send(r, c)
	}
	resp, err := t.treat(r, c, &todo)
	if err != nil {
		todo.end()
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body is written to as well
		todo.end()
		return resp, nil
	}
	resp.Body = &lastBody{resp.Body, todo.end}
	return resp, nil
}

// call returns the call in a request, or nil, and the request to send instead.
func (t *Transport) call(r *http.Request) (*intercept, *http.Request, error) {
	if t.traffic == MCP && r.Method != http.MethodPost || r.Body == nil && t.traffic == MCP {
		return nil, r, nil
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxRequest+1)); err != nil {
			_ = r.Body.Close() // the first error says more
			return nil, nil, fmt.Errorf("read the request: %w", err)
		}
		whole := r.Body
		r = r.Clone(r.Context())
		if len(body) > maxRequest {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(body), whole), whole}
			return nil, r, nil
		}
		_ = whole.Close() // it has been read
		r.Body, r.ContentLength = http.NoBody, int64(len(body))
		if len(body) > 0 {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	if t.traffic == API {
		return ofRequest(r, body), r, nil
	}
	c := ofMessage(body)
	if c != nil {
		c.http = true
		if session := r.Header.Get(wire.HeaderSession); c.caller == "" && session != "" {
			c.caller = t.injector.callerOf(session)
		}
	}
	return c, r, nil
}

// send makes the call and records that it has reached the server.
func (t *Transport) send(r *http.Request, c *intercept) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
		t.injector.reached(c, 1)
	}
	if err == nil && c.method == wire.MethodInitialize && resp.Header.Get(wire.HeaderSession) != "" {
		t.injector.introduce(resp.Header.Get(wire.HeaderSession), c.caller)
	}
	return resp, err
}

// treat returns what the client gets.
func (t *Transport) treat(r *http.Request, c *intercept, todo *treatment) (*http.Response, error) {
	if todo.effect == Before && todo.fault != nil {
		if r.Body != nil {
			_ = r.Body.Close() // in memory
		}
		return t.fail(r, c, todo)
	}
	ctx := r.Context()
	r = r.Clone(ctx)
	r.Header.Del("Accept-Encoding") // what is changed has to be read
	resp, err := t.send(r, c)
	if err != nil {
		return nil, err
	}
	if todo.fault != nil {
		switch todo.fault.Name {
		case resetBefore, hang, status, inContract, errorText:
			if err := drain(resp.Body); err != nil {
				return nil, err
			}
			return t.fail(r, c, todo)
		}
	}
	return t.alter(ctx, resp, c, todo)
}

// fail returns what the client gets instead of the server's answer.
func (*Transport) fail(r *http.Request, c *intercept, todo *treatment) (*http.Response, error) {
	switch todo.fault.Name {
	case refuse:
		return nil, errRefused
	case resetBefore:
		return nil, errReset
	case hang:
		<-r.Context().Done()
		return nil, r.Context().Err()
	default:
		return todo.instead(c).response(r), nil
	}
}

// alter changes the server's answer.
func (t *Transport) alter(ctx context.Context, resp *http.Response, c *intercept, todo *treatment) (*http.Response, error) {
	todo.remembers = todo.remembers && resp.StatusCode == http.StatusOK
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols, resp.Body == http.NoBody:
		return resp, nil // there is nothing that could be changed
	case c.path == "" && wire.IsEvents(resp):
		resp.Body = newStreamed(resp, c.id, func(answer []byte) io.Reader {
			var text []byte
			for _, msg := range t.injector.change(todo, c, answer) {
				text = wire.AppendEvent(text, "", "message", msg)
			}
			last, _ := todo.deliver(ctx, bytes.NewReader(text), int64(len(text)))
			return last
		})
		announce(resp, -1)
		return resp, nil
	}
	source, length := io.Reader(resp.Body), resp.ContentLength
	if !todo.passes(length) {
		held, err := io.ReadAll(io.LimitReader(source, maxAnswer+1))
		if err != nil {
			return nil, errors.Join(err, resp.Body.Close())
		}
		switch {
		case len(held) <= maxAnswer:
			held = bytes.Join(t.injector.change(todo, c, held), nil)
			source, length = bytes.NewReader(held), int64(len(held))
		case todo.halves(): // what is held is taken for the half
			source, length = bytes.NewReader(held), -1
		default:
			source = io.MultiReader(bytes.NewReader(held), source)
		}
	}
	body, length := todo.deliver(ctx, source, length)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	announce(resp, length)
	return resp, nil
}

// passes reports whether an answer of that length can pass without being held.
func (t *treatment) passes(length int64) bool {
	if t.remembers || t.fault == nil {
		return false
	}
	return t.fault.Name == drip || t.fault.Name == resetAfter || t.halves() && length > 0
}

// halves reports whether the client gets half of an answer.
func (t *treatment) halves() bool {
	return t.fault != nil && (t.fault.Name == truncate || t.fault.Name == resetWithin)
}

// announce sets the length of an answer; -1 means unknown.
func announce(resp *http.Response, length int64) {
	resp.ContentLength = length
	if length < 0 {
		resp.Header.Del("Content-Length")
		return
	}
	resp.Header.Set("Content-Length", strconv.FormatInt(length, 10))
}

// lastBody is a body after which a call has ended.
type lastBody struct {
	io.ReadCloser

	end func()
}

// Close implements [io.Closer].
func (e *lastBody) Close() error {
	e.end()
	return e.ReadCloser.Close()
}
