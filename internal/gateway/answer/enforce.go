package answer

import (
	"bytes"
	"context"
	"log/slog"
	"strings"

	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
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
			return Again(in.bad(part.Err))
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
func (in *Inbound) nextPart() (ok bool) {
	if in.Wait == nil {
		return in.Next()
	}
	in.Wait(func() { ok = in.Next() })
	return ok
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
	return End{Why: Answered}
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
