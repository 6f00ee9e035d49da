package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// messageWindow limits a message from a child, in bytes. Only an answer may be longer; it is then a
// [longAnswer].
const messageWindow = 1 << 20

// A receiver reads what a child says, and hands it to those concerned. Lines that are not messages, and
// answers to nothing, are logged and dropped.
//
// An answer is recognised by its id, which some servers write last. A long one is held until its id has
// arrived, unless it can belong to only one call: the child is not shared, no other call is in progress, and
// none was given up.
type receiver struct {
	child   *child
	scan    wire.Scanner
	message wire.Message
	odd     quoter // for what is dropped

	// For a line that is longer than the window:
	long bool
	text *longAnswer // nil: not an answer, or nobody waits for it
	call *pending    // whose answer it is
	id   bool        // its id has come
}

func (r *receiver) read(stdout io.Reader) {
	r.odd = quoter{log: r.child.log.Warn, mask: r.child.s.mask, perSecond: 20}
	lines := wire.NewLineReader(stdout, messageWindow)
	for {
		piece, last, err := lines.Piece()
		wire.OneLine(piece) // a carriage return in it would break a server-sent event
		r.child.said.Add(1)
		switch {
		case err != nil:
			r.odd.close("skipped lines of stdout")
			return
		case r.long || !last:
			r.piece(piece, last)
		case len(bytes.TrimSpace(piece)) > 0:
			r.line(piece)
		}
	}
}

const strayLine = "stdout holds a line that is not a message"

func (r *receiver) line(text []byte) {
	r.scan.Reset()
	if _, err := r.scan.Write(text); err != nil || r.scan.Close() != nil {
		r.odd.quote(strayLine, text)
		return
	}
	signs := r.scan.Signs()
	switch kind := signs.Message(); {
	case kind == wire.Response:
		if call := r.callOf(signs.ID, text); call != nil {
			call.give(r.answer(call, text))
		}
	case kind == wire.Invalid:
		r.odd.quote(strayLine, text)
	case r.child.modern.Load(), kind == wire.Notification && string(signs.Method) == wire.MethodProgress:
		if err := wire.Parse(text, &r.message); err != nil {
			r.odd.quote(strayLine, text)
			return
		}
		r.notice(&r.message)
	case kind == wire.Request && string(signs.Method) == "ping": // it asks whoever is at the other end of its pipe
		r.child.reply(wire.AppendResult(nil, signs.ID, []byte("{}")))
	case r.child.session != nil:
		r.child.session.hear(r.child, signs, text)
	default:
		r.child.s.hear(r.child, signs, text)
	}
}

// answer returns the answer that has just been scanned, with the client's ids.
func (r *receiver) answer(call *pending, text []byte) delivery {
	id := wire.Edit{At: r.scan.Signs().IDAt, With: call.clientID}
	if call.listens && wire.Parse(text, &r.message) == nil && !r.message.Subscription.IsZero() {
		return copied(r.scan.Signs(), text, id, wire.Edit{At: r.message.SubscriptionAt, With: call.clientID})
	}
	return copied(r.scan.Signs(), text, id)
}

// copied returns a text that has just been scanned, with edits, in memory of its own.
func copied(signs *wire.Signs, text []byte, edits ...wire.Edit) delivery {
	spliced := wire.Splice(nil, text, edits...) // which sorts the edits
	own := signs.Edited(edits...)
	return delivery{text: spliced, signs: &own}
}

// callOf returns the call with that id, or nil if nobody waits for the answer.
func (r *receiver) callOf(id wire.ID, text []byte) *pending {
	n, ok := number(id)
	if !ok {
		r.odd.quote("an answer has an id that was never given", text)
		return nil
	}
	call, known := r.child.answered(n)
	if !known {
		r.odd.quote("an answer does not belong to any request under way", text)
	}
	return call
}

// number returns the value of an id of ours, which some servers turn into a float.
func number(id []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return int64(f), err == nil && f == float64(int64(f))
}

// progress passes a progress notification to its call, with the client's token.
func (r *receiver) progress(m *wire.Message) {
	token, ok := number(m.ProgressToken)
	if !ok {
		r.odd.quote("progress has a token that was never given", m.Raw)
		return
	}
	if call := r.child.byID(token); call != nil && call.token != nil {
		call.put(copied(r.scan.Signs(), m.Raw, wire.Edit{At: m.ProgressTokenAt, With: call.token}))
	}
}

// piece handles a piece of a line that is longer than the window.
func (r *receiver) piece(text []byte, last bool) {
	first := !r.long
	if first {
		r.long, r.text, r.call, r.id = true, newLongAnswer(&r.child.s.spools), nil, false
		r.scan.Reset()
	}
	_, err := r.scan.Write(text)
	signs := r.scan.Signs()
	switch {
	case err != nil:
		if first {
			r.odd.quote(strayLine, text)
		}
		r.lose(err)
	case first && !signs.MethodAt.IsZero():
		r.odd.quote("a message of more than 1 MiB that is not an answer is dropped", text)
		r.lose(errNoAnswer)
	default:
		r.pass(text, signs)
	}
	if last {
		r.long = false
		r.end()
	}
}

func (r *receiver) pass(text []byte, signs *wire.Signs) {
	if r.text == nil {
		return
	}
	if !r.id && !signs.IDAt.IsZero() {
		if !r.identify(signs, text) {
			return
		}
	} else if r.call == nil {
		if call := r.child.onlyCall(); call != nil {
			r.open(call)
		}
	}
	r.text.put(text)
}

// identify handles the id of a long answer. It reports false if nobody waits for it.
func (r *receiver) identify(signs *wire.Signs, text []byte) bool {
	n, ok := number(signs.ID)
	if r.call != nil && (!ok || n != r.call.id) {
		r.odd.quote("an answer has another id than the only request under way", text)
		r.lose(errWrongID)
		return false
	}
	if r.call == nil {
		call := r.callOf(signs.ID, text)
		if call == nil {
			r.lose(errWrongID)
			return false
		}
		r.open(call)
	}
	r.id = true
	return true
}

var errWrongID = errors.New("the answer has another id than the request")

// open hands the answer to its call, which may read it from then on.
func (r *receiver) open(call *pending) {
	r.call = call
	r.text.renumber(wire.IntID(call.id), call.clientID)
	call.give(delivery{long: r.text})
}

func (r *receiver) end() {
	err, signs := r.scan.Close(), r.scan.Signs()
	switch {
	case err != nil:
		r.lose(err)
	case signs.Message() != wire.Response:
		r.lose(errNoAnswer)
	case signs.Duplicate == "/id":
		r.lose(errWrongID)
	case r.text != nil:
		r.text.finish(io.EOF)
	}
	if err == nil && signs.Message() == wire.Request {
		r.child.reply(wire.AppendError(nil, signs.ID, wire.CodeInvalidRequest, "a request may take at most 1 MiB", nil))
	}
	r.text, r.call = nil, nil
}

// lose gives up a long answer, and tells whoever is waiting for it.
func (r *receiver) lose(why error) {
	if r.text == nil {
		return
	}
	if r.call == nil {
		r.text.close()
	} else {
		r.text.finish(BadResponse(r.child.s.name, fmt.Errorf("an answer of more than 1 MiB: %w", why)))
	}
	r.text = nil
}
