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
	// gather is how long calls are collected for a batch, and maxBatch how many fill one.
	gather   = 100 * time.Millisecond
	maxBatch = 256
	// A batch that cannot be written is retried, with growing waits, until giveUp has passed. One attempt
	// takes at most writeTimeout.
	writeTimeout = 10 * time.Second
	firstWait    = 200 * time.Millisecond
	longestWait  = 10 * time.Second
	giveUp       = time.Minute
	// quiet is the shortest time between two log entries about problems.
	quiet = time.Minute
	// upkeepEvery is how often old calls are removed, in up to maxPrunes small steps; the rest is removed
	// after soon.
	upkeepEvery = time.Minute
	soon        = time.Second
	maxPrunes   = 10
	// measureEvery is how often the size is read again: other replicas write, too.
	measureEvery = 10 * time.Minute
)

// A writer writes a journal, in a goroutine of its own.
type writer struct {
	*Journal

	size     int64     // approximate size of all calls
	measured time.Time // when the size was read

	broken   bool      // the log has reported that the store fails
	told     time.Time // when a problem was last logged
	reported uint64    // lost calls that have been logged
}

// run writes until the journal is closed.
func (w *writer) run() {
	upkeep := time.NewTimer(0)
	defer upkeep.Stop()
	for {
		select {
		case <-w.more:
			w.collect()
			w.flush()
		case <-upkeep.C:
			upkeep.Reset(w.upkeep())
		case <-w.closing:
			w.flush()
			if w.lost.Load() > w.reported {
				w.told = time.Time{} // there will be no later
				w.tell(w.Fault())
			}
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
			w.size += size
			w.recovered()
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

// tell informs the operator of problems now and then. Without an error it only reports losses.
func (w *writer) tell(err error) {
	lost := w.lost.Load()
	if err == nil && lost == w.reported || !w.told.IsZero() && time.Since(w.told) < quiet {
		return
	}
	attrs := []slog.Attr{slog.Uint64("lost", lost-w.reported)}
	message := "calls are missing from the journal: they came faster than it could be written"
	if err != nil {
		w.broken = true
		message = "cannot write the journal: calls go on, and are missing from it once too many wait"
		attrs = append(attrs, slog.String("cause", redact.Log(err.Error())))
	}
	w.log.LogAttrs(w.life, slog.LevelWarn, message, attrs...)
	w.told, w.reported = time.Now(), lost
}

// recovered logs that the journal can be written again.
func (w *writer) recovered() {
	if !w.broken {
		return
	}
	lost := w.lost.Load()
	w.log.LogAttrs(w.life, slog.LevelInfo, "the journal is written again", slog.Uint64("lost", lost-w.reported))
	w.broken, w.reported = false, lost
}

// upkeep removes what is too old or too much, and returns when to run again.
func (w *writer) upkeep() time.Duration {
	w.tell(nil)
	settings := w.settings.Load()
	for range maxPrunes {
		more, err := w.prune(time.Now().Add(-settings.Keep), int64(settings.MaxSize))
		if err != nil {
			w.tell(err)
			return upkeepEvery
		}
		if !more {
			return upkeepEvery
		}
	}
	return soon
}

// prune removes some of what is too old or too much, and reports whether there is more.
func (w *writer) prune(before time.Time, most int64) (more bool, err error) {
	ctx, cancel := context.WithTimeout(w.life, writeTimeout)
	defer cancel()
	if w.measured.IsZero() || time.Since(w.measured) > measureEvery {
		size, err := w.rows.Size(ctx)
		if err != nil {
			return false, err
		}
		w.size, w.measured = size, time.Now()
	}
	pruned, more, err := w.rows.Prune(ctx, before, w.size-most)
	if err != nil {
		return false, err
	}
	w.size -= pruned
	return more, w.rows.Tidy(ctx)
}
