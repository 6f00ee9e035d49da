package wire

import (
	"net/http"
	"strconv"
	"strings"
)

// Media types of the Streamable HTTP transport.
const (
	TypeJSON        = "application/json"
	TypeEventStream = "text/event-stream"
)

// HeaderSize returns about how many bytes a header takes.
func HeaderSize(header http.Header) (size int) {
	for name, values := range header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

// acceptsAll is how SDKs say that they accept every answer of the transport.
const acceptsAll = TypeJSON + ", " + TypeEventStream

// IsMediaType reports whether the Content-Type header value names the media type want, with any
// parameters and in any case (RFC 9110, section 8.3.1).
func IsMediaType(contentType, want string) bool {
	essence, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.Trim(essence, " \t"), want)
}

// Accepts reports whether the values of a request's Accept headers allow an answer of the media type
// want (RFC 9110, section 12.5.1). The most specific range decides, a weight of 0 refuses, and no
// header at all allows everything. Parameters other than the weight are ignored.
func Accepts(accept []string, want string) bool {
	if len(accept) == 0 || len(accept) == 1 && accept[0] == acceptsAll && (want == TypeJSON || want == TypeEventStream) {
		return true
	}
	kind, _, _ := strings.Cut(want, "/")
	best, accepted := 0, false
	for _, value := range accept {
		for value != "" {
			var element string
			element, value = cutElement(value)
			name, params, _ := strings.Cut(element, ";")
			specific := specificity(strings.Trim(name, " \t"), kind, want)
			switch ok := specific > 0 && weightAllows(params); {
			case specific > best:
				best, accepted = specific, ok
			case specific == best:
				accepted = accepted || ok
			}
		}
	}
	return accepted
}

// cutElement returns the first element of a comma-separated list and the rest. A
// comma in a quoted string does not separate.
func cutElement(list string) (element, rest string) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return list[:i], list[i+1:]
		}
	}
	return list, ""
}

// specificity ranks how narrowly a media range matches the media type want of the given kind; 0 means
// that it does not match.
func specificity(name, kind, want string) int {
	switch {
	case strings.EqualFold(name, want):
		return 3
	case len(name) == len(kind)+2 && name[len(kind):] == "/*" && strings.EqualFold(name[:len(kind)], kind):
		return 2
	case name == "*/*":
		return 1
	default:
		return 0
	}
}

// weightAllows reports whether the parameters of a media range do not set its weight to 0.
func weightAllows(params string) bool {
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.Trim(param, " \t"), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		weight, err := strconv.ParseFloat(value, 64)
		return err != nil || weight > 0
	}
	return true
}
