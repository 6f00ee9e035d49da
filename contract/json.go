package contract

import (
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// jsonCodec writes the contract's object.
type jsonCodec struct{ indent string }

func (j jsonCodec) append(dst []byte, s *subject) []byte {
	return j.appendObject(dst, s.appendShape(nil))
}

func (j jsonCodec) appendObject(dst []byte, raw json.Value) []byte {
	if j.indent == "" {
		return append(dst, raw...)
	}
	pretty, err := json.AppendIndent(nil, raw, j.indent)
	if err != nil {
		return append(dst, raw...)
	}
	return append(dst, pretty...)
}

func (j jsonCodec) read(c *Contract, l *layout, text string, d *draft) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && l.readObject(c, json.Value(text), d)
}
