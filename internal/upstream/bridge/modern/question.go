package modern

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	maxRounds    = 16  // how often a server asks before it answers a request
	maxQuestions = 32  // at once
	maxPending   = 128 // of all calls of a session
	// A server that asks nothing, and wants the request again, is given pauses from firstRest to longestRest.
	firstRest   = 100 * time.Millisecond
	longestRest = 5 * time.Second
)

// inputRequired is the result of a server that first needs something from its client (MCP 2026-07-28, multi
// round-trip requests).
type inputRequired struct {
	Requests map[string]inputRequest `json:"inputRequests"`
	State    json.Value              `json:"requestState"`
}

type inputRequest struct {
	Method string     `json:"method"`
	Params json.Value `json:"params"`
}

func (q inputRequest) message(id wire.ID) []byte {
	var params json.Value
	if q.Params.Kind() == '{' {
		params = q.Params
	}
	if q.asksForURL() && json.Lookup(params, "/elicitationId") == nil { // only the legacy era has it, and requires it
		members := json.MembersOf(params)
		members.Add("elicitationId", json.Value(id))
		params = members.AppendTo(nil)
	}
	return wire.AppendRequest(nil, id, q.Method, params)
}

// asksForURL reports whether the client should show its user a link.
func (q inputRequest) asksForURL() bool {
	return q.Method == wire.MethodElicit && string(json.Lookup(q.Params, "/mode")) == `"url"`
}

// A reply is the client's answer to a question.
type reply struct {
	result json.Value
	err    json.Value // in place of it
}

var (
	errEmptyQuestion = errors.New("the server needs input, but neither asks for any nor gives a state")
	errManyRounds    = fmt.Errorf("the server asked more than %d times", maxRounds)
	errManyQuestions = fmt.Errorf("the server asked more than %d things at once", maxQuestions)
)

func readInputRequired(result json.Value, p *peer.Peer) (*inputRequired, error) {
	asked := new(inputRequired)
	err := json.UnmarshalLenient(result, asked)
	switch {
	case err != nil:
		return nil, p.BadResponse(fmt.Errorf("reading what the server asks: %w", err))
	case len(asked.Requests) == 0 && asked.State == nil:
		return nil, p.BadResponse(errEmptyQuestion)
	case len(asked.Requests) > maxQuestions:
		return nil, p.BadResponse(errManyQuestions)
	default:
		return asked, nil
	}
}

// ask asks the client, and repeats the call with the answers.
func (c *exchange) ask(asked *inputRequired) (*wire.Answer, error) {
	c.rounds++
	if c.rounds > maxRounds {
		return nil, c.srv.p.BadResponse(errManyRounds)
	}
	answers, err := c.answers(asked)
	if err != nil {
		return nil, err
	}
	id := c.srv.p.NewID()
	if id.Equal(c.clientID) {
		id = c.srv.p.NewID()
	}
	c.id, c.text = id, c.again(id, answers, asked.State)
	return c.post()
}

// answers returns the client's answers by the server's names for its questions.
func (c *exchange) answers(asked *inputRequired) (map[string]json.Value, error) {
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
	defer func() { c.s.withdraw(ids) }()
	waiting := make(map[string]<-chan reply, len(names))
	for _, name := range names {
		id, answer, err := c.s.question(c.srv)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		waiting[name] = answer
	}
	c.begin(nil, true)
	for i, name := range names {
		c.say(asked.Requests[name].message(ids[i]))
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

func (c *exchange) rest() error {
	if !pause.For(c.ctx, min(firstRest<<(c.rounds-1), longestRest)) {
		return c.broken(context.Cause(c.ctx))
	}
	return nil
}

// mayAsk returns an error for a question that the client has not declared support for.
func (c *exchange) mayAsk(q inputRequest) error {
	var can declared
	if c.s != nil {
		can = c.s.declared
	}
	var needs string
	var ok bool
	switch q.Method {
	case wire.MethodElicit:
		needs, ok = "elicitation", can.Elicitation.Kind() == '{'
		if ok && q.asksForURL() {
			needs, ok = "elicitation.url", json.Lookup(can.Elicitation, "/url") != nil
		}
	case wire.MethodSample:
		needs, ok = "sampling", can.Sampling.Kind() == '{'
		if ok && json.Lookup(q.Params, "/tools") != nil {
			needs, ok = "sampling.tools", json.Lookup(can.Sampling, "/tools") != nil
		}
	case wire.MethodRoots:
		needs, ok = "roots", can.Roots.Kind() == '{'
	default:
		return c.srv.p.BadResponse(fmt.Errorf("the server asks for %.64q, which no client can be asked", q.Method))
	}
	if ok {
		return nil
	}
	return recourse.New(recourse.KindMissingCapability, "").
		WithMessage("%s asks its client for %s (%s), which this client has not declared that it can do.", c.srv.p.Name(), needs, q.Method).
		WithOrigin(recourse.OriginGateway).WithProvider(c.srv.p.Name()).WithEffect(recourse.EffectUnknown).
		WithDetail("requiredCapability", needs)
}

// question creates an id for a question to the client, and the channel for its answer.
func (s *clientState) question(srv *Bridge) (wire.ID, <-chan reply, error) {
	id := wire.ID(`"ask-` + srv.p.NewID().String() + `"`)
	answer := make(chan reply, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.questions) >= maxPending {
		return nil, nil, recourse.LimitReached("question").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectUnknown).
			WithMessage("The client has %d questions of %s to answer already.", maxPending, srv.p.Name())
	}
	s.questions[string(id)] = answer
	return id, answer, nil
}

func (s *clientState) withdraw(ids []wire.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.questions, string(id))
	}
}

// answer takes the client's answer to a question. It is dropped if nobody waits for it.
func (s *clientState) answer(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, answer := range s.questions {
		if !m.ID.Equal(wire.ID(id)) {
			continue
		}
		delete(s.questions, id)
		answer <- reply{result: slices.Clone(m.Result), err: slices.Clone(m.Error)} // it has room for one
		return
	}
}

// answerTo returns the answer to a question in the server's form. An error is a cancelled elicitation; the
// other questions have no such answer, so it ends the call.
func (c *exchange) answerTo(q inputRequest, a reply) (json.Value, error) {
	switch {
	case a.result != nil:
		return a.result, nil
	case q.Method == wire.MethodElicit:
		return json.Value(`{"action":"cancel"}`), nil
	default:
		return nil, recourse.Cancelled().WithOrigin(recourse.OriginCaller).WithProvider(c.srv.p.Name()).
			WithMessage("The client did not answer what %s asked it (%s).", c.srv.p.Name(), q.Method).
			CausedBy(fmt.Errorf("%.500s", a.err))
	}
}
