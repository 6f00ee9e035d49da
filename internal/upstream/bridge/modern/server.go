package modern

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

// Bridge presents a modern server to legacy clients as one of theirs.
type Bridge struct {
	p       *peer.Peer
	mirrors mirrors
	orphans atomic.Int64 // calls whose client has gone

	mu       sync.Mutex
	sessions *recent.Map[string, *clientState]
}

// New returns the way to p.
func New(p *peer.Peer) *Bridge {
	bounds := recent.Bounds{Most: maxSessions, Bytes: peer.MaxSessionBytes, Idle: sessionIdle}
	return &Bridge{p: p, sessions: recent.New[string, *clientState](bounds)}
}

// Close ends the sessions with their calls and streams.
func (srv *Bridge) Close() {
	srv.mu.Lock()
	sessions := srv.sessions.All()
	srv.mu.Unlock()
	for _, s := range sessions {
		s.end()
	}
}

// Do takes a request of the legacy era. It returns [peer.ErrOtherEra] if the server does not speak the modern
// one.
func (srv *Bridge) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	id := r.Header.Get(wire.HeaderSession)
	var s *clientState
	if id != "" {
		s = srv.find(id, r.Caller)
	}
	switch m := r.Message; {
	case m != nil && m.Kind == wire.Request && m.Method == wire.MethodInitialize:
		return srv.open(ctx, r)
	case m != nil && id != "" && s == nil:
		return wire.RespondLost(), nil
	case m != nil:
		return srv.post(ctx, s, r)
	case id == "":
		return wire.RespondRefusal(http.StatusBadRequest, "the header Mcp-Session-Id is missing"), nil
	case s == nil:
		return wire.RespondLost(), nil
	case r.Method == http.MethodGet:
		return srv.listen(ctx, s, r)
	default:
		srv.forget(s)
		return wire.Respond(http.StatusNoContent, nil), nil
	}
}

// post takes a message; s is nil if the client has no session.
func (srv *Bridge) post(ctx context.Context, s *clientState, r *upstream.Request) (*wire.Answer, error) {
	switch r.Message.Kind {
	case wire.Request:
		return srv.request(ctx, s, r)
	case wire.Response:
		if s != nil {
			s.answer(r.Message)
		}
		return wire.Respond(http.StatusAccepted, nil), nil
	default:
		return srv.notification(ctx, s, r)
	}
}

// request answers a request, itself if the modern era has no such method.
func (srv *Bridge) request(ctx context.Context, s *clientState, r *upstream.Request) (*wire.Answer, error) {
	switch m := r.Message; {
	case m.Method == wire.MethodPing:
		return wire.RespondResult(m.ID, []byte("{}")), nil
	case m.Method == wire.MethodSetLevel && s != nil:
		return s.setLevel(m), nil
	case m.Method == wire.MethodSubscribe && s != nil, m.Method == wire.MethodUnsubscribe && s != nil:
		return srv.subscribe(ctx, s, r)
	case !crosses(m.Method):
		return wire.RespondError(m.ID, wire.CodeMethodNotFound,
			fmt.Sprintf("%s speaks MCP %s, where %.64s has no counterpart.", srv.p.Name(), wire.Version20260728, m.Method)), nil
	case len(m.Params) > 0 && m.Params[0] != '{':
		return wire.RespondError(m.ID, wire.CodeInvalidParams, "The params of an MCP request must be an object."), nil
	case wire.Named(m.Method) && m.Name == "":
		return wire.RespondError(m.ID, wire.CodeInvalidParams,
			"The params of "+m.Method+" do not say what it is for: name or uri is missing."), nil
	default:
		return srv.call(ctx, s, r)
	}
}

// crosses reports whether the modern era has the method, possibly as an extension. A name that is not valid
// in the header Mcp-Method does not exist.
func crosses(method string) bool {
	switch method {
	case "", wire.MethodSetLevel, wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodListen, wire.MethodDiscover:
		return false
	default:
		isToken := strings.IndexFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
		return isToken && !strings.HasPrefix(method, "tasks/")
	}
}

// notification takes a client's notification. Those about a session are not passed on.
func (srv *Bridge) notification(ctx context.Context, s *clientState, r *upstream.Request) (*wire.Answer, error) {
	m := r.Message
	switch m.Method {
	case wire.MethodInitialized, wire.MethodRootsChanged, wire.MethodProgress:
		return wire.Respond(http.StatusAccepted, nil), nil
	case wire.MethodCancelled:
		if s != nil {
			s.cancel(m.RequestID)
		}
		return wire.Respond(http.StatusAccepted, nil), nil
	}
	if !wire.IsNotification(m.Method) || !crosses(m.Method) {
		return wire.Respond(http.StatusAccepted, nil), nil // servers are not notified of it
	}
	h := peer.HeaderOf(r.Header)
	wire.SetHeaders(h, wire.Version20260728, m)
	resp, err := srv.p.Do(ctx, r.For(h, bytes.Clone(m.Raw)))
	if err == nil && resp.Status == http.StatusNotFound { // otherwise it would mean a lost session
		resp.Status = http.StatusBadRequest
	}
	return resp, err
}

// A suspicion is how likely it is that a server only speaks the modern era.
type suspicion uint8

const (
	innocent  suspicion = iota
	suspected           // its refusal could be that of such a server: ask it
	avowed              // it says that it only supports the modern version
)

// refused returns whether the answer to a legacy message looks like the refusal of a server that only speaks
// the modern era (MCP 2026-07-28, versioning, "Compatibility Matrix"). The answer is not consumed. A server
// that has opened a session speaks the legacy era, and is only suspected if it refuses in modern words.
func (srv *Bridge) refused(r *upstream.Request, resp *wire.Answer) suspicion {
	known := srv.p.Eras.Of(wire.Legacy) == peer.Yes
	isRefusal := peer.Refuses(resp)
	if known && !isRefusal {
		return innocent
	}
	opening := resp.Status == http.StatusOK && !resp.Stream &&
		r.Header.Get(wire.HeaderSession) == "" &&
		r.Message.Method == wire.MethodInitialize
	if !opening && !isRefusal {
		return innocent
	}
	text, err := peer.Keep(resp)
	if err != nil {
		return innocent
	}
	if opening && json.Lookup(text, "/result/protocolVersion") != nil {
		srv.p.Eras.Set(wire.Legacy, peer.Yes)
		return innocent
	}
	switch code := peer.CodeOf(text); {
	case code == "-32022" && string(json.Lookup(text, "/error/data/supported")) == `["`+wire.Version20260728+`"]`:
		return avowed
	case code == "-32020", code == "-32022":
		return suspected
	case !known && (isRefusal || code == "-32601" || code == "-32602"):
		return suspected
	default:
		return innocent
	}
}

// probe is an initialize that every legacy server accepts.
var (
	probeID = wire.ID(`"recourse-probe"`)
	probe   = wire.AppendRequest(nil, probeID, wire.MethodInitialize, upstream.InitializeParams([]byte("{}")))
)

// Alone reports whether resp, the answer to a legacy message, comes from a server that only speaks the modern
// era: one that accepts no initialize at all. The answer is not consumed.
func (srv *Bridge) Alone(ctx context.Context, r *upstream.Request, resp *wire.Answer) bool {
	is := srv.refused(r, resp)
	if is == innocent {
		return false
	}
	if speaks, err := srv.p.Discover(ctx, r.Caller, r.Header); err != nil || speaks != peer.Yes {
		return false
	}
	if is == avowed {
		return true
	}
	h := peer.HeaderOf(r.Header)
	answer, err := upstream.Ask(ctx, srv.p, r.For(h.Clone(), probe), probeID, peer.MaxDiscover)
	switch {
	case err != nil:
		return false
	case answer.Result == nil:
		return answer.Error != nil || peer.RefusesEra(answer.Status) || answer.Status == http.StatusMethodNotAllowed
	}
	srv.p.Eras.Set(wire.Legacy, peer.Yes)
	if id := answer.Header.Get(wire.HeaderSession); id != "" {
		h[wire.HeaderSession], h[wire.HeaderVersion] = []string{id}, []string{wire.Version20251125}
		end := r.For(h, nil)
		end.Method = http.MethodDelete
		if resp, err := srv.p.Do(ctx, end); err == nil {
			_ = resp.Close() // whatever it says, nobody uses the session
		}
	}
	return false
}

// sessionPrefix distinguishes the sessions of a bridge from those of servers.
const sessionPrefix = "bridged-"

// Owns reports whether a message names a session of a bridge, known or not.
func (srv *Bridge) Owns(header http.Header) bool {
	return strings.HasPrefix(header.Get(wire.HeaderSession), sessionPrefix)
}
