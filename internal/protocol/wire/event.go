package wire

import (
	"bytes"
	"fmt"
)

// Changed returns the event, or the piece of one, with other data.
func (e *Event) Changed(data []byte) *Event {
	changed := *e
	changed.Data, changed.Raw, changed.Signs = data, nil, nil
	return &changed
}

// AppendTo appends the event, or the piece of one, as it stands in a stream: Raw, or what the other fields say if that is nil.
// Of several pieces, each but the last is known to be one when it is written.
func (e *Event) AppendTo(dst []byte) []byte {
	if e.Raw != nil {
		return append(dst, e.Raw...)
	}
	if e.First && e.Retry >= 0 {
		dst = fmt.Appendf(dst, "retry: %d\n", e.Retry.Milliseconds())
	}
	if e.First && e.Complete {
		return AppendEvent(dst, string(e.ID), string(e.Type), e.Data)
	}
	if e.First {
		dst = appendField(dst, "id: ", string(e.ID))
		dst = appendField(dst, "event: ", string(e.Type))
		dst = append(dst, "data: "...)
	}
	start := len(dst)
	dst = append(dst, e.Data...)
	OneLine(dst[start:])
	if e.Complete {
		dst = append(dst, "\n\n"...)
	}
	return dst
}

// AppendEvent appends an event with the given id and type, each left out if it is empty or contains a line end or NUL, which cannot
// be written, and the data, one field for each of its lines.
func AppendEvent(dst []byte, id, kind string, data []byte) []byte {
	dst = appendField(dst, "id: ", id)
	dst = appendField(dst, "event: ", kind)
	for {
		n := lineLength(data)
		dst = append(dst, "data: "...)
		dst = append(dst, data[:n]...)
		dst = append(dst, '\n')
		if n == len(data) {
			return append(dst, '\n')
		}
		if bytes.HasPrefix(data[n:], []byte("\r\n")) {
			n++
		}
		data = data[n+1:]
	}
}

func appendField(dst []byte, name, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c == '\n' || c == '\r' || c == 0 {
			return dst
		}
	}
	if value == "" {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, value...)
	return append(dst, '\n')
}

// WithoutComments empties the comments in a part of an event stream that starts at a line: clients ignore
// them, but people see them.
func WithoutComments(raw []byte) []byte {
	if !bytes.HasPrefix(raw, []byte(":")) && !bytes.Contains(raw, []byte("\n:")) && !bytes.Contains(raw, []byte("\r:")) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		end := bytes.IndexAny(raw, "\r\n")
		if end < 0 {
			end = len(raw)
		}
		if raw[0] == ':' {
			out = append(out, ':')
		} else {
			out = append(out, raw[:end]...)
		}
		next := min(end+1, len(raw))
		out = append(out, raw[end:next]...)
		raw = raw[next:]
	}
	return out
}
