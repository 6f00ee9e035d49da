package bridge

import "github.com/recoursehq/recourse/internal/wire"

// Rewrite returns an answer in pieces of a size as a client gets it that has given an id
// to the request which was sent with another, and wants to read a member more.
func Rewrite(text []byte, size int, sent, id wire.ID, member string) []byte {
	w := newRewriter(sent, id, func(*wire.Signs) []byte { return []byte(member) })
	var out []byte
	for len(text) > 0 {
		n := min(size, len(text))
		out = w.write(out, text[:n])
		text = text[n:]
	}
	return w.end(out)
}
