package http1

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// latest is the head of the last answer on a connection. Most heads differ from the previous one only in the length of the body: then a
// comparison replaces parsing.
type latest struct {
	text     string // the head, without the empty line
	from, to int    // position of the value of its Content-Length
	header   http.Header
}

// maxFields is how many fields a head may have that is remembered: an idle connection should hold little.
const maxFields = 64

// set remembers a head, if it is of the usual size. The header is not modified afterwards.
func (l *latest) set(text string, header http.Header) {
	*l = (latest{})
	if len(header) <= maxFields {
		l.text, l.header = text, header
		l.from, l.to = findLength(text)
	}
}

// findLength returns the position of the value of the Content-Length in a head, if it has exactly one.
func findLength(text string) (from, to int) {
	at := 0
	for line := range strings.SplitAfterSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Content-Length") {
			if from > 0 {
				return 0, 0
			}
			from = at + len(name) + len(":") + len(value) - len(strings.TrimLeft(value, " \t"))
			to = from + len(strings.TrimSpace(value))
		}
		at += len(line)
	}
	return from, to
}

// again returns the text of the length in a head that otherwise equals l's. The text need not be a valid length.
func (l *latest) again(head []byte) (length []byte, ok bool) {
	before, after := l.text[:l.from], l.text[l.to:]
	end := len(head) - len(after)
	if l.from == 0 || end < l.from || string(head[:l.from]) != before || string(head[end:]) != after {
		return nil, false
	}
	return head[l.from:end], true
}

// with returns a copy of the header with a length.
func (l *latest) with(length []byte) http.Header {
	header := maps.Clone(l.header)
	if string(length) != l.text[l.from:l.to] {
		header["Content-Length"] = []string{string(length)}
	}
	return header
}

// parseLength returns the value of Content-Length, if there is exactly one, in its shortest spelling.
func parseLength(header http.Header) (int64, bool) {
	values := header["Content-Length"]
	if len(values) != 1 {
		return 0, false
	}
	text := values[0]
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil && (text[0] != '0' || text == "0")
}
