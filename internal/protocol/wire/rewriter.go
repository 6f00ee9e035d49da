package wire

import (
	"bytes"
	"slices"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

// Rewriter turns a server's answer into the one for the gateway's client while it passes, in pieces of
// any size: it replaces the id, and removes or adds members. Everything else stays byte for byte as it
// was sent, even if it is broken: that is for the reader to find out. It buffers a few KiB at most.
//
// The zero Rewriter changes nothing. It is not safe for concurrent use.
type Rewriter struct {
	task     rewriteTask
	from, to ID
	lists    bool // the result has the members of results that may be cached

	lex lexer.Lexer
	at  tracker

	phase   rewritePhase
	held    []byte // what may yet be left out or replaced
	emitted bool   // a member of the object being rewritten has been written
	seen    uint64 // bit m: the result has the member m
	name    []byte // a name with escapes
}

// A rewriteTask says how a text is rewritten.
type rewriteTask uint8

const (
	rewriteNothing  rewriteTask = iota
	rewriteToLegacy             // members that only the modern era has are left out
	rewriteToModern             // members that the modern era requires are added
	rewriteRecord               // the record in the result's _meta is left out
	rewriteNumber               // only the id changes
)

type rewritePhase uint8

const (
	rewritePass  rewritePhase = iota
	rewriteHold               // from the end of a value in the object being rewritten to the end of a name, or of the object
	rewriteDrop               // inside a member that is left out
	rewriteID                 // from the name of the id to the end of its value
	rewriteBlind              // the rest passes as it is: nothing is left to do, or the text is not JSON
)

// maxHeld limits what is held back: anything longer is neither an id nor a name to leave out.
const maxHeld = 8 << 10

// ToLegacy prepares r for an answer of the modern era to a client of the legacy era: the id from
// becomes to, and the result loses resultType. With lists, which is for the results of some methods, it
// also loses ttlMs and cacheScope.
func (r *Rewriter) ToLegacy(from, to ID, lists bool) { r.reset(rewriteToLegacy, from, to, lists) }

// ToModern is the reverse of [Rewriter.ToLegacy]: a result gains those members if it lacks them. An
// answer with an id other than from gets the id null, which no request has.
func (r *Rewriter) ToModern(from, to ID, lists bool) { r.reset(rewriteToModern, from, to, lists) }

// WithoutRecord prepares r for an answer from which only the record of a failure in the result's _meta
// ([MetaRecord]) is removed.
func (r *Rewriter) WithoutRecord() { r.reset(rewriteRecord, nil, nil, false) }

// Renumber prepares r for an answer in which the id from becomes to; the record is removed if
// withoutRecord is true. Without an id from, the id stays.
func (r *Rewriter) Renumber(from, to ID, withoutRecord bool) {
	task := rewriteRecord
	if !withoutRecord {
		task = rewriteNumber
	}
	r.reset(task, from, to, false)
}

func (r *Rewriter) reset(task rewriteTask, from, to ID, lists bool) {
	*r = Rewriter{task: task, from: from, to: to, lists: lists, held: r.held[:0], name: r.name[:0]}
}

// within returns the object from which members are removed, or to which they are added.
func (r *Rewriter) within() member {
	if r.task == rewriteRecord {
		return memberResultMeta
	}
	return memberResult
}

// leavesOut reports whether the member m is left out.
func (r *Rewriter) leavesOut(m member) bool {
	switch m {
	case memberResultMetaRecord:
		return r.task == rewriteRecord
	case memberResultType:
		return r.task == rewriteToLegacy
	case memberResultTTL, memberResultCacheScope:
		return r.task == rewriteToLegacy && r.lists
	default:
		return false
	}
}

// additions are the members that results of the modern era have.
var additions = []struct {
	member member
	lists  bool
	text   string
}{
	{memberResultType, false, `"resultType":"complete"`},
	{memberResultTTL, true, `"ttlMs":0`},
	{memberResultCacheScope, true, `"cacheScope":"private"`},
}

// complete adds what the result lacks; the end of the result is held.
func (r *Rewriter) complete() {
	end := len(r.held) - 1
	r.held = r.held[:end]
	for _, add := range additions {
		if r.seen>>add.member&1 == 1 || add.lists && !r.lists {
			continue
		}
		if r.emitted {
			r.held = append(r.held, ',')
		}
		r.held, r.emitted = append(r.held, add.text...), true
	}
	r.held = append(r.held, '}')
}

// Append appends the rewritten form of the next piece of the text to dst.
func (r *Rewriter) Append(dst, p []byte) []byte {
	if r.phase == rewriteBlind {
		return append(dst, p...)
	}
	if r.lex.Pos == 0 {
		r.at.reset()
	}
	base, done := r.lex.Pos, 0
	for done < len(p) {
		tok, _ := r.lex.Next(p[done:])
		end := r.lex.Pos - base
		dst = r.take(dst, p[done:end])
		switch tok {
		case lexer.More:
			return dst
		case lexer.Failed:
			r.phase = rewriteBlind
			return append(r.flush(dst), p[end:]...)
		case lexer.Name:
			dst = r.member(dst)
		default:
			dst = r.value(dst, tok)
			if r.phase == rewriteBlind {
				return append(dst, p[end:]...)
			}
		}
		done = end
	}
	return dst
}

// Close appends what is still held after the end of the text.
func (r *Rewriter) Close(dst []byte) []byte { return r.flush(dst) }

// take consumes bytes up to the end of a token.
func (r *Rewriter) take(dst, p []byte) []byte {
	switch r.phase {
	case rewriteDrop:
		return dst
	case rewriteHold, rewriteID:
		r.held = append(r.held, p...)
		switch {
		case len(r.held) <= maxHeld:
			return dst
		case r.phase == rewriteHold && r.lex.State != lexer.InName && r.lex.State != lexer.WantColon: // white space, and a comma
			r.held = slices.DeleteFunc(r.held, func(c byte) bool { return c <= ' ' })
			return dst
		}
		r.begins()
		return r.flush(dst)
	default:
		return append(dst, p...)
	}
}

// flush writes what was held.
func (r *Rewriter) flush(dst []byte) []byte {
	dst = append(dst, r.held...)
	r.held = r.held[:0]
	if r.phase != rewriteBlind {
		r.phase = rewritePass
	}
	return dst
}

// member handles a name, which ends what has been taken.
func (r *Rewriter) member(dst []byte) []byte {
	if r.phase != rewriteHold {
		return dst
	}
	in := r.at.container(&r.lex)
	m := in.child(r.nameHeld())
	r.at.next = m
	if in == r.within() {
		r.seen |= 1 << m
	}
	switch {
	case m == memberID && in == memberRoot && !r.from.IsZero():
		r.phase = rewriteID
		return dst
	case r.leavesOut(m):
		r.phase, r.held = rewriteDrop, r.held[:0]
		return dst
	}
	r.begins()
	return r.flush(dst)
}

// begins makes the object begin with what is held, up to a name, if everything before it was left out.
func (r *Rewriter) begins() {
	if r.emitted || r.at.container(&r.lex) != r.within() {
		return
	}
	r.emitted = true
	if comma := bytes.IndexByte(r.held, ','); comma >= 0 && comma < bytes.IndexByte(r.held, '"') {
		r.held = slices.Delete(r.held, comma, comma+1)
	}
}

// tokenHeld returns the token at the end of what is held.
func (r *Rewriter) tokenHeld() []byte { return r.held[len(r.held)-(r.lex.Pos-r.lex.Start):] }

func (r *Rewriter) nameHeld() []byte {
	raw := r.tokenHeld()
	if !r.lex.Escaped {
		return raw[1 : len(raw)-1]
	}
	r.name, _ = json.AppendUnquote(r.name[:0], raw) // the lexer has checked it
	return r.name
}

// value handles a token that begins or ends a value.
func (r *Rewriter) value(dst []byte, tok lexer.Token) []byte {
	of, _ := r.at.value(&r.lex, tok)
	switch {
	case r.phase == rewriteID && tok > lexer.End && ID(r.tokenHeld()).Equal(r.from):
		r.held = append(r.held[:len(r.held)-len(r.tokenHeld())], r.to...)
		dst = r.flush(dst)
		if r.task == rewriteNumber { // there is nothing else to do
			r.phase = rewriteBlind
			return dst
		}
	case r.phase == rewriteID && tok > lexer.End && r.task == rewriteToModern:
		r.held = append(r.held[:len(r.held)-len(r.tokenHeld())], "null"...)
		dst = r.flush(dst)
	case r.phase == rewriteHold && of == memberResult && tok == lexer.End && r.task == rewriteToModern:
		r.complete()
		dst = r.flush(dst)
	case r.phase == rewriteID, r.phase == rewriteHold:
		dst = r.flush(dst)
	}
	in := r.at.container(&r.lex)
	if (in == memberRoot || in == memberResult || in == r.within()) && r.lex.InObject() {
		if tok == lexer.Object {
			r.emitted, r.seen = false, 0
		}
		r.phase = rewriteHold
	}
	return dst
}
