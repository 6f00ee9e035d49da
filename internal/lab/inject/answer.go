package inject

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A made is an answer that no server has sent: a message of MCP, or an HTTP answer.
type made struct {
	status int
	header http.Header
	body   []byte
}

// instead returns what the client gets instead of the server's answer.
func (t *treatment) instead(c *intercept) made {
	f := t.fault
	switch {
	case f.Name == status:
		return f.asStatus()
	case f.Name == inContract:
		return f.asContract(c, t.number)
	case c.path != "":
		return made{http.StatusOK, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(f.Text)}
	default:
		result := append([]byte(`{"content":[{"type":"text","text":`), json.AppendQuote(nil, f.Text)...)
		result = append(result, `}]`...)
		if c.modern {
			result = append(result, `,"resultType":"complete"`...)
		}
		return message(wire.AppendResult(nil, c.id, append(result, '}')))
	}
}

// message returns a message of MCP.
func message(text []byte) made {
	return made{http.StatusOK, http.Header{"Content-Type": {wire.TypeJSON}}, text}
}

func (f *Fault) asStatus() made {
	title := strconv.Itoa(f.Status) + " " + http.StatusText(f.Status)
	m := made{f.Status, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(f.Body)}
	switch {
	case f.HTML:
		m.header.Set("Content-Type", "text/html; charset=utf-8")
		m.body = []byte("<!DOCTYPE html>\n<html><head><title>" + title + "</title></head><body><h1>" + title + "</h1></body></html>\n")
	case f.Body == "":
		m.body = []byte(title + "\n")
	case json.Valid(m.body):
		m.header.Set("Content-Type", wire.TypeJSON)
	}
	for name, value := range f.Header {
		m.header.Set(name, value)
	}
	return m
}

func (f *Fault) asContract(c *intercept, number uint64) made {
	a := f.inForm(c, number)
	switch a.Surface {
	case contract.SurfaceHTTP:
		m := made{a.Status, a.Header.Clone(), a.Body}
		if m.header == nil {
			m.header = http.Header{}
		}
		return m
	case contract.SurfaceRPC:
		m := message(wire.AppendError(nil, c.id, a.RPCCode, a.Message, a.Data))
		m.status = a.Status
		return m
	default:
		return message(wire.AppendResult(nil, c.id, a.Result))
	}
}

// response returns m as the answer to a request.
func (m made) response(r *http.Request) *http.Response {
	header := m.header.Clone()
	header.Set("Content-Length", strconv.Itoa(len(m.body)))
	return &http.Response{
		Status: strconv.Itoa(m.status) + " " + http.StatusText(m.status), StatusCode: m.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(m.body)), ContentLength: int64(len(m.body)), Request: r,
	}
}

// wrong is an id that no request has.
var wrong = wire.ID(`"no-such-request"`)

// change returns what the server's answer to the call becomes: one text, or two if the client gets two.
func (i *Injector) change(t *treatment, c *intercept, answer []byte) [][]byte {
	if t.remembers {
		first := i.recall(c, answer)
		if t.fault != nil && t.fault.Name == stale {
			return [][]byte{withID(first, c.id)}
		}
	}
	if t.fault == nil {
		return [][]byte{answer}
	}
	switch t.fault.Name {
	case wrongID:
		return [][]byte{withID(answer, wrong)}
	case twice:
		return [][]byte{answer, answer}
	case garbage:
		return [][]byte{[]byte("Listening for requests ..."), answer}
	case empty, cut:
		return [][]byte{t.fault.thinAnswer(c, answer)}
	default:
		return [][]byte{answer}
	}
}

// thinAnswer cuts the lists of an answer.
func (f *Fault) thinAnswer(c *intercept, answer []byte) []byte {
	if c.path != "" {
		if !json.Valid(answer) {
			return answer
		}
		return f.thin(answer)
	}
	signs, ok := signsOf(answer)
	if !ok || signs.Result.IsZero() {
		return answer
	}
	result := json.Value(signs.Result.Of(answer))
	return wire.Splice(nil, answer, wire.Edit{At: signs.Result, With: f.thinResult(c.method, result)})
}

// withID returns a message with another id; a text without an id is unchanged.
func withID(text []byte, id wire.ID) []byte {
	signs, ok := signsOf(text)
	if !ok || signs.IDAt.IsZero() {
		return text
	}
	return wire.SpliceID(nil, text, signs.IDAt, id)
}

// signsOf scans a message.
func signsOf(text []byte) (*wire.Signs, bool) {
	var s wire.Scanner
	if _, err := s.Write(text); err != nil || s.Close() != nil {
		return nil, false
	}
	return s.Signs(), true
}

// answers reports whether a message is the response to the request with that id.
func answers(signs *wire.Signs, id wire.ID) bool {
	return signs.Message() == wire.Response && signs.ID.Equal(id)
}
