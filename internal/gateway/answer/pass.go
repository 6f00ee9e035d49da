package answer

import (
	"bytes"
	"context"
	"log/slog"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// passedBack are headers of an answer that matter to clients: HTTP's content, caching and authentication
// headers (RFC 9110, 9111), the protocol's, and those about limits. All others are the server's own business.
var passedBack = map[string]bool{
	"Content-Type": true, "Content-Encoding": true, "Content-Language": true, "Cache-Control": true, "Expires": true,
	"Pragma": true, "Age": true, "Etag": true, "Last-Modified": true, "Allow": true, "Www-Authenticate": true,
	"Retry-After": true, "Ratelimit": true, "Ratelimit-Policy": true, "Deprecation": true, "Sunset": true,
	"X-Accel-Buffering": true,
}

// PassesBack reports whether a header of the server's answer is passed on.
func PassesBack(name string) bool {
	return passedBack[name] || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Ratelimit-") ||
		strings.HasPrefix(name, "Mcp-") && name != wire.HeaderSession // what the protocol may add
}

// Pass passes on the server's answer: a JSON text or an event stream. Progress, logs and questions for the
// client are forwarded as they arrive. The final message is read up to the decision window: if it ends there,
// it is either passed on or found to be a failure. A larger one is streamed and checked as it passes.
func (in *Inbound) Pass(ctx context.Context) End {
	dropped := false // the message whose rest is being read
	for in.Open(); in.nextPart(); {
		part := in.Part
		if dropped {
			dropped = !part.Complete
			continue
		}
		if !in.Stream {
			in.text = part.Data
		}
		in.noteResumption()
		var end End
		switch {
		case part.Other:
			in.Reply.Relay(in.Spoken(&part.Event), true, front.Between)
		case part.Err != nil:
			return Again(in.garbled(ctx, part.Err))
		case part.Complete:
			end = in.takeWhole(&part.Event)
		case in.Stream && in.TooLongToMask():
			dropped = true
		default:
			end = in.takeLarge(ctx)
		}
		if end.Why != 0 {
			return end
		}
	}
	if e := in.ended(ctx); e != nil {
		return Again(e)
	}
	in.Reply.StartEvents()
	return End{Why: Answered}
}

// nextPart reads the next message, or piece of one.
func (in *Inbound) nextPart() bool {
	if in.Wait == nil {
		return in.Next()
	}
	in.Wait(func() { in.Next() })
	return in.Err == nil
}

// takeWhole handles a message that arrived complete. The answer goes on unless the message ends it.
func (in *Inbound) takeWhole(event *wire.Event) End {
	switch signs := in.Signs; {
	case in.Stream && signs.Message() != wire.Response:
		in.Notice(signs)
		in.Reply.Relay(in.Spoken(event), true, front.Notice)
		return End{}
	case in.Stream && !signs.ID.Equal(in.SentID()):
		in.wrong = errWrongID // nor the client's: it is dropped
		return End{}
	case !IsWhole(signs):
		return Again(in.bad(ErrNoMessage))
	case !signs.ID.Equal(in.SentID()):
		return Again(in.bad(errWrongID))
	case in.tooMuch(int64(len(event.Data))):
		return Again(in.tooLarge())
	}
	if in.Stream {
		in.Continues = true
	}
	if f := in.judge(event.Data); f != nil {
		return f.End()
	}
	seeming := in.seeming(event.Data)
	text := in.passed(event.Data)
	if !in.Stream && !in.Reply.Started {
		in.Reply.Head(int64(len(text)), false)
	}
	switch {
	case !bytes.Equal(text, event.Data):
		event = event.Changed(text)
	case in.Stream:
		event = masking.WithoutComments(event)
	}
	in.Reply.Relay(event, in.Stream, front.Answer)
	return End{Why: Answered, Seeming: seeming}
}

// passed returns the current message in the form that is forwarded: with its id as the client wrote it, and
// without a record that is not ours.
func (in *Inbound) passed(text []byte) []byte {
	signs := in.Signs
	var edits []wire.Edit
	if string(signs.ID) != string(in.Request.ID) {
		edits = append(edits, wire.Edit{At: signs.IDAt, With: in.Request.ID})
	}
	if !signs.Error.IsZero() && !in.Server.Trusted { // it asks the client a question
		raw := json.Value(signs.Error.Of(text))
		if own := failures.WithoutRecord(raw); len(own) != len(raw) {
			edits = append(edits, wire.Edit{At: signs.Error, With: own})
		}
	}
	if edits != nil {
		text = wire.Splice(nil, text, edits...)
	}
	if in.Forged() {
		text = WithoutRecord(text)
	}
	return in.Edit(text)
}

// Spoken masks an event that is not an answer.
func (in *Inbound) Spoken(event *wire.Event) *wire.Event {
	if !in.Masks {
		return event
	}
	return masking.Event(in.Masker, event)
}

// TooLongToMask reports whether the current message, which is larger than decide_within, is a notification: it cannot be
// masked, and nobody waits for it.
func (in *Inbound) TooLongToMask() bool {
	if !in.Masks || !bytes.HasPrefix(in.Signs.Method, []byte("notifications/")) {
		return false
	}
	in.Log.Warn("a notification was dropped: it is longer than decide_within and cannot be masked",
		slog.String("server", in.Server.Name), slog.String("request_id", in.By),
		slog.String("method", observe.Beginning(string(in.Signs.Method))))
	return true
}

// WithoutRecord returns a message without a record under our key.
func WithoutRecord(text []byte) []byte {
	var p wire.Rewriter
	p.WithoutRecord()
	return p.Close(p.Append(make([]byte, 0, len(text)), text))
}

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

// LargeFailures is how many failures larger than the decision window are held in memory at a time. The next
// one waits for its turn, within its deadline.
const LargeFailures = 8

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
	if !in.Large.Take(ctx) {
		return Again(upstream.Broken(ctx, in.Server.Title, context.Cause(ctx)))
	}
	in.large = true
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
			return Again(in.garbled(ctx, piece.Err))
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
