package bridge

import (
	"io"

	"github.com/recoursehq/recourse/internal/wire"
)

// A rewriter makes a server's answer one for the client as it passes, in pieces of
// any size: it replaces the id, and completes the result. The rest stays as it is,
// byte for byte, also where it is broken: that is for whoever reads it to find out.
//
// The zero rewriter is none; make one with [newRewriter].
type rewriter struct {
	sent     wire.ID // the id of the request at the server
	id       wire.ID // that of the client
	complete func(*wire.Signs) []byte

	scan     wire.Scanner
	broken   bool   // it is no JSON; what follows passes
	held     []byte // what has come and is not passed on yet
	base     int    // the offset of held in the answer
	named    bool   // the id has been replaced
	finished bool   // the result has been completed
}

// newRewriter returns the rewriter of the answer to a request that was sent with one
// id and goes to a client that has given another. An answer with the id of no such request
// gets the id null, which is nobody's. complete returns the members to add to the
// result, with a comma after each but the last, when its end has been read; nil: none.
func newRewriter(sent, id wire.ID, complete func(*wire.Signs) []byte) *rewriter {
	return &rewriter{sent: sent, id: id, complete: complete}
}

// holdBack is how many bytes are not passed on before the next ones have come. It is as
// long as any id that is ours, however a server spells it.
const holdBack = 64

// write appends to dst what can be passed on after the next piece of the answer.
func (w *rewriter) write(dst, piece []byte) []byte {
	if w.broken {
		return append(dst, piece...)
	}
	_, err := w.scan.Write(piece)
	w.held = append(w.held, piece...)
	if err != nil {
		w.broken = true
		return w.end(dst)
	}
	return w.pass(dst, len(w.held)-holdBack)
}

// end appends to dst what is left at the end of the answer.
func (w *rewriter) end(dst []byte) []byte { return w.pass(dst, len(w.held)) }

// pass passes on the first n bytes of what is held, and all that has to be replaced.
func (w *rewriter) pass(dst []byte, n int) []byte {
	n = max(n, 0)
	edits := make([]wire.Edit, 0, 2)
	signs := w.scan.Signs()
	if at := w.place(signs.IDAt); !w.named && !signs.IDAt.IsZero() && at.Start >= 0 {
		w.named = true
		edits = append(edits, wire.Edit{At: at, With: w.idFor(signs.ID)})
		n = max(n, at.End)
	}
	if at := w.place(signs.Result); !w.finished && !signs.Result.IsZero() {
		w.finished = true
		if more := w.additions(signs, at.End); len(more) > 0 {
			edits = append(edits, wire.Edit{At: wire.Span{Start: at.End - 1, End: at.End - 1}, With: more})
			n = max(n, at.End)
		}
	}
	dst = wire.Splice(dst, w.held[:n], edits...)
	w.held = append(w.held[:0], w.held[n:]...)
	w.base += n
	return dst
}

// place returns a place of the answer as one of what is held.
func (w *rewriter) place(at wire.Span) wire.Span {
	return wire.Span{Start: at.Start - w.base, End: at.End - w.base}
}

// idFor returns the id with which an answer goes on.
func (w *rewriter) idFor(id wire.ID) wire.ID {
	if id.Equal(w.sent) {
		return w.id
	}
	return wire.ID("null")
}

// additions returns what is put in at the end of the result, which is an object.
func (w *rewriter) additions(signs *wire.Signs, end int) []byte {
	if w.complete == nil || w.held[end-1] != '}' {
		return nil
	}
	more := w.complete(signs)
	if len(more) > 0 && signs.Members {
		return append([]byte{','}, more...)
	}
	return more
}

// rewriting is a body that passes through a rewriter.
type rewriting struct {
	*rewriter

	src io.ReadCloser
	in  []byte
	out []byte // rewritten, from next on not read yet
	at  int
	err error
}

const rewriteSize = 32 << 10

func newRewriting(w *rewriter, src io.ReadCloser) *rewriting {
	return &rewriting{rewriter: w, src: src}
}

// Read implements io.Reader.
func (r *rewriting) Read(p []byte) (int, error) {
	for r.at == len(r.out) {
		if r.err != nil {
			return 0, r.err
		}
		if r.in == nil {
			r.in = make([]byte, rewriteSize)
		}
		n, err := r.src.Read(r.in)
		r.out, r.at, r.err = r.write(r.out[:0], r.in[:n]), 0, err
		if err != nil {
			r.out = r.end(r.out)
		}
	}
	n := copy(p, r.out[r.at:])
	r.at += n
	return n, nil
}

// Close implements io.Closer.
func (r *rewriting) Close() error { return r.src.Close() }

var _ io.ReadCloser = (*rewriting)(nil)
