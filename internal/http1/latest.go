package http1

import (
	"maps"
	"net/http"
	"strings"
)

// latest is the simple request of a connection that was parsed last. A client sends the same head with each of its calls, except for the
// length of the body. So comparing it with the one before takes the place of parsing it.
type latest struct {
	head     string // of the request
	from, to int    // where the value of its Content-Length stands
	request  http.Request
}

// set remembers a head and its request, which has no body or context and is not modified afterwards.
func (l *latest) set(head string, r http.Request) {
	l.head, l.request = head, r
	l.from, l.to = findLength(head)
}

// findLength returns where the value of the Content-Length stands in a simple head.
func findLength(head string) (from, to int) {
	for line := range strings.SplitAfterSeq(head, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Content-Length") {
			from += len(name) + len(":") + len(value) - len(strings.TrimLeft(value, " \t"))
			return from, from + len(strings.TrimSpace(value))
		}
		from += len(line)
	}
	return 0, 0
}

// again returns the header and the length in a head that is the same as l's, or differs in nothing but the length.
func (l *latest) again(head []byte) (header http.Header, length int64, ok bool) {
	before, after := l.head[:l.from], l.head[l.to:]
	end := len(head) - len(after)
	if l.from == 0 || end < l.from || string(head[:l.from]) != before || string(head[end:]) != after {
		return nil, 0, false
	}
	header, length = l.request.Header, l.request.ContentLength
	if digits := head[l.from:end]; string(digits) != l.head[l.from:l.to] {
		header = maps.Clone(header)
		header["Content-Length"] = []string{string(digits)}
		length, ok = parseLength(header)
		return header, length, ok && length <= maxBody
	}
	return header, length, true
}
