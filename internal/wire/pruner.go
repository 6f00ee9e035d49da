package wire

import (
	"bytes"
	"slices"

	"github.com/recoursehq/recourse/internal/json"
)

// Pruner turns a server's answer of the modern era into the one that a client of the
// legacy era has asked for, as it passes in pieces of any size: the id becomes the
// client's, and the members of the result that only the modern era has are left out.
// Everything else stays byte for byte as it was sent. It holds a few KiB at most.
// After [Pruner.ResetRecord] it leaves out another member, and nothing else.
//
// The zero Pruner is ready for use, and changes no id. It is not safe for
// concurrent use.
type Pruner struct {
	from, to  ID
	cacheable bool
	record    bool // only the record in the result's _meta is left out

	lex lexer
	at  tracker

	phase   prunePhase
	held    []byte // what may be left out or replaced yet
	emitted bool   // a member of the result has been written
	name    []byte // a name that was spelled with escapes
}

type prunePhase uint8

const (
	prunePass  prunePhase = iota
	pruneHold             // from the end of a value in the result to the end of a name
	pruneDrop             // inside a member that is left out
	pruneID               // from the name of the id to the end of its value
	pruneBlind            // the text is not JSON: nothing can be said of the rest
)

// maxHeld bounds what is held back. What is longer is no name that is left out, and
// no id.
const maxHeld = 8 << 10

// Reset makes r ready for another text. The id from, where the text has it, becomes
// to; an empty one stands for no change. With cacheable the members ttlMs and
// cacheScope of the result are left out beside resultType: lists have them.
func (r *Pruner) Reset(from, to ID, cacheable bool) {
	*r = Pruner{from: from, to: to, cacheable: cacheable, held: r.held[:0], name: r.name[:0]}
}

// ResetRecord makes r ready for another text, of which only the record of a failure in
// the result's _meta ([MetaRecord]) is left out.
func (r *Pruner) ResetRecord() {
	r.Reset(nil, nil, false)
	r.record = true
}

// within returns the object of which members may be left out.
func (r *Pruner) within() member {
	if r.record {
		return memberResultMeta
	}
	return memberResult
}

// leavesOut reports whether the member m is left out.
func (r *Pruner) leavesOut(m member) bool {
	switch m {
	case memberResultMetaRecord:
		return r.record
	case memberResultType:
		return !r.record
	case memberResultTTL, memberResultCacheScope:
		return r.cacheable
	default:
		return false
	}
}

// Append appends what becomes of the next piece of the text to dst.
func (r *Pruner) Append(dst, p []byte) []byte {
	if r.phase == pruneBlind {
		return append(dst, p...)
	}
	if r.lex.pos == 0 {
		r.at.reset()
	}
	base, done := r.lex.pos, 0
	for done < len(p) {
		tok, _ := r.lex.next(p[done:])
		end := r.lex.pos - base
		dst = r.take(dst, p[done:end])
		switch tok {
		case tokenMore:
			return dst
		case tokenError:
			r.phase = pruneBlind
			return append(r.flush(dst), p[end:]...)
		case tokenName:
			dst = r.member(dst)
		default:
			dst = r.value(dst, tok)
		}
		done = end
	}
	return dst
}

// Close appends what is still held of a text that has ended.
func (r *Pruner) Close(dst []byte) []byte { return r.flush(dst) }

// take takes bytes up to the end of a token.
func (r *Pruner) take(dst, p []byte) []byte {
	switch r.phase {
	case pruneDrop:
		return dst
	case pruneHold, pruneID:
		r.held = append(r.held, p...)
		switch {
		case len(r.held) <= maxHeld:
			return dst
		case r.phase == pruneHold && r.lex.state != inName && r.lex.state != wantColon: // white space, and a comma
			r.held = slices.DeleteFunc(r.held, func(c byte) bool { return c <= ' ' })
			return dst
		}
		r.begins()
		return r.flush(dst)
	default:
		return append(dst, p...)
	}
}

// flush writes what was held, and holds no more.
func (r *Pruner) flush(dst []byte) []byte {
	dst = append(dst, r.held...)
	r.held = r.held[:0]
	if r.phase != pruneBlind {
		r.phase = prunePass
	}
	return dst
}

// member takes a name, which ends what has been taken.
func (r *Pruner) member(dst []byte) []byte {
	if r.phase != pruneHold {
		return dst
	}
	in := r.at.container(&r.lex)
	m := in.child(r.nameHeld())
	r.at.next = m
	switch {
	case m == memberID && in == memberRoot && !r.from.IsZero():
		r.phase = pruneID
		return dst
	case r.leavesOut(m):
		r.phase, r.held = pruneDrop, r.held[:0]
		return dst
	}
	r.begins()
	return r.flush(dst)
}

// begins makes what is held, up to a name, begin the object where everything before it
// was left out.
func (r *Pruner) begins() {
	if r.emitted || r.at.container(&r.lex) != r.within() {
		return
	}
	r.emitted = true
	if comma := bytes.IndexByte(r.held, ','); comma >= 0 && comma < bytes.IndexByte(r.held, '"') {
		r.held = slices.Delete(r.held, comma, comma+1)
	}
}

// tokenHeld returns the token that ends what is held.
func (r *Pruner) tokenHeld() []byte { return r.held[len(r.held)-(r.lex.pos-r.lex.start):] }

func (r *Pruner) nameHeld() []byte {
	raw := r.tokenHeld()
	if !r.lex.escaped {
		return raw[1 : len(raw)-1]
	}
	r.name, _ = json.AppendUnquote(r.name[:0], raw) // the lexer has checked it
	return r.name
}

// value takes a token that begins or ends a value.
func (r *Pruner) value(dst []byte, tok token) []byte {
	r.at.value(&r.lex, tok)
	switch {
	case r.phase == pruneID && tok > tokenEnd && ID(r.tokenHeld()).Equal(r.from):
		r.held = append(r.held[:len(r.held)-len(r.tokenHeld())], r.to...)
		dst = r.flush(dst)
	case r.phase == pruneID, r.phase == pruneHold:
		dst = r.flush(dst)
	}
	in := r.at.container(&r.lex)
	if (in == memberRoot || in == memberResult || in == r.within()) && r.lex.inObject() {
		if tok == tokenObject {
			r.emitted = false
		}
		r.phase = pruneHold
	}
	return dst
}
