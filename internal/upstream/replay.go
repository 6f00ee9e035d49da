package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/recoursehq/recourse"
)

// What net/http repeats by itself, and what is done about it:
//
//   - Over HTTP/1.1, a request of which nothing was written to a connection that turned
//     out to be closed. That is safe, and left to it.
//   - Over HTTP/1.1, a POST with one of the headers of [replayHeaders] whose kept
//     connection breaks before the answer: [withoutReplay].
//   - Over HTTP/2, a request that the server has reset or left out by GOAWAY, which is the
//     server's word on whether it was carried out: [overTLS].

// replayHeaders are the headers that make net/http send a request twice, although it cannot know whether the
// server honours them.
var replayHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

// withoutReplay changes the case of those headers so that net/http does not recognise them; for servers this
// makes no difference (RFC 9110, section 5.1).
func withoutReplay(header http.Header) {
	for _, name := range replayHeaders {
		if values, ok := header[name]; ok {
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
}

// Send sends a request to the server of that name, at most once, and returns the answer, or an Error that says whether it may have
// arrived. body may be nil.
func Send(ctx context.Context, name string, by *http.Transport, r *http.Request, body []byte) (*http.Response, error) {
	withoutReplay(r.Header)
	var over overTLS
	r = r.WithContext(over.traced(ctx)) // a copy
	if len(body) > 0 {
		// The transport recognises this reader, and writes the header and the body in one go.
		open := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
		r.ContentLength, r.Body = int64(len(body)), open()
		r.GetBody = func() (io.ReadCloser, error) { return open(), over.mayRepeat() }
	} else if body != nil {
		r.Body = http.NoBody
	}
	resp, err := by.RoundTrip(r)
	if err == nil {
		return resp, nil
	}
	e := Broken(ctx, name, err)
	if !over.connected.Load() { // as when the handshake failed
		e = e.WithEffect(recourse.EffectNone)
	}
	return nil, e
}

// overTLS follows a request, which the transport may send over HTTP/2.
type overTLS struct {
	connected atomic.Bool // there was a connection to send it on
	http2     atomic.Bool // the last of them speaks HTTP/2
	begun     atomic.Bool // and some of the request was written to it
}

func (o *overTLS) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			conn, ok := info.Conn.(*tls.Conn)
			o.http2.Store(ok && conn.ConnectionState().NegotiatedProtocol == "h2")
			o.connected.Store(true)
		},
		WroteHeaders: func() { o.begun.Store(true) },
	})
}

var errSentOnce = errors.New("the server reset the request, and may have carried it out: it is not sent again")

// mayRepeat returns why the transport must not repeat the request, or nil.
func (o *overTLS) mayRepeat() error {
	if o.http2.Load() && o.begun.Load() {
		return errSentOnce
	}
	return nil
}
