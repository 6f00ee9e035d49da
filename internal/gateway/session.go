package gateway

import (
	"context"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// inSession looks up the session that a legacy message names. One that is not known, and one
// that was opened with other credentials, such as a token that has been refreshed since, is
// answered with 404: by that clients know that they have to initialize another (MCP
// 2025-11-25, basic/transports, "Session Management").
func inSession(c *call, next next) error {
	id := c.req.http.Header.Get(wire.HeaderSession)
	if c.req.era != wire.Legacy || id == "" || c.req.msg.Method == wire.MethodInitialize {
		return next(c)
	}
	if c.session = c.on.sessions.find(id, c.who.id); c.session == nil {
		return refuse(http.StatusNotFound, recourse.New(recourse.KindUnknownSession, ""))
	}
	return next(c)
}

// openSession makes a session of the answer to initialize, when the server has given it an id.
func (c *call) openSession(resp *http.Response) {
	if c.req.msg.Method != wire.MethodInitialize || c.session != nil {
		return
	}
	if id := resp.Header.Get(wire.HeaderSession); id != "" {
		c.session = c.on.sessions.add(c, id)
		c.reply.header()[wire.HeaderSession] = []string{c.session.id}
	}
}

// at returns where the session is known, its id there, and its generation.
func (s *session) at() (where *place, serverID string, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, s.upstream, s.generation
}

// moveSession opens the session of c at its server, where that has taken the place of the one
// at which it was opened: nothing was sent yet, so that it can be done for every message.
func (c *call) moveSession() *recourse.Error {
	if c.session == nil {
		return nil
	}
	where, _, generation := c.session.at()
	if where == c.to.place {
		return nil
	}
	if err := c.session.renew(c.ctx, c, generation); err != nil {
		return recourse.From(err).WithEffect(recourse.EffectNone)
	}
	return nil
}

// renew makes the session at the server anew after the server has said that it
// does not know the generation-th one. However many callers find that out, it is
// done once, and all of them wait for it.
func (s *session) renew(ctx context.Context, c *call, generation int) error {
	s.mu.Lock()
	if s.generation != generation {
		s.mu.Unlock()
		return nil // somebody has done it already
	}
	if s.renewing == nil {
		up := c.to
		if !up.hold() {
			s.mu.Unlock()
			return recourse.Unavailable(up.Title).WithMessage("%s is not served any more.", up.Title).
				WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
		}
		done := make(chan struct{})
		s.renewing = done
		r := s.opening(c)
		c.g.background(min(renewTimeout, up.Timeout), func(ctx context.Context) {
			defer up.leave()
			id, err := s.reopen(ctx, up, r)
			s.mu.Lock()
			if s.renewed = err; err == nil {
				s.upstream, s.place = id, up.place
				s.generation++
			}
			s.renewing = nil
			s.mu.Unlock()
			close(done)
		})
	}
	done := s.renewing
	s.mu.Unlock()
	select {
	case <-done:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.generation != generation {
			return nil
		}
		return s.renewed
	case <-ctx.Done():
		return c.to.broken(ctx, context.Cause(ctx))
	}
}

var initialized = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

// opening returns the client's own initialize, on behalf of the caller of c. A program knows
// no credentials, so that its clients may change theirs within a session: those of c count.
func (s *session) opening(c *call) *upstream.Request {
	header := s.header.Clone()
	if header != nil {
		header[wire.HeaderRequestID] = []string{c.req.id}
	}
	return c.who.request(header, s.open)
}

// reopen sends the client's own initialize once more, and what follows it.
func (s *session) reopen(ctx context.Context, up *target, r *upstream.Request) (string, error) {
	if s.open == nil {
		return "", recourse.New(recourse.KindUnknownSession, "").WithOrigin(recourse.OriginServer)
	}
	answer, err := upstream.Ask(ctx, up.up, r.Clone(), s.openID, maxInitialize)
	if err != nil {
		return "", err
	}
	if answer.Status != http.StatusOK {
		return "", up.readHTTP(answer.Status, answer.Header, answer.Body, "").Error()
	}
	id := answer.Header.Get(wire.HeaderSession)
	if answer.Error != nil {
		return "", recourse.BadResponse(up.Title).WithMessage("%s refused to open the session again.", up.Title).
			WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectNone)
	}
	if id != "" {
		r.Header[wire.HeaderSession] = []string{id}
	}
	if version := json.Lookup(answer.Result, "/protocolVersion"); version.Kind() == '"' {
		var text string
		if json.Unmarshal(version, &text) == nil {
			r.Header[wire.HeaderVersion] = []string{text}
		}
	}
	r.Body = initialized
	resp, err := up.up.Do(ctx, r)
	if err != nil {
		return "", err
	}
	return id, resp.Body.Close()
}
