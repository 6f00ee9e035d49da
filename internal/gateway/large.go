package gateway

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
	"github.com/recoursehq/recourse/internal/wire"
)

// largeFailures is how many failures over the decision window are held in memory at a
// time. Who comes next waits for its turn, within its deadline.
const largeFailures = 8

// beginsFailed reports whether an answer whose beginning is text, and which is longer, is
// a failure by what has come: that will be translated. Anything else flows through.
func (x *exchange) beginsFailed(text []byte) bool {
	begun := json.Complete(text)
	var scan wire.Scanner
	if _, err := scan.Write(begun); err != nil || scan.Close() != nil {
		return false
	}
	signs := scan.Signs()
	if signs.Message() == wire.Request || signs.Message() == wire.Notification {
		return false
	}
	x.cut = x.table.config.DecideWithin.String()
	defer func() { x.cut = "" }()
	reading, _, ok := x.read(begun, signs, func(raw []byte) []byte { return raw })
	return ok && reading.Error() != nil
}

// large deals with a failure of which the window holds the beginning: it is read up to
// max_failure. One that ends there is translated whole, and of a longer one what has come.
func (x *exchange) large(resp *http.Response) *recourse.Error {
	release, err := x.g.holdLarge(x.ctx)
	if err != nil {
		return x.s.up.Broken(x.ctx, err)
	}
	defer release()
	whole, err := x.fill(resp, x.maxFailure())
	switch {
	case err != nil && x.scanBroken(err):
		return x.bad(resp, err)
	case err != nil:
		return x.s.up.Broken(x.ctx, err)
	case whole:
		return x.decide(resp)
	default:
		return x.breakOff(resp, x.window)
	}
}

// maxFailure returns how much of a failure is read.
func (x *exchange) maxFailure() strictyaml.Size {
	return max(x.table.config.MaxFailure, x.table.config.DecideWithin)
}

// breakOff deals with a failure over max_failure, of which text is the beginning.
func (x *exchange) breakOff(resp *http.Response, text []byte) *recourse.Error {
	if x.tooMuch(max(int64(len(text)), resp.ContentLength)) {
		return x.tooLarge(resp)
	}
	text = json.Complete(wholeWords(text))
	x.scan.Reset()
	if _, err := x.scan.Write(text); err != nil {
		return x.bad(resp, err)
	}
	if signs := x.scan.Signs(); !signs.IDAt.IsZero() && !signs.ID.Equal(x.msg.ID) {
		return x.bad(resp, errWrongID)
	}
	x.cut = x.maxFailure().String()
	if !x.translate(text) { // what came last has made something else of it
		return x.bad(resp, errNoMessage)
	}
	return nil
}

// wholeWords returns a JSON text that breaks off without its last word, of which half may
// be half of a credential that looks like none.
func wholeWords(text []byte) []byte {
	const longest = 16 << 10 // of a word
	from := max(0, len(text)-longest)
	if i := bytes.LastIndexAny(text[from:], " \t\r\n,\\"); i >= 0 {
		return text[:from+i]
	}
	return text[:from]
}

// holdLarge waits until another large failure may be held.
func (g *Gateway) holdLarge(ctx context.Context) (release func(), err error) {
	select {
	case g.large <- struct{}{}:
		return func() { <-g.large }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// failedEvent deals with an event over the window that is a failure by what has come,
// which first is: large, for an event stream.
func (l *relay) failedEvent(first *wire.Event) *recourse.Error {
	release, err := l.g.holdLarge(l.ctx)
	if err != nil {
		return l.s.up.Broken(l.ctx, err)
	}
	defer release()
	event := &wire.Event{ID: bytes.Clone(first.ID), Type: bytes.Clone(first.Type), Data: first.Data}
	for !event.Complete {
		if most := int(l.maxFailure()); len(event.Data) > most {
			return l.breakOff(l.resp, event.Data[:most])
		}
		piece, err := l.reader.Next()
		if err != nil {
			l.resumable = false
			return l.ended(err)
		}
		if _, err := l.scan.Write(piece.Data); err != nil {
			return l.bad(l.resp, err)
		}
		l.deadline.alive()
		event.Data = append(event.Data, piece.Data...)
		event.Complete = piece.Complete
	}
	if err := l.scan.Close(); err != nil {
		return l.bad(l.resp, err)
	}
	event.Raw = wire.AppendEvent(nil, string(event.ID), string(event.Type), event.Data)
	_, e := l.whole(event)
	return e
}

// passCutError sends a JSON-RPC error that breaks off under the server's own code.
func (x *exchange) passCutError(status int, raw json.Value, e *recourse.Error) {
	code, err := strconv.Atoi(string(json.Lookup(raw, "/code")))
	if err != nil {
		code = wire.CodeInternalError
	}
	record, err := x.s.contract.Write(e, x.contractCall(e, 0)).Record.MarshalJSON()
	if err != nil {
		record = nil
	}
	x.reply(status, wire.AppendError(nil, x.msg.ID, code, e.Sentence(), record))
	x.record(e, "")
}
