package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/recoursehq/recourse/internal/pause"
)

const (
	// timeout limits one request to the collector.
	timeout = 10 * time.Second
	// tries is how often a batch is sent while the collector asks for a retry, and maxWait the longest pause
	// that it may ask for.
	tries   = 3
	maxWait = 10 * time.Second
	// maxAnswer is how much of the collector's answer is read.
	maxAnswer = 4 << 10
)

// newTransport returns a transport with one connection to one collector.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: timeout,
		IdleConnTimeout:     time.Minute,
		MaxConnsPerHost:     1, MaxResponseHeaderBytes: maxAnswer,
	}
}

// deliver sends a batch, and counts the result.
func (e *Exporter) deliver(batch []*tracepb.Span) {
	body, err := e.encoder.encode(&e.source, batch)
	if err == nil {
		err = e.send(body)
	}
	if err == nil {
		e.sent.Add(uint64(len(batch)))
		if e.failing {
			e.failing = false
			e.log.LogAttrs(context.Background(), slog.LevelInfo, "the collector takes traces again")
		}
		return
	}
	e.refused.Add(uint64(len(batch)))
	if !e.failing { // later ones are only counted
		e.failing = true
		e.log.LogAttrs(context.Background(), slog.LevelWarn, "the collector does not take traces: they are dropped until it does",
			slog.String("url", e.url), slog.String("cause", err.Error()))
	}
}

// send sends a batch until the collector accepts or rejects it for good.
func (e *Exporter) send(body []byte) error {
	for try := 1; ; try++ {
		wait, again, err := e.post(body)
		if err == nil || !again || try == tries || !pause.For(e.taking, max(wait, time.Duration(try)*time.Second)) {
			return err
		}
	}
}

// An encoder writes batches into memory that it reuses: gzip needs more memory than a batch.
type encoder struct {
	plain []byte
	body  bytes.Buffer
	zip   *gzip.Writer
}

// encode returns a batch in OTLP's encoding, compressed quickly: more effort would take a call longer than everything else about its
// spans. A TracesData looks the same as the message of an export request.
func (c *encoder) encode(from *source, batch []*tracepb.Span) (body []byte, err error) {
	c.plain, err = proto.MarshalOptions{}.MarshalAppend(c.plain[:0], &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   from.resource,
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: from.scope, Spans: batch}},
	}}})
	if err != nil {
		return nil, fmt.Errorf("encode spans: %w", err)
	}
	c.body.Reset()
	if c.zip == nil {
		c.zip, _ = gzip.NewWriterLevel(&c.body, gzip.BestSpeed) // the level is valid
	} else {
		c.zip.Reset(&c.body)
	}
	_, _ = c.zip.Write(c.plain) // writing to a buffer never fails
	_ = c.zip.Close()
	return bytes.Clone(c.body.Bytes()), nil // a transport may go on reading after it has returned
}

// post sends a batch once. again says that the collector may accept it later, wait how much later if it said
// so.
func (e *Exporter) post(body []byte) (wait time.Duration, again bool, err error) {
	r, err := http.NewRequestWithContext(e.life, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, fmt.Errorf("request to the collector: %w", err)
	}
	r.Header = e.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	resp, err := e.client.Do(r)
	if err != nil {
		return 0, true, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // so that the connection can be reused
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true // OTLP 1.9, "Retryable Response Codes"
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		wait = min(time.Duration(min(seconds, int(maxWait/time.Second)))*time.Second, maxWait)
	}
	return wait, again, fmt.Errorf("the collector answers %s", resp.Status)
}
