package http1

import (
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// Classes of bytes.
const (
	inName  = 1 << iota // of a field's name: a token (RFC 9110, section 5.6.2)
	inValue             // of a field's value (RFC 9110, section 5.5)
	inHost              // of a host, with or without a port, in names and addresses
)

var classes = func() (table [256]byte) {
	for c := range table {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if letter || strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0 {
			table[c] |= inName
		}
		if c == '\t' || c >= ' ' && c != 0x7f {
			table[c] |= inValue
		}
		if letter || strings.IndexByte("-._:[]", byte(c)) >= 0 {
			table[c] |= inHost
		}
	}
	return table
}()

// consistsOf reports whether text is not empty and all its bytes are in the class.
func consistsOf(text string, class byte) bool {
	for i := range len(text) {
		if classes[text[i]]&class == 0 {
			return false
		}
	}
	return text != ""
}

// parseFields returns the fields of a head, each of which ends with CRLF. It reports false if net/http
// might read them differently: folded lines, bare line feeds, odd names or values.
func parseFields(text string) (http.Header, bool) {
	n := strings.Count(text, "\n")
	header := make(http.Header, n)
	values := make([]string, n)
	for text != "" {
		i := 0
		for i < len(text) && classes[text[i]]&inName != 0 {
			i++
		}
		if i == 0 || i == len(text) || text[i] != ':' {
			return nil, false
		}
		name := textproto.CanonicalMIMEHeaderKey(text[:i])
		start := i + 1
		i = start
		for i < len(text) && classes[text[i]]&inValue != 0 {
			i++
		}
		if !strings.HasPrefix(text[i:], "\r\n") {
			return nil, false
		}
		value := textproto.TrimString(text[start:i])
		text = text[i+2:]
		if already, ok := header[name]; ok {
			header[name] = append(already, value)
			continue
		}
		values[0] = value
		header[name], values = values[:1:1], values[1:]
	}
	return header, true
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

// staysOpen reports whether an HTTP/1.1 message says nothing about its connection, or says to keep it.
func staysOpen(header http.Header) bool {
	values, ok := header["Connection"]
	return !ok || len(values) == 1 && strings.EqualFold(values[0], "keep-alive")
}

// hasAny reports whether the header has one of the fields.
func hasAny(header http.Header, names ...string) bool {
	for _, name := range names {
		if _, ok := header[name]; ok {
			return true
		}
	}
	return false
}

// never means no deadline.
var never time.Time

const proto = "HTTP/1.1"

// past is a deadline that interrupts whatever waits for it.
var past = time.Unix(1, 0)
