package gateway

import (
	"bytes"
	"context"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
	"github.com/recoursehq/recourse/internal/wire"
)

// largeFailures is how many failures larger than the decision window are held in memory at a time. The next
// one waits for its turn, within its deadline.
const largeFailures = 8

// beginsFailed reports whether the beginning of an answer shows that it is a failure. Such an answer is
// translated; any other is streamed.
func (c *call) beginsFailed(text []byte) bool {
	begun := json.Complete(text)
	var scan wire.Scanner
	if _, err := scan.Write(begun); err != nil || scan.Close() != nil {
		return false
	}
	signs := scan.Signs()
	if signs.Message() == wire.Request || signs.Message() == wire.Notification {
		return false
	}
	c.in.cut = c.table.config.DecideWithin.String()
	defer func() { c.in.cut = "" }()
	reading, _, ok := c.read(begun, signs, func(raw []byte) []byte { return raw })
	return ok && reading.Error() != nil
}

// collect reads on in a failure that begins with first, up to max_failure, and has it translated: complete,
// or as much of it as was read.
func (a *answer) collect(first *wire.Part) error {
	release, err := a.g.holdLarge(a.ctx)
	if err != nil {
		return a.to.broken(a.ctx, err)
	}
	a.in.release = release
	event := &wire.Event{ID: bytes.Clone(first.ID), Type: bytes.Clone(first.Type), Data: bytes.Clone(first.Data)}
	for !event.Complete {
		if most := int(a.maxFailure()); len(event.Data) > most {
			return a.cutOff(event.Data[:most])
		}
		piece, err := a.in.next()
		switch {
		case err != nil:
			a.resumable = false
			return a.ended(err)
		case piece.Err != nil:
			return a.bad(a.resp, piece.Err)
		}
		a.deadline.Alive()
		event.Data = append(event.Data, piece.Data...)
		event.Complete = piece.Complete
	}
	if a.stream {
		event.Raw = wire.AppendEvent(nil, string(event.ID), string(event.Type), event.Data)
	}
	_, err = a.takeWhole(event)
	return err
}

// maxFailure returns how much of a failure is read.
func (c *call) maxFailure() strictyaml.Size {
	return max(c.table.config.MaxFailure, c.table.config.DecideWithin)
}

// cutOff handles a failure larger than max_failure that begins with text.
func (a *answer) cutOff(text []byte) error {
	if a.tooMuch(max(int64(len(text)), a.resp.ContentLength)) {
		return a.tooLarge(a.resp)
	}
	text = json.Complete(wholeWords(text))
	if err := a.in.rescan(text); err != nil {
		return a.bad(a.resp, err)
	}
	if signs := a.in.signs; !signs.IDAt.IsZero() && !signs.ID.Equal(a.sentID()) {
		return a.bad(a.resp, errWrongID)
	}
	a.in.cut = a.maxFailure().String()
	if f := a.judge(text); f != nil {
		return f
	}
	return a.bad(a.resp, errNoMessage) // the rest turned it into something else
}

// wholeWords returns a truncated JSON text without its last word: half a credential would not be recognised
// as one.
func wholeWords(text []byte) []byte {
	const longest = 16 << 10 // of a word
	from := max(0, len(text)-longest)
	if i := bytes.LastIndexAny(text[from:], " \t\r\n,\\"); i >= 0 {
		return text[:from+i]
	}
	return text[:from]
}

// holdLarge waits until another large failure may be held in memory.
func (g *Gateway) holdLarge(ctx context.Context) (release func(), err error) {
	select {
	case g.large <- struct{}{}:
		return func() { <-g.large }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
