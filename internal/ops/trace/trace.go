// Package trace sends the outcome of calls to a collector: as OpenTelemetry spans, in OTLP over HTTP.
//
//	a call has ended
//	  |  Exporter.Ended   makes spans: one of the call, and one of each attempt
//	  v
//	queue                 what it has no room for is dropped
//	  |  run              sends a batch, again if the collector asks for that
//	  v
//	collector
//
// It never delays a call. What was dropped, and what the collector has not accepted, is counted.
//
// OpenTelemetry's own exporter would bring in gRPC, a third of the program, for what is a single POST.
package trace

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
)

const (
	// maxQueued is how many calls wait to be sent. maxBatch is how many spans are sent together, at most
	// linger after the first.
	maxQueued = 1024
	maxBatch  = 512
	linger    = 2 * time.Second
)

// An Exporter is an observer of the gateway that exports its spans. It is safe for concurrent use. Create one
// with [New], and end it with [Exporter.Close].
type Exporter struct {
	url    string
	header http.Header
	client *http.Client
	log    *slog.Logger
	source source

	queue chan []*tracepb.Span
	// Nothing is queued after taking has ended, and nothing is sent after life has.
	taking  context.Context
	stop    context.CancelFunc
	life    context.Context
	end     context.CancelFunc
	working sync.WaitGroup

	sent, dropped, refused atomic.Uint64
	failing                bool // the last batch was not delivered
	encoder                encoder
}

// Figures are counts of spans.
type Figures struct {
	Sent    uint64 // accepted by the collector
	Dropped uint64 // there was no room for them
	Refused uint64 // not accepted by the collector
}

var _ observe.Observer = (*Exporter)(nil)

// New returns the exporter for a gateway of that version. A nil transport means net/http's.
func New(cfg *config.Tracing, version string, log *slog.Logger, transport http.RoundTripper) *Exporter {
	if transport == nil {
		transport = newTransport()
	}
	e := &Exporter{
		url: tracesURL(cfg.Endpoint), header: http.Header{}, log: log, source: newSource(version),
		client: &http.Client{
			Transport: transport, Timeout: timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers are only for it
		},
		queue: make(chan []*tracepb.Span, maxQueued),
	}
	for name, value := range cfg.Headers {
		e.header.Set(name, value)
	}
	e.life, e.end = context.WithCancel(context.Background())
	e.taking, e.stop = context.WithCancel(e.life)
	e.working.Go(e.run)
	return e
}

// tracesURL returns the URL at which a collector accepts traces.
func tracesURL(endpoint string) string {
	const path = "/v1/traces"
	endpoint = strings.TrimSuffix(endpoint, "/")
	if strings.HasSuffix(endpoint, path) {
		return endpoint
	}
	return endpoint + path
}

// listen is the method of a stream that lasts for hours: nobody waits for its end.
const listen = "subscriptions/listen"

// Ended implements [observe.Observer].
func (e *Exporter) Ended(o *observe.Outcome) {
	if !o.Span.Own.Sampled || o.Method == listen {
		return
	}
	spans := spansOf(o)
	if e.taking.Err() != nil {
		e.dropped.Add(uint64(len(spans)))
		return
	}
	select {
	case e.queue <- spans:
	default:
		e.dropped.Add(uint64(len(spans)))
	}
}

// Figures returns the counts.
func (e *Exporter) Figures() Figures {
	return Figures{Sent: e.sent.Load(), Dropped: e.dropped.Load(), Refused: e.refused.Load()}
}

// Close sends what is queued, and returns within that time.
func (e *Exporter) Close(within time.Duration) {
	e.stop()
	timer := time.AfterFunc(within, e.end)
	defer timer.Stop()
	e.working.Wait()
	e.end()
	e.client.CloseIdleConnections()
}

// run sends batches until there are no more.
func (e *Exporter) run() {
	for {
		batch, last := e.batch()
		if len(batch) > 0 {
			e.deliver(batch)
		}
		if last && len(e.queue) == 0 {
			return
		}
	}
}

// batch waits for spans, and then for more of them. last says that no others will come.
func (e *Exporter) batch() (batch []*tracepb.Span, last bool) {
	select {
	case batch = <-e.queue:
	case <-e.taking.Done():
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(batch) < maxBatch {
		select {
		case spans := <-e.queue:
			batch = append(batch, spans...)
			continue
		default:
		}
		select {
		case spans := <-e.queue:
			batch = append(batch, spans...)
		case <-timer.C:
			return batch, false
		case <-e.taking.Done():
			return batch, true
		}
	}
	return batch, false
}
