package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// maxRounds bounds how often a server may ask before it answers a request,
	// maxQuestions how much at once, and maxPending what all calls of a session wait
	// for.
	maxRounds    = 16
	maxQuestions = 32
	maxPending   = 128
	// A server that wants the request once more, and asks nothing, is given a time:
	// firstRest, then twice as much each time up to longestRest.
	firstRest   = 100 * time.Millisecond
	longestRest = 5 * time.Second
)

// inputRequired is the result by which a server says that it needs something of its
// client first (MCP 2026-07-28, multi round-trip requests).
type inputRequired struct {
	Requests map[string]inputRequest `json:"inputRequests"`
	State    json.Value              `json:"requestState"`
}

type inputRequest struct {
	Method string     `json:"method"`
	Params json.Value `json:"params"`
}

// A modernAnswer is what the client has answered to a question.
type modernAnswer struct {
	result json.Value
	err    json.Value // in place of it
}

var (
	errEmptyQuestion = errors.New("the server needs input and neither asks for any nor gives a state")
	errManyRounds    = fmt.Errorf("the server asked more than %d times", maxRounds)
	errManyQuestions = fmt.Errorf("the server asked more than %d things at once", maxQuestions)
)

func readInputRequired(result json.Value, name string) (*inputRequired, error) {
	asked := new(inputRequired)
	err := json.UnmarshalLenient(result, asked)
	switch {
	case err != nil:
		return nil, badResponse(name, fmt.Errorf("reading what the server asks: %w", err))
	case len(asked.Requests) == 0 && asked.State == nil:
		return nil, badResponse(name, errEmptyQuestion)
	case len(asked.Requests) > maxQuestions:
		return nil, badResponse(name, errManyQuestions)
	default:
		return asked, nil
	}
}

// ask asks the client what the server has asked, and makes the call again with the
// answers.
func (c *modernCall) ask(asked *inputRequired) (*http.Response, error) {
	c.rounds++
	if c.rounds > maxRounds {
		return nil, badResponse(c.n.b.Name(), errManyRounds)
	}
	answers, err := c.answers(asked)
	if err != nil {
		return nil, err
	}
	id := c.n.newID()
	if id.Equal(c.clientID) {
		id = c.n.newID()
	}
	if c.text, err = again(c.text, id, answers, asked.State); err != nil {
		return nil, badResponse(c.n.b.Name(), err)
	}
	c.id = id
	return c.post()
}

// answers returns the client's answers by the names that the server has given to its
// questions.
func (c *modernCall) answers(asked *inputRequired) (map[string]json.Value, error) {
	if len(asked.Requests) == 0 {
		return nil, c.rest()
	}
	names := slices.Sorted(maps.Keys(asked.Requests))
	for _, name := range names {
		if err := c.mayAsk(asked.Requests[name]); err != nil {
			return nil, err
		}
	}
	ids := make([]wire.ID, 0, len(names))
	defer func() { c.s.unask(ids) }()
	waiting := make(map[string]<-chan modernAnswer, len(names))
	for _, name := range names {
		id, answer, err := c.s.question(c.n)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		waiting[name] = answer
	}
	c.begin(head(http.StatusOK), true)
	for i, name := range names {
		c.write(wire.AppendEvent(nil, "", "message", appendRequest(nil, ids[i], asked.Requests[name])))
	}
	answers := make(map[string]json.Value, len(names))
	for _, name := range names {
		select {
		case a := <-waiting[name]:
			result, err := c.answerTo(asked.Requests[name], a)
			if err != nil {
				return nil, err
			}
			answers[name] = result
		case <-c.ctx.Done():
			return nil, c.broken(context.Cause(c.ctx))
		case <-c.asker.Done(): // nobody answers
			return nil, c.broken(context.Cause(c.asker))
		}
	}
	return answers, nil
}

// rest gives the server a time.
func (c *modernCall) rest() error {
	timer := time.NewTimer(min(firstRest<<(c.rounds-1), longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.ctx.Done():
		return c.broken(context.Cause(c.ctx))
	}
}

// Methods of the questions.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// mayAsk reports, as an error, that a question is none that the client has said it
// can be asked.
func (c *modernCall) mayAsk(q inputRequest) error {
	var can declared
	if c.s != nil {
		can = c.s.declared
	}
	var needs string
	var ok bool
	switch q.Method {
	case methodElicit:
		needs, ok = "elicitation", can.Elicitation.Kind() == '{'
		if ok && string(json.Lookup(q.Params, "/mode")) == `"url"` {
			needs, ok = "elicitation.url", json.Lookup(can.Elicitation, "/url") != nil
		}
	case methodSample:
		needs, ok = "sampling", can.Sampling.Kind() == '{'
		if ok && json.Lookup(q.Params, "/tools") != nil {
			needs, ok = "sampling.tools", json.Lookup(can.Sampling, "/tools") != nil
		}
	case methodRoots:
		needs, ok = "roots", can.Roots.Kind() == '{'
	default:
		return badResponse(c.n.b.Name(), fmt.Errorf("the server asks for %.64q, which no client can be asked", q.Method))
	}
	if ok {
		return nil
	}
	return recourse.New(recourse.KindMissingCapability, "").
		WithMessage("%s asks its client for %s (%s), which this client has not declared that it can do.", c.n.b.Name(), needs, q.Method).
		WithOrigin(recourse.OriginGateway).WithProvider(c.n.b.Name()).WithEffect(recourse.EffectUnknown).
		WithDetail("requiredCapability", needs)
}

// question makes an id for a question to the session's client, and what its answer
// comes on.
func (s *modernSession) question(n *modernServer) (wire.ID, <-chan modernAnswer, error) {
	id := wire.ID(`"ask-` + n.newID().String() + `"`)
	answer := make(chan modernAnswer, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.questions) >= maxPending {
		return nil, nil, recourse.LimitReached("question").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectUnknown).
			WithMessage("The client has %d questions of %s to answer already.", maxPending, n.b.Name())
	}
	s.questions[string(id)] = answer
	return id, answer, nil
}

// unask forgets questions, also those that have been answered.
func (s *modernSession) unask(ids []wire.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.questions, string(id))
	}
}

// answer takes the client's answer to a question. One to something that nobody has
// asked, or that nobody waits for any more, is passed over.
func (s *modernSession) answer(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, answer := range s.questions {
		if !m.ID.Equal(wire.ID(id)) {
			continue
		}
		delete(s.questions, id)
		answer <- modernAnswer{result: slices.Clone(m.Result), err: slices.Clone(m.Error)} // it has room for one
		return
	}
}

// answerTo returns the answer to a question as the server takes it. What a person or a
// client does not want to answer is a cancelled elicitation; the other questions have
// no such answer, and end the call.
func (c *modernCall) answerTo(q inputRequest, a modernAnswer) (json.Value, error) {
	switch {
	case a.result != nil:
		return a.result, nil
	case q.Method == methodElicit:
		return json.Value(`{"action":"cancel"}`), nil
	default:
		return nil, recourse.Cancelled().WithOrigin(recourse.OriginCaller).WithProvider(c.n.b.Name()).
			WithMessage("The client did not answer what %s asked it (%s).", c.n.b.Name(), q.Method).
			CausedBy(fmt.Errorf("%.500s", a.err))
	}
}

// appendRequest appends the request that puts a question to a client of the legacy era.
func appendRequest(dst []byte, id wire.ID, q inputRequest) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = append(dst, `,"method":`...)
	dst = json.AppendQuote(dst, q.Method)
	if q.Params.Kind() == '{' {
		dst = append(append(dst, `,"params":`...), q.Params...)
	}
	return append(dst, '}')
}
