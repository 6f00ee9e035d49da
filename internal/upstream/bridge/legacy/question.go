package legacy

import (
	"bytes"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A question is a request from a legacy server to the client of a call.
type question struct {
	id     wire.ID // at the server
	method string
	params json.Value
}

// asks maps methods to the capability that a client needs to be asked.
var asks = map[string]json.Pointer{
	wire.MethodElicit: "/elicitation",
	wire.MethodSample: "/sampling",
	wire.MethodRoots:  "/roots",
}

// What a server is told if its question is not asked.
var (
	errNotAsked      = &wire.Error{Code: wire.CodeMethodNotFound, Message: "the client cannot be asked this, or not during this request"}
	errNotAlone      = &wire.Error{Code: wire.CodeInternalError, Message: "it cannot be told which of the requests under way this is about"}
	errManyQuestions = &wire.Error{Code: wire.CodeInternalError, Message: "too many questions wait for an answer"}
)

func (s *session) refuse(at *opened, id wire.ID, why *wire.Error) {
	s.reply(at, wire.AppendError(nil, id, why.Code, why.Message, nil))
}

// asked handles a request from the server about the call c; c is nil if it is unclear which call. It returns
// the question if the client should be asked.
func (s *session) asked(at *opened, c *exchange, part *wire.Part) *question {
	method, id := string(part.Signs.Method), part.Signs.ID
	capability, known := asks[method]
	switch {
	case method == wire.MethodPing:
		s.reply(at, wire.AppendResult(nil, id, []byte("{}")))
	case !known || json.Lookup(s.declared, capability) == nil:
		s.refuse(at, id, errNotAsked)
	case c == nil:
		s.refuse(at, id, errNotAlone)
	case !wire.Named(c.method): // its result has no place for questions
		s.refuse(at, id, errNotAsked)
	default:
		q := &question{id: id.Clone(), method: method, params: bytes.Clone(json.Lookup(part.Data, "/params"))}
		if q.params == nil {
			q.params = json.Value("{}") // the Go SDK's client wants some
		}
		return q
	}
	return nil
}

// inputKey is the question's name in a result. There is one at a time.
const inputKey = "question"

// ask answers the client's request with the question (MCP 2026-07-28, "Multi Round-Trip Requests").
func (q *question) ask(id wire.ID, state string) []byte {
	result := []byte(`{"resultType":"input_required","inputRequests":{"` + inputKey + `":{"method":`)
	result = json.AppendQuote(result, q.method)
	result = append(append(result, `,"params":`...), q.params...)
	result = json.AppendQuote(append(result, `}},"requestState":`...), state)
	return wire.AppendResult(nil, id, append(result, '}'))
}

// onlyCall returns the only call of the session, or nil. It also returns nil if callers may be anybody: the
// server may mean somebody else's call, which has just ended.
func (s *session) onlyCall() *exchange {
	return s.only(func(*exchange) bool { return true })
}

// askable returns the call that a question is about which does not say so: the only one whose result has a place for
// questions. Lists are fetched beside it, by clients and by the gateway itself, whenever a server says that they have changed.
func (s *session) askable() *exchange {
	if c := s.only(func(c *exchange) bool { return wire.Named(c.method) }); c != nil {
		return c
	}
	return s.onlyCall()
}

// only returns the only call of the session that counts, or nil.
func (s *session) only(counts func(*exchange) bool) (found *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key.of.IsAnonymous() {
		return nil
	}
	for _, c := range s.calls {
		switch {
		case c.ended.Load() || !counts(c):
		case found != nil:
			return nil
		default:
			found = c
		}
	}
	return found
}
