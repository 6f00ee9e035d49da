package record

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// By says how a call is found in a recording.
type By string

// The ways.
const (
	ByOrder     By = "order"     // the next call of the same tool
	ByArguments By = "arguments" // a call of the same tool with the same arguments
)

// A Player plays the server's side of a recording.
type Player struct {
	Recording *Recording
	By        By
	Speed     float64  // how many times as fast as recorded the pauses pass; 0: there are none
	Secrets   []string // what was masked besides what is recognised

	once   sync.Once
	mask   *mask
	mu     sync.Mutex
	missed []string
	misses int
}

// maxMissed is how many calls are named that the recording does not have.
const maxMissed = 20

// Missing returns an error that names the calls that were made and were not in the recording.
func (p *Player) Missing() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.misses == 0 {
		return nil
	}
	return fmt.Errorf("%d of the messages had no answer in the recording:\n  %s", p.misses, strings.Join(p.missed, "\n  "))
}

func (p *Player) missing(what string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.misses++; len(p.missed) < maxMissed {
		p.missed = append(p.missed, what)
	}
	return what
}

// masked returns a client's message as it would have been recorded.
func (p *Player) masked(text []byte) []byte {
	p.once.Do(func() { p.mask = newMask(p.Secrets) })
	return p.mask.message(text, client)
}

// stage is where a recording is played: it knows how far it has come.
type stage struct {
	p *Player

	mu    sync.Mutex
	used  map[*cue]bool
	next  map[**cue]int // of the list that begins there, up to where all are used
	asked int64         // the last id of a request to the client
	waits map[string]chan struct{}
	gone  chan struct{} // closed when the client says no more

	sessions []int32 // those in which the client's every word was said; nil: it has said none
	others   int     // how often it has said something else since
	strayed  bool    // there is none, or it does not matter
}

// maxOthers is how often a client that repeats a session may say what is not in it: a recording does not have the requests of one that hung
// up before they had arrived.
const maxOthers = 10

// stage returns one for clients over HTTP, or on stdio. Over the other transport, the same words may come for another reason.
func (p *Player) stage(overHTTP bool) *stage {
	return &stage{
		p: p, strayed: overHTTP != p.Recording.http || p.By == ByOrder,
		used: map[*cue]bool{}, next: map[**cue]int{}, waits: map[string]chan struct{}{}, gone: make(chan struct{}),
	}
}

// out is where a stage speaks.
type out interface {
	head(status int, headers map[string]string)
	say(text []byte, answers bool)
	broken(how string) // as it was recorded
}

// find returns the cue for what the client says, or why there is none.
func (s *stage) find(method string, text []byte) (c *cue, why string) {
	m := read(s.p.masked(text))
	words, exactly, loosely := keys(method, &m)
	all := s.p.Recording.exactly[exactly]
	if s.p.By == ByOrder {
		all = s.p.Recording.loosely[loosely]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.follow(words, exactly); c != nil {
		s.used[c] = true
		return c, ""
	}
	if text != nil {
		s.others++
		s.strayed = s.strayed || s.sessions == nil || s.others > maxOthers
	}
	left := s.unused(all)
	name := method
	if tool := nameOf(m.Params); tool != "" {
		name += " " + tool
	}
	switch same := len(s.p.Recording.loosely[loosely]); {
	case len(all) == 0 && same > 0:
		return nil, fmt.Sprintf("%s with these arguments (it has %d with others): %s", name, same, brief(m.Params))
	case len(all) == 0:
		return nil, name
	case len(left) > 0:
		s.used[left[0]] = true
		return left[0], ""
	case s.p.By == ByOrder && method == wire.MethodToolsCall:
		return nil, fmt.Sprintf("%s more than %d times", name, len(all))
	default:
		return all[len(all)-1], ""
	}
}

// unused returns the rest of a list, from its first cue that has not been played.
func (s *stage) unused(all []*cue) []*cue {
	if len(all) == 0 {
		return nil
	}
	n := s.next[&all[0]]
	for n < len(all) && s.used[all[n]] {
		n++
	}
	s.next[&all[0]] = n
	return all[n:]
}

// follow returns the cue for a client that repeats a recorded session, as long as it says what was said there, word for word; nil: it
// does not. Sessions that begin alike are told apart by what comes later.
func (s *stage) follow(words, exactly cueKey) (found *cue) {
	if s.strayed {
		return nil
	}
	all := s.p.Recording.spare[exactly]
	if all == nil {
		all = s.p.Recording.exactly[exactly]
	}
	var sessions []int32
	for _, c := range s.unused(all) {
		possible := s.sessions == nil || slices.Contains(s.sessions, c.session)
		if c.words != words || s.used[c] || !possible || slices.Contains(sessions, c.session) {
			continue
		}
		if found == nil {
			found = c
		}
		if sessions = append(sessions, c.session); len(sessions) == len(s.sessions) {
			break
		}
	}
	if found != nil {
		s.sessions = sessions
	}
	return found
}

// follows reports whether a message is the next one of a client that repeats a recorded session.
func (s *stage) follows(text []byte) bool {
	m := read(s.p.masked(text))
	words, exactly, _ := keys(m.Method, &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow(words, exactly) != nil
}

// brief returns the arguments for a message.
func brief(params json.Value) string {
	text := string(json.Canonical(orEmpty(json.Lookup(params, "/arguments"))))
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return text
}

// hear takes a client's message, and returns what answers it, or nil.
func (s *stage) hear(text []byte) func(context.Context, out) {
	m := read(text)
	method := m.Method
	switch {
	case m.answers():
		s.answered(m.ID)
		return nil
	case method == "":
		method = garbage
	}
	c, why := s.find(method, text)
	switch {
	case c != nil:
		return func(ctx context.Context, o out) { s.play(ctx, c, &m, o) }
	case method == garbage:
		return func(_ context.Context, o out) {
			o.say(wire.AppendError(nil, nil, wire.CodeInvalidRequest, "this is no message", nil), true)
		}
	case !m.asks():
		return nil
	case method == wire.MethodInitialize, method == wire.MethodDiscover: // a client may try one after the other
		return func(_ context.Context, o out) {
			o.say(wire.AppendError(nil, wire.ID(m.ID), wire.CodeMethodNotFound, "the recording has no "+method, nil), true)
		}
	case method == wire.MethodPing:
		return func(_ context.Context, o out) { o.say(wire.AppendResult(nil, wire.ID(m.ID), []byte("{}")), true) }
	default:
		return func(_ context.Context, o out) { s.refuse(&m, why, o) }
	}
}

// refuse says that the recording has no answer.
func (s *stage) refuse(m *spoken, why string, o out) {
	text := wire.Unrecorded + s.p.missing(why)
	if m.Method == wire.MethodToolsCall {
		result := `{"content":[{"type":"text","text":` + string(json.AppendQuote(nil, text)) + `}],"isError":true}`
		o.say(wire.AppendResult(nil, wire.ID(m.ID), []byte(result)), true)
		return
	}
	o.say(wire.AppendError(nil, wire.ID(m.ID), wire.CodeMethodNotFound, text, nil), true)
}

// play says what belongs to a cue.
func (s *stage) play(ctx context.Context, c *cue, m *spoken, o out) {
	for _, l := range c.lines {
		s.pause(ctx, l.gap)
		e, err := s.p.Recording.entry(l)
		if err != nil {
			s.refuse(m, "(the file cannot be read any more: "+err.Error()+")", o)
			return
		}
		if !s.line(ctx, &e, m, o) {
			return
		}
	}
	if c.asks && !c.answered && !c.silent {
		s.refuse(m, m.Method+" "+nameOf(m.Params)+", because it ends before that", o)
	}
}

// pause waits as long as recorded, or until the client says no more.
func (s *stage) pause(ctx context.Context, gap time.Duration) {
	if s.p.Speed <= 0 || gap <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	pause.For(ctx, time.Duration(float64(gap)/s.p.Speed))
}

// line says one line, and reports whether it goes on.
func (s *stage) line(ctx context.Context, e *fileEntry, m *spoken, o out) bool {
	if e.Status > 0 {
		o.head(e.Status, e.Headers)
	}
	spoken := read(e.Message)
	switch {
	case e.End != "":
		o.broken(e.End)
		return false
	case e.LeftOut > 0:
		s.refuse(m, fmt.Sprintf("%s %s: it was too large (%d bytes)", m.Method, nameOf(m.Params), e.LeftOut), o)
		return false
	case e.Text != "":
		o.say([]byte(e.Text), e.Status >= http.StatusBadRequest)
	case e.Message == nil:
		if e.Status >= http.StatusBadRequest {
			o.say(nil, true)
		}
	case spoken.asks():
		return s.ask(ctx, e.Message, o)
	case spoken.Method == wire.MethodProgress:
		if token := m.token(); token != nil {
			o.say(json.Change(e.Message, "params", func(params json.Value) json.Value {
				return json.Change(params, "progressToken", func(json.Value) json.Value { return token })
			}), false)
		}
	case spoken.answers() && spoken.ID != nil && m.ID != nil:
		o.say(json.Change(e.Message, "id", func(json.Value) json.Value { return m.ID }), true)
	default:
		o.say(e.Message, spoken.answers())
	}
	return true
}

// ask asks the client, and waits until it has answered.
func (s *stage) ask(ctx context.Context, request json.Value, o out) bool {
	done := make(chan struct{})
	s.mu.Lock()
	s.asked++
	id := wire.IntID(s.asked)
	s.waits[string(id)] = done
	s.mu.Unlock()
	o.say(json.Change(request, "id", func(json.Value) json.Value { return json.Value(id) }), false)
	select {
	case <-done:
		return true
	case <-s.gone:
	case <-ctx.Done():
	}
	return false
}

// answered lets go on what waits for the client's answer.
func (s *stage) answered(id json.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done := s.waits[string(id)]; done != nil {
		close(done)
		delete(s.waits, string(id))
	}
}
