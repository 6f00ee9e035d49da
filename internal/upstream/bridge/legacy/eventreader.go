package legacy

import (
	"errors"
	"fmt"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// An eventReader reads an answer or a stream from a server, message by message.
type eventReader struct {
	resp     *wire.Answer
	messages wire.MessageReader

	lastID string        // id of an event: where the stream continues when it is reopened
	retry  time.Duration // after how long it may be reopened
}

const (
	// maxHeard limits a message from a server that is not an answer, in bytes.
	maxHeard = 4 << 20
	// maxRetry limits the time after which a stream is reopened.
	maxRetry = 5 * time.Minute
)

// errUnheard ends a stream with a message that is too long or invalid.
var errUnheard = fmt.Errorf("a message on a stream cannot be read: %w", wire.ErrUnfinishedEvent)

func newHearing(resp *wire.Answer) *eventReader {
	l := new(eventReader)
	l.open(resp)
	return l
}

func (l *eventReader) open(resp *wire.Answer) {
	l.resp = resp
	l.messages.Read(resp, 0)
}

// next returns the next message, or the first piece of a large one that may be an answer.
func (l *eventReader) next() (*wire.Part, error) {
	for part := range l.messages.Parts() {
		l.note(part)
		if part.Other {
			continue
		}
		if part.Complete || part.Err != nil || part.Signs.MethodAt.IsZero() {
			return part, nil // its reader sees what is wrong with it
		}
		if err := l.collect(part); err != nil {
			return nil, err
		}
		return part, nil
	}
	return nil, l.messages.End()
}

// collect makes a message of its first piece.
func (l *eventReader) collect(part *wire.Part) error {
	switch err := l.messages.Rest(part, maxHeard); {
	case errors.Is(err, wire.ErrTooLong), err == nil && part.Kind == wire.Invalid:
		return errUnheard
	case err != nil:
		return err
	}
	l.note(part)
	return nil
}

func (l *eventReader) note(part *wire.Part) {
	if part.HasID {
		l.lastID = string(part.ID)
	}
	if part.Retry >= 0 {
		l.retry = min(part.Retry, maxRetry)
	}
}
