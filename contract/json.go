package contract

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// jsonCodec writes the contract's object.
type jsonCodec struct{ indent string }

func (j jsonCodec) append(dst []byte, s *subject) []byte {
	if j.indent == "" {
		return s.appendShape(slices.Grow(dst, len(s.record()))) // it is hardly longer
	}
	return j.appendObject(dst, s.appendShape(nil))
}

func (j jsonCodec) appendObject(dst []byte, raw json.Value) []byte {
	if j.indent != "" {
		if pretty, err := json.AppendIndent(dst, raw, j.indent); err == nil {
			return pretty
		}
	}
	return append(dst, raw...)
}

func (j jsonCodec) read(c *Contract, l *layout, text string, d *draft) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && l.readObject(c, json.Value(text), d)
}
