package peer

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// WithoutEra removes the headers that belong to one of the eras.
func WithoutEra(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return strings.HasPrefix(name, wire.HeaderParamPrefix) || slices.Contains(ofAnEra, name)
	})
}

var ofAnEra = []string{wire.HeaderVersion, wire.HeaderMethod, wire.HeaderName, wire.HeaderSession, wire.HeaderLastEventID}

// HeaderOf returns the headers of a message to the server for the sender of from, without those of an era.
func HeaderOf(from http.Header) http.Header {
	h := from.Clone()
	WithoutEra(h)
	h["Accept"] = []string{wire.TypeJSON + ", " + wire.TypeEventStream}
	h["Content-Type"] = []string{wire.TypeJSON}
	return h
}

// ModernHeader returns the headers of one of the bridge's own requests in the modern era.
func ModernHeader(from http.Header, method string) http.Header {
	h := HeaderOf(from)
	h[wire.HeaderVersion], h[wire.HeaderMethod] = []string{wire.Version20260728}, []string{method}
	return h
}

// AnswerHeader returns the client's form of the headers of a server's answer.
func AnswerHeader(from http.Header) http.Header {
	h := http.Header{}
	if from != nil {
		h = maps.Clone(from)
	}
	delete(h, "Content-Length")
	delete(h, wire.HeaderSession)
	return h
}

// Respond returns the client's form of a server's answer, with a text in place of its body.
func Respond(status int, header http.Header, text []byte) *wire.Answer {
	resp := wire.Respond(status, text)
	resp.Header = AnswerHeader(header)
	return resp
}
