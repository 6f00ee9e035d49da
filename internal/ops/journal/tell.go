package journal

import (
	"log/slog"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// quiet is the shortest time between two log entries about problems.
const quiet = time.Minute

// A teller knows what the log says of problems.
type teller struct {
	mu       sync.Mutex
	broken   bool      // the store fails
	told     time.Time // when a problem was last logged
	reported uint64    // lost calls that have been logged
}

// tell informs the operator of problems now and then. Without an error it only reports losses.
func (j *Journal) tell(err error) {
	t := &j.teller
	t.mu.Lock()
	defer t.mu.Unlock()
	lost := j.lost.Load()
	if err == nil && lost == t.reported || !t.told.IsZero() && time.Since(t.told) < quiet {
		return
	}
	attrs := []slog.Attr{slog.Uint64("lost", lost-t.reported)}
	message := "calls are missing from the journal: they came faster than it could be written"
	if err != nil {
		t.broken = true
		message = "cannot write the journal: calls go on, and are missing from it once too many wait"
		attrs = append(attrs, slog.String("cause", redact.Log(err.Error())))
	}
	j.log.LogAttrs(j.life, slog.LevelWarn, message, attrs...)
	j.settled(lost - t.reported)
	t.told, t.reported = time.Now(), lost
}

// tellLast reports what has been lost: there will be no later.
func (j *Journal) tellLast() {
	j.teller.mu.Lock()
	more := j.lost.Load() > j.teller.reported
	if more {
		j.teller.told = time.Time{}
	}
	j.teller.mu.Unlock()
	if more {
		j.tell(j.Fault())
	}
}

// recovered logs that the journal can be written again.
func (j *Journal) recovered() {
	t := &j.teller
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.broken {
		return
	}
	lost := j.lost.Load()
	level := slog.LevelInfo
	if lost > t.reported {
		level = slog.LevelWarn
	}
	j.log.LogAttrs(j.life, level, "the journal is written again", slog.Uint64("lost", lost-t.reported))
	j.settled(lost - t.reported)
	t.broken, t.reported = false, lost
}
