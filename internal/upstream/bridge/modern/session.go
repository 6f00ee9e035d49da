package modern

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	// sessionIdle is how long a session without a request is kept, and maxSessions how many there may be; the
	// one idle longest is dropped first. A client whose session is gone initializes another.
	sessionIdle = 24 * time.Hour
	maxSessions = 100_000
	// maxIntroduction limits what a client says about itself in initialize, in bytes: it is repeated in each
	// request.
	maxIntroduction = 8 << 10
)

// clientState holds what a modern server does not remember from one request of a client to the next.
type clientState struct {
	id       string
	of       upstream.Caller
	meta     []byte // members of each request's _meta, without braces
	declared declared
	offered  offered

	mu        sync.Mutex
	ended     bool
	level     string                  // of the logs that the client wants
	calls     map[*exchange]struct{}  // under way
	questions map[string]chan<- reply // to the client, by the id of the request to it
	watched   []string                // URIs that the client has subscribed to
	stream    *stream                 // on which the client listens; nil: it does not
}

// declared are a client's capabilities, which say what it can be asked.
type declared struct {
	Roots       json.Value `json:"roots"`
	Sampling    json.Value `json:"sampling"`
	Elicitation json.Value `json:"elicitation"`
}

// offered is what the bridge has to know of the server's capabilities.
type offered struct {
	changes   wire.Filter // of lists, which the server announces
	subscribe bool        // to resources
	logging   bool
}

// find returns the session of that id, or nil. It belongs to the caller who opened it.
func (srv *Bridge) find(id string, of upstream.Caller) *clientState {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s, ok := srv.sessions.Get(id)
	if !ok || s.of != of {
		return nil
	}
	return s
}

func (srv *Bridge) forget(s *clientState) {
	srv.mu.Lock()
	srv.sessions.Remove(s.id)
	srv.mu.Unlock()
	s.end()
}

func (srv *Bridge) add(s *clientState) {
	srv.mu.Lock()
	idle := srv.sessions.Trim(1, (*clientState).busy)
	srv.sessions.Put(s.id, s, 2*len(s.meta))
	srv.mu.Unlock()
	for _, old := range idle {
		old.end()
	}
}

func (s *clientState) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0 || s.stream != nil
}

func (s *clientState) end() {
	s.mu.Lock()
	s.ended = true
	calls, stream := s.calls, s.stream
	s.calls, s.stream = nil, nil
	s.mu.Unlock()
	for c := range calls {
		c.cancel(errSessionEnded)
	}
	if stream != nil {
		stream.close()
	}
}

// open answers initialize from the server's answer to server/discover.
func (srv *Bridge) open(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	m := r.Message
	s, version, refusal := srv.introduced(r)
	if refusal != nil {
		return refusal, nil
	}
	h := peer.ModernHeader(r.Header, wire.MethodDiscover)
	params := append(append([]byte(`{"_meta":{`), s.meta...), "}}"...)
	asks := r.For(h, wire.AppendRequest(nil, m.ID, wire.MethodDiscover, params))
	answer, err := upstream.Ask(ctx, srv.p, asks, m.ID, peer.MaxDiscover)
	switch {
	case err != nil:
		return nil, err
	case answer.Status != http.StatusOK:
		if peer.RefusesEra(answer.Status) && peer.SoundsLegacy(answer.Status, h, answer.Body) {
			return nil, peer.ErrOtherEra
		}
		return srv.passRefusal(answer.Status, answer.Header, answer.Body), nil
	case answer.Error != nil:
		if string(json.Lookup(answer.Error, "/code")) == "-32601" {
			return nil, peer.ErrOtherEra
		}
		return wire.Respond(http.StatusOK, wire.AppendFailure(nil, m.ID, answer.Error)), nil
	case !wire.SpeaksModern(answer.Result):
		return nil, peer.ErrOtherEra
	}
	result := s.greet(answer.Result, version, srv.p.Name())
	srv.add(s)
	resp := wire.RespondResult(m.ID, result)
	resp.Header = http.Header{wire.HeaderSession: {s.id}}
	return resp, nil
}

// introduced returns a session for a client that introduces itself in initialize, and the version for the
// answer: the client's own, if it is known.
func (srv *Bridge) introduced(r *upstream.Request) (s *clientState, version string, refusal *wire.Answer) {
	m := r.Message
	var params struct {
		ProtocolVersion string                `json:"protocolVersion"`
		Capabilities    map[string]json.Value `json:"capabilities"`
		ClientInfo      json.Value            `json:"clientInfo"`
	}
	if m.Params == nil || json.Unmarshal(m.Params, &params) != nil || params.ProtocolVersion == "" {
		return nil, "", wire.RespondError(m.ID, wire.CodeInvalidParams, "The params of initialize need protocolVersion and capabilities.")
	}
	params.ProtocolVersion = VersionFor(params.ProtocolVersion)
	delete(params.Capabilities, "tasks") // of a form that the modern era does not have
	capabilities, err := json.Marshal(params.Capabilities)
	if err != nil || len(capabilities)+len(params.ClientInfo) > maxIntroduction {
		return nil, "", wire.RespondError(m.ID, wire.CodeInvalidParams, "What the client says about itself in initialize is too long.")
	}
	s = &clientState{
		id: sessionPrefix + rand.Text(), of: r.Caller, meta: introduction(params.ClientInfo, capabilities),
		calls: map[*exchange]struct{}{}, questions: map[string]chan<- reply{},
	}
	_ = json.UnmarshalLenient(capabilities, &s.declared) // what cannot be read is not declared
	return s, params.ProtocolVersion, nil
}

// VersionFor returns the version in the answer to a client that asks for that one.
func VersionFor(asked string) string {
	if era, ok := wire.EraOf(asked); (!ok || era != wire.Legacy) && asked != wire.Version20241105 {
		return wire.Version20251125
	}
	return asked
}

// introduction is [wire.Introduction]; a client that does not identify itself is introduced under our name.
func introduction(info, capabilities []byte) []byte {
	if json.Value(info).Kind() != '{' {
		info = upstream.ClientInfo
	}
	return wire.Introduction(info, capabilities)
}

// stranger is the introduction of clients without a session.
var stranger = introduction(nil, []byte("{}"))

// greet is [Greeting] of a client in its session.
func (s *clientState) greet(discovered json.Value, version, name string) json.Value {
	capabilities := capabilitiesIn(discovered)
	s.offered = offered{
		changes: wire.Announced(capabilities), subscribe: json.IsTrue(capabilities, "/resources/subscribe"),
		logging: json.Lookup(capabilities, "/logging") != nil,
	}
	return Greeting(discovered, version, name)
}

func capabilitiesIn(discovered json.Value) json.Value {
	capabilities := json.Without(json.Lookup(discovered, "/capabilities"), "tasks")
	return json.Change(capabilities, "extensions", func(extensions json.Value) json.Value {
		return json.Without(extensions, wire.ExtensionTasks)
	})
}

// Greeting turns the result of server/discover into that of initialize; name is the server's if it has none.
func Greeting(discovered json.Value, version, name string) json.Value {
	info := json.Lookup(discovered, json.Pointer("/_meta").AppendToken(wire.MetaServerInfo))
	if info.Kind() != '{' {
		info = json.Lookup(discovered, "/serverInfo")
	}
	if info.Kind() != '{' {
		info = append(json.AppendQuote([]byte(`{"name":`), name), `,"version":"unknown"}`...)
	}
	var l json.Members
	l.Text("protocolVersion", version)
	l.Object("capabilities", json.MembersOf(capabilitiesIn(discovered)))
	l.Add("serverInfo", info)
	if instructions := json.Lookup(discovered, "/instructions"); instructions.Kind() == '"' {
		l.Add("instructions", instructions)
	}
	return l.AppendTo(nil)
}

// setLevel remembers which logs the client wants; each of its requests asks for them.
func (s *clientState) setLevel(m *wire.Message) *wire.Answer {
	level := json.Text(m.Params, "/level")
	switch {
	case !s.offered.logging:
		return wire.RespondError(m.ID, wire.CodeMethodNotFound, "The server does not offer logging.")
	case wire.LogLevelOf(level) == 0:
		return wire.RespondError(m.ID, wire.CodeInvalidParams, "The level must be one of those in RFC 5424, such as warning.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
	return wire.RespondResult(m.ID, []byte("{}"))
}

// introduce returns the introduction of the session's requests; s may be nil.
func (s *clientState) introduce() []byte {
	if s == nil {
		return stranger
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.level == "" {
		return s.meta
	}
	return append(slices.Clip(s.meta), `,"`+wire.MetaLogLevel+`":"`+s.level+`"`...)
}
