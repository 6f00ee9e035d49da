package answer

import (
	"bytes"
	"context"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// takeLarge handles a message that does not fit into the window, or an event that the stream breaks off. Once
// it is being streamed, faults can no longer be reported: if the message turns out not to be an answer, or to
// be someone else's, it is aborted so that no client accepts it, and a failure is only logged.
func (in *Inbound) takeLarge(ctx context.Context) End {
	first, isAnswer := &in.Part.Event, in.Signs.MethodAt.IsZero()
	asks := in.Binds && string(in.Signs.ResultType) == wire.InputRequired
	if in.beginsFailed(first.Data) || isAnswer && (asks || in.Whole) {
		return in.collect(ctx, first)
	}
	size := int64(len(first.Data))
	if in.Stream { // it may end here: then nothing of it is sent
		kept := *first
		kept.Raw, kept.Data, kept.ID = bytes.Clone(first.Raw), bytes.Clone(first.Data), bytes.Clone(first.ID)
		first = &kept
		if !in.Next() {
			in.resumable = false
			return Again(in.ended(ctx))
		}
	} else {
		isAnswer, size = true, max(size, in.Resp.Length)
	}
	switch signs := in.Signs; {
	case !isAnswer:
	case in.tooMuch(size):
		return Again(in.tooLarge())
	case !signs.IDAt.IsZero() && !signs.ID.Equal(in.SentID()):
		return Again(in.bad(errWrongID))
	case in.ID != nil || in.Forged():
		in.Reply.rewrite = new(wire.Rewriter)
		in.Reply.rewrite.Renumber(in.ID, in.Request.ID, in.Forged())
	}
	in.Reply.Relay(first, in.Stream, in.Said())
	return in.flow(ctx, int64(len(first.Data)), isAnswer)
}

// flow forwards a large message from its second piece on, which a stream has brought already; total is the number
// of bytes before that.
func (in *Inbound) flow(ctx context.Context, total int64, isAnswer bool) End {
	for read := in.Stream; read || in.Next(); read = false {
		piece := &in.Part.Event
		total += int64(len(piece.Data))
		err := in.flaw()
		if in.tooMuch(total) {
			err = errTooLarge
		}
		if err != nil && isAnswer {
			return in.breakOff(err)
		}
		in.Deadline.Alive()
		switch in.Reply.Relay(piece, in.Stream, in.Said()); {
		case in.Reply.Gone && isAnswer:
			return End{Why: Answered}
		case in.Reply.Gone:
			return End{}
		case !piece.Complete:
			continue
		case !isAnswer:
			return End{}
		}
		if in.Stream {
			in.Continues = true
		}
		return End{Why: Answered, Late: in.late()}
	}
	return in.breakOff(in.broken(ctx))
}

// largeFailures is how many failures larger than the decision window are held in memory at a time. The next
// one waits for its turn, within its deadline.
const largeFailures = 8

// beginsFailed reports whether the beginning of an answer shows that it is a failure. Such an answer is
// translated; any other is streamed.
func (in *Inbound) beginsFailed(text []byte) bool {
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
	reading, _, ok := in.Reader.Answer(begun, signs, in.isCall(), in.Config.DecideWithin.String(), asIs)
	return ok && reading.Error() != nil
}

// collect reads on in a failure that begins with first, up to max_failure, and has it translated: complete,
// or as much of it as was read.
func (in *Inbound) collect(ctx context.Context, first *wire.Event) End {
	release, err := in.Large.hold(ctx)
	if err != nil {
		return Again(upstream.Broken(ctx, in.Server.Title, err))
	}
	in.release = release
	event := &wire.Event{ID: bytes.Clone(first.ID), Type: bytes.Clone(first.Type), Data: bytes.Clone(first.Data), First: true, Retry: -1}
	for !event.Complete {
		if most := int(in.maxFailure()); len(event.Data) > most {
			text, e := in.cutOff(event.Data[:most])
			if e != nil {
				return Again(e)
			}
			if f := in.judge(text); f != nil {
				return f.End()
			}
			return Again(in.bad(ErrNoMessage)) // the rest turned it into something else
		}
		if !in.Next() {
			in.resumable = false
			return Again(in.ended(ctx))
		}
		piece := in.Part
		if piece.Err != nil {
			return Again(in.bad(piece.Err))
		}
		in.Deadline.Alive()
		event.Data = append(event.Data, piece.Data...)
		event.Complete = piece.Complete
	}
	return in.takeWhole(event)
}

// maxFailure returns how much of a failure is read.
func (in *Inbound) maxFailure() strictyaml.Size {
	return max(in.Config.MaxFailure, in.Config.DecideWithin)
}

// cutOff makes text, the beginning of a failure larger than max_failure, a message that can be judged.
func (in *Inbound) cutOff(text []byte) ([]byte, *recourse.Error) {
	if in.tooMuch(max(int64(len(text)), in.Resp.Length)) {
		return nil, in.tooLarge()
	}
	text = json.Complete(wholeWords(text))
	if err := in.Rescan(text); err != nil {
		return nil, in.bad(err)
	}
	if signs := in.Signs; !signs.IDAt.IsZero() && !signs.ID.Equal(in.SentID()) {
		return nil, in.bad(errWrongID)
	}
	in.Cut = in.maxFailure().String()
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

// A Room has places for the large failures of all calls.
type Room chan struct{}

// NewRoom returns an empty one.
func NewRoom() Room { return make(Room, largeFailures) }

// hold waits until another large failure may be held in memory.
func (r Room) hold(ctx context.Context) (release func(), err error) {
	select {
	case r <- struct{}{}:
		return func() { <-r }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
