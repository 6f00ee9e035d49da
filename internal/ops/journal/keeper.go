package journal

import (
	"context"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

const (
	// upkeepEvery is how often old calls are removed, and soon after how long while others are being written.
	upkeepEvery = time.Minute
	soon        = 200 * time.Millisecond
	// measureEvery is how often the size is read again: other replicas write, too. It is read earlier when so much of the size that is
	// allowed has been written here.
	measureEvery = 10 * time.Minute
	measurePart  = 50
)

// A keeper removes what is too old or too much from a journal, in a goroutine of its own: as much as is due. Between its small steps the
// writer has its turn.
type keeper struct {
	*Journal

	measured time.Time // when the size was read
	grown    int64     // what had been written here by then
	counted  time.Time // when failures were last counted
}

// run keeps the journal until it is closed.
func (k *keeper) run() {
	for {
		err := k.upkeep()
		if pause.Until(k.closing, soon) {
			return
		}
		k.tell(err)
		more := k.wrote
		if err != nil {
			more = nil
		}
		wait := time.NewTimer(upkeepEvery)
		select {
		case <-wait.C:
		case <-more:
		case <-k.closing:
		}
		wait.Stop()
	}
}

// upkeep removes all that is due.
func (k *keeper) upkeep() error {
	if time.Since(k.counted) >= upkeepEvery {
		if err := k.steps(func(ctx context.Context) (bool, error) { return k.rows.Count(ctx, time.Now()) }); err != nil {
			return err
		}
		k.counted = time.Now()
	}
	return k.steps(k.prune)
}

// steps takes a step after the other. Between two, it rests for a while.
func (k *keeper) steps(step func(ctx context.Context) (more bool, err error)) error {
	for {
		ctx, cancel := context.WithTimeout(k.life, writeTimeout)
		began := time.Now()
		more, err := step(ctx)
		cancel()
		if err != nil || !more || pause.Until(k.closing, time.Since(began)/4) {
			return err
		}
	}
}

// prune removes some of what is too old or too much, and reports whether there is more.
func (k *keeper) prune(ctx context.Context) (more bool, err error) {
	settings := k.settings.Load()
	if err := k.measure(ctx, int64(settings.MaxSize)); err != nil {
		return false, err
	}
	pruned, more, err := k.rows.Prune(ctx, time.Now().Add(-settings.Keep), k.size.Load()-int64(settings.MaxSize))
	if err != nil {
		return false, err
	}
	k.size.Add(-pruned)
	return more, k.rows.Tidy(ctx)
}

// measure reads the size again, if others may have changed it much.
func (k *keeper) measure(ctx context.Context, most int64) error {
	if !k.measured.IsZero() && time.Since(k.measured) < measureEvery && k.grew.Load()-k.grown < most/measurePart {
		return nil
	}
	before := k.grew.Load()
	size, err := k.rows.Size(ctx)
	if err != nil {
		return err
	}
	k.size.Store(size + k.grew.Load() - before)
	k.measured, k.grown = time.Now(), before
	return nil
}
