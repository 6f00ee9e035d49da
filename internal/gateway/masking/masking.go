// Package masking masks what clients are sent, in each of its forms: an answer in a contract's form, any other body,
// and an event of a stream. What is masked in a text is for package redact to say.
package masking

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Answer returns an answer in a contract's form with its texts masked again: pieces that reveal nothing alone
// may do so once they are joined. In the body of an HTTP answer, the URL that the client has called stays as it is, except
// for secrets in its query.
func Answer(m *redact.Masker, answer contract.Answer, url string) contract.Answer {
	switch answer.Surface {
	case contract.SurfaceResult:
		answer.Result = m.JSON(answer.Result)
	case contract.SurfaceRPC:
		answer.Message = m.String(answer.Message)
		if len(answer.Data) > 0 {
			answer.Data = m.JSON(answer.Data)
		}
	case contract.SurfaceHTTP:
		answer.Header, answer.Body = header(m, answer.Header), showing(m, url, answer.Body)
	}
	return answer
}

// showing masks a body, but for members that are a URL.
func showing(m *redact.Masker, url string, body []byte) []byte {
	said := json.NodeOf(body)
	path, query, asks := strings.Cut(url, "?")
	if asks {
		path += "?" + m.String(query)
	}
	return json.Edit(Body(m, body), func(name string, value json.Value) json.Value {
		if member := said.Member(name); member != nil && member.Plain() == url {
			return json.AppendQuote(nil, path)
		}
		return value
	}, nil)
}

func header(m *redact.Masker, h http.Header) http.Header {
	masked := make(http.Header, len(h))
	for name, values := range h {
		for _, value := range values {
			if name != "Www-Authenticate" { // it says where to get a token
				value = strings.NewReplacer("\r", " ", "\n", " ").Replace(m.String(value))
			}
			masked[name] = append(masked[name], value)
		}
	}
	return masked
}

// Body masks the body of any HTTP answer.
func Body(m *redact.Masker, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	if masked, ok := m.Document(body); ok {
		return masked
	}
	return []byte(m.String(string(body)))
}

// Event masks an event that is not an answer: error logs like failures, everything else like a question, of
// which only credentials are masked. Comments lose their text.
func Event(masker func() *redact.Masker, event *wire.Event) *wire.Event {
	if !event.Complete || !event.First {
		return event
	}
	event = WithoutComments(event)
	answers := json.Lookup(event.Data, "/result") != nil
	if len(event.Data) == 0 || answers && json.Lookup(event.Data, "/result/isError").Kind() != 't' {
		return event
	}
	m := masker()
	if answers || json.Lookup(event.Data, "/error") != nil { // a failure for which the client resumes its stream
		return event.Changed(m.JSON(event.Data))
	}
	if level := string(json.Lookup(event.Data, "/params/level")); !slices.Contains(grave, level) {
		m = m.As(redact.Secrets)
	}
	var masked []byte
	if kind := json.Value(event.Data).Kind(); kind == '{' || kind == '[' {
		masked = m.Message(event.Data)
	} else { // of a type of the server's own: it need not be a message
		masked = []byte(m.String(string(event.Data)))
	}
	if bytes.Equal(masked, event.Data) {
		return event
	}
	return event.Changed(masked)
}

// WithoutComments returns the event as it came, but for the text of comments.
func WithoutComments(event *wire.Event) *wire.Event {
	raw := wire.WithoutComments(event.Raw)
	if bytes.Equal(raw, event.Raw) {
		return event
	}
	bare := *event
	bare.Raw = raw
	return &bare
}

// grave are the log levels for failures, in JSON (MCP 2025-11-25, logging).
var grave = []string{`"error"`, `"critical"`, `"alert"`, `"emergency"`}
