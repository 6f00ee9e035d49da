package gateway

import (
	"bytes"
	"context"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// takeLarge handles a message that does not fit into the window, or an event that the stream breaks off. Once
// it is being streamed, faults can no longer be reported: if the message turns out not to be an answer, or to
// be someone else's, it is aborted so that no client accepts it, and a failure is only logged.
func (m enforcing) takeLarge(c *call) end {
	first, isAnswer := &c.in.part.Event, c.in.signs.MethodAt.IsZero()
	asks := c.bindsState() && string(c.in.signs.ResultType) == wire.InputRequired
	if c.in.beginsFailed(first.Data) || isAnswer && (asks || c.on.filters(&c.req)) {
		return m.collect(c, first)
	}
	size := int64(len(first.Data))
	if c.in.stream { // it may end here: then nothing of it is sent
		kept := *first
		kept.Raw, kept.Data, kept.ID = bytes.Clone(first.Raw), bytes.Clone(first.Data), bytes.Clone(first.ID)
		first = &kept
		if !c.in.next() {
			c.in.resumable = false
			return again(c.in.ended(c.ctx))
		}
	} else {
		isAnswer, size = true, max(size, c.in.resp.Length)
	}
	switch signs := c.in.signs; {
	case !isAnswer:
	case c.in.tooMuch(size):
		return again(c.in.tooLarge())
	case !signs.IDAt.IsZero() && !signs.ID.Equal(c.in.sentID()):
		return again(c.in.bad(errWrongID))
	case c.in.id != nil || c.in.forged():
		c.reply.rewrite = new(wire.Rewriter)
		c.reply.rewrite.Renumber(c.in.id, c.req.msg.ID, c.in.forged())
	}
	c.reply.relay(first, c.in.stream, c.in.said())
	return m.flow(c, int64(len(first.Data)), isAnswer)
}

// flow forwards a large message from its second piece on, which a stream has brought already; total is the number
// of bytes before that.
func (enforcing) flow(c *call, total int64, isAnswer bool) end {
	for read := c.in.stream; read || c.in.next(); read = false {
		piece := &c.in.part.Event
		total += int64(len(piece.Data))
		err := c.in.flaw()
		if c.in.tooMuch(total) {
			err = errTooLarge
		}
		if err != nil && isAnswer {
			return c.on.to.breakOff(err)
		}
		c.deadline.Alive()
		switch c.reply.relay(piece, c.in.stream, c.in.said()); {
		case c.reply.gone && isAnswer:
			return end{why: answered}
		case c.reply.gone:
			return end{}
		case !piece.Complete:
			continue
		case !isAnswer:
			return end{}
		}
		if c.in.stream {
			c.in.continues = true
		}
		c.late()
		return end{why: answered}
	}
	return c.on.to.breakOff(c.on.to.broken(c.ctx, c.in.err))
}

// largeFailures is how many failures larger than the decision window are held in memory at a time. The next
// one waits for its turn, within its deadline.
const largeFailures = 8

// beginsFailed reports whether the beginning of an answer shows that it is a failure. Such an answer is
// translated; any other is streamed.
func (in *inbound) beginsFailed(text []byte) bool {
	begun := json.Complete(text)
	var scan wire.Scanner
	if _, err := scan.Write(begun); err != nil || scan.Close() != nil {
		return false
	}
	signs := scan.Signs()
	if signs.Message() == wire.Request || signs.Message() == wire.Notification {
		return false
	}
	asIs := func(raw []byte) []byte { return raw }
	reading, _, ok := in.to.reader.Answer(begun, signs, in.req.isCall(), in.config.DecideWithin.String(), asIs)
	return ok && reading.Error() != nil
}

// collect reads on in a failure that begins with first, up to max_failure, and has it translated: complete,
// or as much of it as was read.
func (m enforcing) collect(c *call, first *wire.Event) end {
	release, err := c.g.holdLarge(c.ctx)
	if err != nil {
		return again(c.on.to.broken(c.ctx, err))
	}
	c.in.release = release
	event := &wire.Event{ID: bytes.Clone(first.ID), Type: bytes.Clone(first.Type), Data: bytes.Clone(first.Data), First: true, Retry: -1}
	for !event.Complete {
		if most := int(c.in.maxFailure()); len(event.Data) > most {
			text, e := c.in.cutOff(event.Data[:most])
			if e != nil {
				return again(e)
			}
			if f := c.judge(text); f != nil {
				return f.end()
			}
			return again(c.in.bad(errNoMessage)) // the rest turned it into something else
		}
		if !c.in.next() {
			c.in.resumable = false
			return again(c.in.ended(c.ctx))
		}
		piece := c.in.part
		if piece.Err != nil {
			return again(c.in.bad(piece.Err))
		}
		c.deadline.Alive()
		event.Data = append(event.Data, piece.Data...)
		event.Complete = piece.Complete
	}
	return m.takeWhole(c, event)
}

// maxFailure returns how much of a failure is read.
func (in *inbound) maxFailure() strictyaml.Size {
	return max(in.config.MaxFailure, in.config.DecideWithin)
}

// cutOff makes text, the beginning of a failure larger than max_failure, a message that can be judged.
func (in *inbound) cutOff(text []byte) ([]byte, *recourse.Error) {
	if in.tooMuch(max(int64(len(text)), in.resp.Length)) {
		return nil, in.tooLarge()
	}
	text = json.Complete(wholeWords(text))
	if err := in.rescan(text); err != nil {
		return nil, in.bad(err)
	}
	if signs := in.signs; !signs.IDAt.IsZero() && !signs.ID.Equal(in.sentID()) {
		return nil, in.bad(errWrongID)
	}
	in.cut = in.maxFailure().String()
	return text, nil
}

// wholeWords returns a truncated JSON text without its last word: half a credential does not look like one.
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
