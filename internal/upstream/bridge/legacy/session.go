package legacy

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	// maxSessions limits the sessions at the server; the one idle longest is dropped first.
	maxSessions  = 1000
	sessionIdle  = 30 * time.Minute
	openTimeout  = 15 * time.Second // of a session
	tellTimeout  = 5 * time.Second  // of a message that has no answer
	endTimeout   = 2 * time.Second  // of what is said when all is over
	maxOwnAnswer = 256 << 10        // to a request of the bridge's own
)

// A sessionKey identifies the owner of a session.
type sessionKey struct {
	of       upstream.Caller
	declared [sha256.Size]byte // sum of the capabilities
	spare    int               // counts the sessions beside those in which a call is held
}

// A session is a session of the bridge at the server. It is opened when needed, and again if the server loses
// it.
type session struct {
	srv      *Bridge
	key      sessionKey
	declared json.Value  // capabilities
	asks     bool        // the server may ask something
	header   http.Header // the caller's credentials

	// Guarded by Bridge.mu:
	users, held int // how many use it, including held calls
	weight      int // bytes of the server's answer to initialize

	mu      sync.Mutex
	at      *opened  // nil: not open
	opening *opening // nil: nobody does
	calls   map[string]*exchange
	ended   bool
	heard   *stream // nil: there is none

	listeners listeners
	watching  pause.Turn // of whoever changes what the session is subscribed to

	leveling pause.Turn    // of whoever sets the level
	level    wire.LogLevel // that was set; guarded by leveling
	levelAt  *opened       // where
}

// opened is a session in the form in which the server opened it.
type opened struct {
	id      string     // empty: the server needs none
	version string     // of the protocol
	hello   json.Value // the answer to initialize
}

// An opening is in progress, or has failed.
type opening struct {
	done chan struct{}
	at   *opened
	err  error
}

// enter returns the session for a request, and keeps it until leave is called. A session in which a call
// waits for its client is not used, so that the server's next question can be assigned to a call; callers who
// may be anybody are only asked if the server itself assigns the question.
func (srv *Bridge) enter(r *upstream.Request) *session {
	declared, asks := srv.declare(r.Caller, r.Message.ClientCapabilities)
	key := sessionKey{of: r.Caller, declared: sha256.Sum256(declared)}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for {
		s, ok := srv.sessions.Get(key)
		if !ok {
			s = srv.add(key, declared, asks, r.Header)
		}
		if s.held == 0 || key.spare >= maxHeldByCaller || r.Caller.IsAnonymous() {
			s.users++
			return s
		}
		key.spare++
	}
}

// add makes a session. Bridge.mu is held.
func (srv *Bridge) add(key sessionKey, declared json.Value, asks bool, header http.Header) *session {
	s := &session{
		srv: srv, key: key, declared: declared, asks: asks, header: http.Header{},
		calls: map[string]*exchange{}, watching: pause.NewTurn(1), leveling: pause.NewTurn(1),
	}
	for _, name := range srv.p.Forward {
		if values, ok := header[name]; ok {
			s.header[name] = values
		}
	}
	for _, old := range srv.sessions.Trim(1, (*session).busy) {
		srv.p.Background(old.end)
	}
	srv.sessions.Put(key, s, wire.HeaderSize(s.header))
	if srv.sweeping == nil && !srv.closed {
		srv.sweeping = time.AfterFunc(sessionIdle, srv.sweep)
	}
	return s
}

func (s *session) busy() bool { return s.users > 0 }

// leave ends one use of the session, begun by enter or stay.
func (srv *Bridge) leave(s *session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s.users--
	srv.sessions.Get(s.key) // it has been used until now
}

func (srv *Bridge) stay(s *session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s.users++
}

func (srv *Bridge) sweep() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for _, s := range srv.sessions.Trim(0, (*session).busy) {
		srv.p.Background(s.end)
	}
	if srv.sweeping = nil; srv.sessions.Len() > 0 && !srv.closed {
		srv.sweeping = time.AfterFunc(sessionIdle/2, srv.sweep)
	}
}

// declare returns which of a client's capabilities the server is told about, and whether it may ask questions
// because of them. A program does not say which request a question belongs to, so it is told about none if
// callers may be anybody.
func (srv *Bridge) declare(of upstream.Caller, capabilities json.Value) (declared json.Value, asks bool) {
	if srv.p.Silent || srv.p.Program && of.IsAnonymous() {
		return json.Value("{}"), false
	}
	given := map[string]json.Value{}
	_ = json.Parts(capabilities, func(name string, value json.Value) { given[name] = value }) // they are part of a message
	var to json.Members
	for _, of := range askable {
		if given[of.name].Kind() != '{' {
			continue
		}
		var members json.Members
		for _, member := range of.members {
			if json.Lookup(given[of.name], "/"+json.Pointer(member)).Kind() == '{' {
				members.Add(member, json.Value("{}"))
			}
		}
		to.Object(of.name, members)
	}
	return to.AppendTo(nil), len(to) > 0
}

// askable are the capabilities that let a server ask something, with the members that exist in both eras.
// They are few, so that no client has many sessions.
var askable = []struct {
	name    string
	members []string
}{{"elicitation", []string{"form", "url"}}, {"roots", nil}, {"sampling", []string{"context", "tools"}}}

// ready returns the open session. It opens it if it is not open, or is the one that the server has lost; once
// for all callers. The error is a [*denial], [peer.ErrOtherEra], or states recourse.EffectNone.
func (s *session) ready(ctx context.Context, lost *opened) (*opened, error) {
	s.mu.Lock()
	if s.at != nil && s.at != lost {
		defer s.mu.Unlock()
		return s.at, nil
	}
	s.at = nil
	if s.opening == nil {
		op := &opening{done: make(chan struct{})}
		s.opening = op
		s.srv.p.Background(func(ctx context.Context) { s.open(ctx, op) }) // it serves all callers, and outlives this one
	}
	op := s.opening
	s.mu.Unlock()
	select {
	case <-op.done:
		return op.at, op.err
	case <-ctx.Done():
		return nil, s.srv.p.EndedBeforeSend(ctx)
	}
}

func (s *session) open(ctx context.Context, op *opening) {
	ctx, cancel := context.WithTimeout(ctx, s.srv.p.Patience(openTimeout))
	defer cancel()
	op.at, op.err = s.initialize(ctx)
	if op.err == nil {
		s.srv.p.Eras.Only(wire.Legacy)
		s.hearFrom(ctx, op.at)
	}
	s.mu.Lock()
	s.at, s.opening = op.at, nil
	s.mu.Unlock()
	if op.err == nil { // the answer is kept: its size replaces that of the previous one
		weight := len(op.at.hello) + len(op.at.id)
		s.srv.mu.Lock()
		s.srv.sessions.Grow(s.key, weight-s.weight)
		s.weight = weight
		s.srv.mu.Unlock()
	}
	close(op.done)
}

func (s *session) initialize(ctx context.Context) (*opened, error) {
	p := s.srv.p
	answer, err := s.ask(ctx, nil, wire.MethodInitialize, upstream.InitializeParams(s.declared))
	switch {
	case err != nil && recourse.From(err).Kind == recourse.KindBadResponse:
		return nil, peer.ErrOtherEra
	case err != nil:
		return nil, recourse.From(err).WithEffect(recourse.EffectNone)
	case peer.IsDenied(answer.Status):
		return nil, &denial{answer: answer}
	case peer.IsAway(answer.Status):
		return nil, p.Refused(peer.Respond(answer.Status, answer.Header, answer.Body)).WithEffect(recourse.EffectNone)
	}
	at := &opened{
		id: answer.Header.Get(wire.HeaderSession), hello: answer.Result, version: json.Text(answer.Result, "/protocolVersion"),
	}
	if era, ok := wire.EraOf(at.version); !ok || era != wire.Legacy {
		return nil, peer.ErrOtherEra
	}
	if err := s.tell(ctx, at, wire.AppendRequest(nil, nil, wire.MethodInitialized, nil)); err != nil {
		return nil, recourse.From(err).WithEffect(recourse.EffectNone)
	}
	return at, nil
}

// headerAt returns the headers of one of the bridge's own messages in the session.
func (s *session) headerAt(at *opened) http.Header {
	h := peer.HeaderOf(s.header)
	at.name(h)
	return h
}

// name adds the session's id to the headers of a message.
func (at *opened) name(h http.Header) {
	if at == nil {
		return
	}
	h[wire.HeaderVersion] = []string{at.version}
	if at.id != "" {
		h[wire.HeaderSession] = []string{at.id}
	}
}

func (s *session) post(ctx context.Context, header http.Header, text []byte, beside *upstream.Beside) (*wire.Answer, error) {
	return s.srv.p.Do(ctx, &upstream.Request{Header: header, Body: text, Caller: s.key.of, Beside: beside})
}

// without makes a request without a message: DELETE, or GET for what follows the event with that id.
func (s *session) without(ctx context.Context, method string, at *opened, lastEvent string) (*wire.Answer, error) {
	h := s.headerAt(at)
	delete(h, "Content-Type")
	if method == http.MethodGet {
		h["Accept"] = []string{wire.TypeEventStream}
	}
	if lastEvent != "" {
		h[wire.HeaderLastEventID] = []string{lastEvent}
	}
	return s.srv.p.Do(ctx, &upstream.Request{Method: method, Header: h, Caller: s.key.of})
}

func (s *session) ask(ctx context.Context, at *opened, method string, params []byte) (*upstream.WholeAnswer, error) {
	id := s.srv.p.NewID()
	r := &upstream.Request{Header: s.headerAt(at), Body: wire.AppendRequest(nil, id, method, params), Caller: s.key.of}
	return upstream.Ask(ctx, s.srv.p, r, id, maxOwnAnswer)
}

// setLevel makes the server log as much as any request in the session has asked for. Logs that a request has
// not asked for are left out of its answer.
func (s *session) setLevel(ctx context.Context, at *opened, level wire.LogLevel) {
	if level == 0 || s.srv.p.Silent || json.Lookup(at.hello, "/capabilities/logging") == nil {
		return
	}
	if !s.leveling.Take(ctx) {
		return
	}
	defer s.leveling.Leave()
	if s.levelAt == at && s.level <= level {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	params := []byte(`{"level":"` + level.String() + `"}`)
	if answer, err := s.ask(ctx, at, wire.MethodSetLevel, params); err == nil && answer.Result != nil {
		s.level, s.levelAt = level, at
	}
}

func (s *session) tell(ctx context.Context, at *opened, text []byte) error {
	resp, err := s.post(ctx, s.headerAt(at), text, nil)
	if err != nil {
		return err
	}
	drain(resp)
	return nil
}

// reply answers a request from the server, in the background.
func (s *session) reply(at *opened, text []byte) {
	s.srv.p.Background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		_ = s.tell(ctx, at, text) // the server will notice that there is no answer
	})
}

// end ends the session, here and at the server.
func (s *session) end(ctx context.Context) {
	s.mu.Lock()
	at := s.at
	s.at, s.ended = nil, true
	if s.heard != nil {
		s.heard.cancel()
	}
	s.mu.Unlock()
	s.listeners.each((*listener).Finish)
	if at == nil || at.id == "" || s.srv.p.Program {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if resp, err := s.without(ctx, http.MethodDelete, at, ""); err == nil { // otherwise it ends when it is idle
		drain(resp)
	}
}
