package legacy

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

// Bridge presents a legacy server to modern clients as one of theirs.
type Bridge struct {
	p *peer.Peer

	mu       sync.Mutex
	closed   bool
	sessions *recent.Map[sessionKey, *session]
	sweeping *time.Timer          // ends idle sessions; nil: there are none
	held     map[string]*exchange // by state
	heldBy   map[upstream.Caller]int
}

// New returns the way to p.
func New(p *peer.Peer) *Bridge {
	bounds := recent.Bounds{Most: maxSessions, Bytes: peer.MaxSessionBytes, Idle: sessionIdle}
	return &Bridge{
		p: p, sessions: recent.New[sessionKey, *session](bounds),
		held: map[string]*exchange{}, heldBy: map[upstream.Caller]int{},
	}
}

// Do takes a request of the modern era. It returns [peer.ErrOtherEra] if the server opens no session. again says that the
// server has refused the request in the other era: it is then made once here.
func (srv *Bridge) Do(ctx context.Context, r *upstream.Request, again bool) (*wire.Answer, error) {
	m := r.Message
	switch {
	case m == nil:
		return wire.RespondRefusal(http.StatusMethodNotAllowed, "the modern era has no "+r.Method, http.MethodPost), nil
	case m.Kind == wire.Request && json.Value(m.Meta).Kind() != '{':
		return wire.RespondMalformed(m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "the message cannot be read"}), nil
	case m.Kind != wire.Request: // the server would not know what it refers to
		return wire.Respond(http.StatusAccepted, nil), nil
	case !bridgeable(m.Method):
		return nil, recourse.New(recourse.KindUnknownMethod, "").
			WithMessage("%s speaks a version of MCP before 2026-07-28, to which %.64s cannot be bridged.", srv.p.Name(), m.Method).
			WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
	}
	state := stateOf(m)
	if c := srv.heldFor(state, r); c != nil {
		return srv.resume(ctx, m, c)
	}
	s := srv.enter(r)
	defer srv.leave(s)
	at, err := s.ready(ctx, nil)
	switch {
	case err != nil:
		return refusedOpening(err)
	case m.Method == wire.MethodDiscover:
		return wire.RespondResult(m.ID, Discovered(at.hello)), nil
	case m.Method == wire.MethodListen:
		return s.listen(ctx, at, m)
	case state != "": // if it were the server's, ready would have found the modern era
		return nil, srv.forgotten(nil)
	default:
		return s.request(ctx, at, r, again)
	}
}

// bridgeable reports whether requests with that method are passed to the server. The others would change the
// session for everybody in it, or do not exist in both eras.
func bridgeable(method string) bool {
	switch method {
	case wire.MethodInitialize, wire.MethodPing, wire.MethodSetLevel, wire.MethodSubscribe, wire.MethodUnsubscribe:
		return false
	default:
		return !strings.HasPrefix(method, "tasks/")
	}
}

// request makes a request in the session. A server that has lost the session has done nothing, so the request
// is made once more, in a new session; unless it has been made before.
func (s *session) request(ctx context.Context, at *opened, r *upstream.Request, again bool) (*wire.Answer, error) {
	for ; ; again = true {
		s.setLevel(ctx, at, wire.LogLevelOf(r.Message.LogLevel))
		resp, err := s.newCall(at, r).turn(ctx, r.Message).begin()
		if err != nil || !s.lostBy(ctx, at, resp) {
			return resp, err
		}
		if again { // it says so about every session: its answer is told as it is
			resp.Unknown = resp.Status == http.StatusNotFound
			return resp, nil
		}
		_ = resp.Close()
		if at, err = s.ready(ctx, at); err != nil {
			return s.unopened(ctx, r, resp.Status, err)
		}
	}
}

// unopened answers a request that the server has refused with a status because it has lost the session, where none
// could be opened since. What only reads may be tried again, and what a server of the other era has refused, which has
// taken the place of this one.
func (s *session) unopened(ctx context.Context, r *upstream.Request, status int, err error) (*wire.Answer, error) {
	p := s.srv.p
	_, denied := errors.AsType[*denial](err)
	again := denied || wire.ReadsOnly(r.Message.Method)
	if !again && status == http.StatusBadRequest && errors.Is(err, peer.ErrOtherEra) {
		speaks, failed := p.Discover(ctx, r.Caller, r.Header)
		again = failed == nil && speaks == peer.Yes
	}
	if again {
		return refusedOpening(err)
	}
	return nil, upstream.SessionLost(p.Name(), status, err)
}

// lostBy reports whether an answer says that the server does not know the session. The answer is not
// consumed. A 404 says so; words to that effect are only a reason to ask, since a server may use them for a
// call that it has carried out.
func (s *session) lostBy(ctx context.Context, at *opened, resp *wire.Answer) bool {
	switch {
	case at.id == "":
		return false
	case resp.Status == http.StatusNotFound:
		return true
	case resp.Status != http.StatusBadRequest:
		return false
	}
	text, err := peer.Keep(resp)
	if err != nil {
		return false
	}
	switch peer.CodeOf(text) {
	case "-32020", "-32022", // a server of the modern era may have taken its place
		"-32000", "-32001": // the TypeScript SDK's words
		return s.isGone(ctx, at)
	default:
		return false
	}
}

// isGone asks the server, with a ping, whether it has lost the session.
func (s *session) isGone(ctx context.Context, at *opened) bool {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	answer, err := s.ask(ctx, at, wire.MethodPing, nil)
	return err == nil && peer.RefusesEra(answer.Status)
}

// refusedOpening answers a caller for whom no session could be opened.
func refusedOpening(err error) (*wire.Answer, error) {
	denied, ok := errors.AsType[*denial](err)
	if !ok {
		return nil, err
	}
	return peer.Respond(denied.answer.Status, denied.answer.Header, denied.answer.Body), nil
}

// A denial is the answer of a server that has refused the caller's credentials.
type denial struct{ answer *upstream.WholeAnswer }

// Error says so.
func (*denial) Error() string { return "the server refused the credentials" }

// legacyMeta returns a request's _meta for the server, with a progress token from the bridge, since many
// calls share a session.
func legacyMeta(meta json.Value, token []byte) []byte {
	members := wire.WithoutIntroduction(meta)
	for i := range members {
		if members[i].Name == wire.MetaProgressToken {
			members[i].Value = token
		}
	}
	return members.AppendTo(nil)
}

// drain reads the rest of an unwanted answer, so that its connection can be reused.
func drain(resp *wire.Answer) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp, peer.MaxRefusal)) // it is not wanted
	_ = resp.Close()
}

// Close ends the sessions and the calls that are held.
func (srv *Bridge) Close() {
	srv.mu.Lock()
	srv.closed = true
	if srv.sweeping != nil {
		srv.sweeping.Stop()
	}
	held := slices.Collect(maps.Values(srv.held))
	sessions := srv.sessions.All()
	srv.mu.Unlock()
	var ends sync.WaitGroup
	for _, c := range held {
		ends.Go(func() {
			if c.end(errClosed) {
				c.cancelAtServer(srv.p.Life())
			}
		})
	}
	ends.Wait()
	for _, s := range sessions {
		ends.Go(func() { s.end(srv.p.Life()) })
	}
	ends.Wait()
}

var errClosed = errors.New("the bridge is closed")
