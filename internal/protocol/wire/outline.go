package wire

import "io"

// An Outline is what is known of a message that is not kept.
type Outline struct {
	ID     ID     // a string or a number; nil if there is none, or it was not found
	Method string // of a whole request
}

// Outlined reads a message, in constant memory, as far as it comes.
func Outlined(message io.Reader) Outline {
	var scan Scanner
	_, _ = io.Copy(&scan, struct{ io.Reader }{message}) // what was read is enough
	return scan.outline()
}

func (s *Scanner) outline() Outline {
	o := Outline{}
	if id := s.signs.ID; len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		o.ID = id.Clone()
	}
	if s.Close() == nil && o.ID != nil && s.signs.JSONRPC && s.signs.Duplicate == "" && s.signs.Message() == Request {
		o.Method = string(s.signs.Method)
	}
	return o
}
