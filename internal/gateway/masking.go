package gateway

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
)

// masker masks the failures of this call, all of it within one budget: what stands in its
// own arguments, or in the server's entry, is no secret to the caller, but for the
// secrets among them. What the contract keeps out of failures is masked beside what the
// entry says.
func (x *exchange) masker() *redact.Masker {
	if x.mask == nil {
		s := x.s
		x.mask = redact.New(s.redact, string(x.msg.Arguments), s.URL, strings.Join(s.Command, "\n"), s.Cwd, x.url()).
			Hiding(x.secrets()).With(s.contract.Mask...).ForAnswer()
	}
	return x.mask
}

// secrets returns what finds the secrets of the server's entry and of the call, when they
// are asked for, which may be after the exchange.
func (x *exchange) secrets() func() []string {
	s, listed, ctx, arguments := x.s, x.listed, x.r.Context(), x.msg.Arguments
	return func() []string {
		secrets := slices.Concat(s.secrets(), redact.Arguments(arguments))
		if listed != nil {
			secrets = append(secrets, listed.secrets(ctx, arguments)...)
		}
		return secrets
	}
}

// logged returns a private cause as it may stand in the log: credentials, and what the
// server's entry and the call hold of secrets, are masked, the rest is kept.
func (x *exchange) logged(err error) logged {
	if x.s == nil {
		return logged{err: err}
	}
	return logged{err, x.secrets()}
}

// masked returns an answer of the contract's with its texts masked: what was masked
// piece by piece may have become something else where it was joined.
func (x *exchange) masked(answer contract.Answer) contract.Answer {
	if x.s == nil {
		return answer
	}
	m := x.masker()
	switch answer.Surface {
	case contract.SurfaceResult:
		answer.Result = m.JSON(answer.Result)
	case contract.SurfaceRPC:
		answer.Message = m.String(answer.Message)
		if len(answer.Data) > 0 {
			answer.Data = m.JSON(answer.Data)
		}
	case contract.SurfaceHTTP:
		answer.Header, answer.Body = maskHeader(m, answer.Header), maskBody(m, answer.Body)
	}
	return answer
}

func maskHeader(m *redact.Masker, header http.Header) http.Header {
	masked := make(http.Header, len(header))
	for name, values := range header {
		for _, value := range values {
			if name != "Www-Authenticate" { // it says where to get a token
				value = strings.NewReplacer("\r", " ", "\n", " ").Replace(m.String(value))
			}
			masked[name] = append(masked[name], value)
		}
	}
	return masked
}

// maskBody masks the body of an HTTP answer, whatever it is.
func maskBody(m *redact.Masker, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	if masked, ok := m.Document(body); ok {
		return masked
	}
	return []byte(m.String(string(body)))
}

// question returns a question to the client that stands in an answer with its texts
// masked; any other answer as it is. It is no failure: addresses and paths in it are what
// the client is asked about.
func (x *exchange) question(text []byte) []byte {
	signs := x.scan.Signs()
	asks := string(signs.ResultType) == "input_required" || bytes.Contains(text, []byte(`needsInput:v1`)) ||
		!signs.Error.IsZero() && bytes.Contains(text, []byte(codeURLElicitation))
	if !asks || x.s.observes() {
		return text
	}
	return x.masker().As(redact.Secrets).Message(text)
}

// spoken returns an event of the server's that is no answer with what it says masked:
// progress, logs and questions as a question is, logs of errors as failures are, and
// comments without their text. raw is the event as it would go on.
func (x *exchange) spoken(event *wire.Event, raw []byte) []byte {
	if x.s.observes() || x.s.redact == redact.Off || !event.Complete || !event.First {
		return raw
	}
	raw = withoutComments(raw)
	answers := json.Lookup(event.Data, "/result") != nil
	if len(event.Data) == 0 || answers && json.Lookup(event.Data, "/result/isError").Kind() != 't' {
		return raw
	}
	m := x.masker()
	if answers || json.Lookup(event.Data, "/error") != nil { // a failure that the client resumes its stream for
		return wire.AppendEvent(nil, string(event.ID), string(event.Type), m.JSON(event.Data))
	}
	if level := string(json.Lookup(event.Data, "/params/level")); !slices.Contains(grave, level) {
		m = m.As(redact.Secrets)
	}
	var masked []byte
	if kind := json.Value(event.Data).Kind(); kind == '{' || kind == '[' {
		masked = m.Message(event.Data)
	} else { // of a type of the server's own, which need not be a message
		masked = []byte(m.String(string(event.Data)))
	}
	if bytes.Equal(masked, event.Data) {
		return raw
	}
	var out []byte
	if event.Retry >= 0 {
		out = fmt.Appendf(out, "retry: %d\n", event.Retry.Milliseconds())
	}
	return wire.AppendEvent(out, string(event.ID), string(event.Type), masked)
}

// dropsLong reports whether an event that begins here is a notification that may not go on.
func (x *exchange) dropsLong(first *wire.Event) bool {
	if first.Complete || x.s.observes() || x.s.redact == redact.Off {
		return false
	}
	x.scan.Reset()
	_, _ = x.scan.Write(first.Data) // what is no message has no method
	return x.unspeakable()
}

// unspeakable reports whether the message that is scanned, and longer than decide_within,
// is a notification: it cannot be masked, and nobody waits for it.
func (x *exchange) unspeakable() bool {
	signs := x.scan.Signs()
	if x.s.observes() || x.s.redact == redact.Off || !bytes.HasPrefix(signs.Method, []byte("notifications/")) {
		return false
	}
	x.g.log.Warn("a notification was dropped: it is longer than decide_within and cannot be masked",
		slog.String("server", x.s.Name), slog.String("request_id", x.requestID),
		slog.String("method", cut(string(signs.Method), maxQuoted)))
	return true
}

// grave are the levels of logs that tell of failures (MCP 2025-11-25, logging), as they
// are spelled.
var grave = []string{`"error"`, `"critical"`, `"alert"`, `"emergency"`}

// withoutComments returns part of an event stream, from the beginning of a line, with its
// comments empty: clients pass over them, but they reach whoever looks.
func withoutComments(raw []byte) []byte {
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

// passRefusal passes an HTTP answer that is a failure on to the client: what it says is
// masked, its status and its challenge stay.
func (x *exchange) passRefusal(resp *http.Response, body []byte) {
	if x.s.observes() {
		x.begin(resp)
		x.pour(io.MultiReader(bytes.NewReader(body), resp.Body))
		return
	}
	body = maskBody(x.masker(), body)
	resp.ContentLength = int64(len(body))
	x.head(resp)
	_ = x.put(body) // the client has gone
}

// unreadable is the reading of an answer that says of itself that it is a failure, and
// cannot be read or masked: nothing of it may go on.
func (x *exchange) unreadable() contract.Reading {
	return contract.Reading{Sign: "isError", Failure: recourse.BadResponse(x.s.Title).WithOrigin(recourse.OriginServer)}
}
