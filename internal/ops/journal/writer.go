package journal

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	// gather is how long calls are collected for a batch, and maxBatch how many fill one. A kill loses what is being collected.
	gather   = 20 * time.Millisecond
	maxBatch = 256
	// A batch that cannot be written is retried, with growing waits, until giveUp has passed. One attempt
	// takes at most writeTimeout.
	writeTimeout = 10 * time.Second
	firstWait    = 200 * time.Millisecond
	longestWait  = 10 * time.Second
	giveUp       = time.Minute
)

// A writer writes a journal, in a goroutine of its own.
type writer struct{ *Journal }

// run writes until the journal is closed.
func (w *writer) run() {
	for {
		select {
		case <-w.more:
			w.collect()
			w.flush()
		case <-w.closing:
			w.flush()
			w.tellLast()
			return
		}
	}
}

// collect waits for a batch to fill.
func (w *writer) collect() {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for w.Stats().Waiting < maxBatch {
		select {
		case <-w.more:
		case <-timer.C:
			return
		case <-w.closing:
			return
		}
	}
}

// flush writes everything that waits.
func (w *writer) flush() {
	late := w.takeLate() // before the calls: their own come first
	for more := true; more; {
		var calls []ended
		calls, more = w.take(maxBatch)
		arguments := w.settings.Load().Arguments
		entries := make([]*store.Entry, len(calls))
		for i, e := range calls {
			entries[i] = callOf(e.outcome, arguments).Entry(e.seq)
			calls[i].outcome = nil // including its request
		}
		if len(entries) > 0 {
			w.write(entries)
		}
	}
	for _, l := range late {
		if err := w.retell(l); err != nil {
			w.log.LogAttrs(w.life, slog.LevelWarn, "the journal does not say that an answer came late", slog.String("request_id", l.ID),
				slog.String("cause", redact.Log(err.Error())))
		}
	}
}

// retell adds to a call's row what came after its end. Others may have chosen the same id.
func (w *writer) retell(l *observe.Late) error {
	ctx, cancel := context.WithTimeout(w.life, writeTimeout)
	defer cancel()
	calls, err := read(w.rows.Of(ctx, l.ID))
	for _, c := range slices.Backward(calls) {
		if c.Server == l.Server && c.Once != "" && c.Sent > 0 && c.Late == "" {
			c.Late = l.Answer
			return w.rows.Retell(ctx, c.Entry(c.Seq))
		}
	}
	return err
}

// write writes a batch, or counts it as lost.
func (w *writer) write(entries []*store.Entry) {
	began := time.Now()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		ctx, cancel := context.WithTimeout(w.life, writeTimeout)
		size, err := w.rows.Append(ctx, entries)
		cancel()
		w.setFault(err)
		if err == nil {
			w.written.Add(uint64(len(entries)))
			w.settled(uint64(len(entries)))
			w.size.Add(size)
			w.grew.Add(size)
			w.recovered()
			select {
			case w.wrote <- struct{}{}:
			default:
			}
			return
		}
		if time.Since(began) >= giveUp || !w.wait(wait) {
			w.lost.Add(uint64(len(entries)))
			w.tell(err)
			return
		}
		w.tell(err)
	}
}

// wait reports false if the journal is closed meanwhile: there is no time for another attempt.
func (w *writer) wait(d time.Duration) bool { return !pause.Until(w.closing, d) }
