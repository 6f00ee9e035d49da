package legacy

import (
	"context"
	"net/http"
	"slices"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// discover answers server/discover from the server's answer to initialize.
func (srv *Server) discover(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	s := srv.enter(r)
	defer srv.leave(s)
	at, err := s.ready(ctx, nil)
	if err != nil {
		return refusedOpening(err)
	}
	return wire.RespondResult(r.Message.ID, discovered(at.hello)), nil
}

// discovered turns the result of initialize into that of server/discover (MCP 2026-07-28, "Discovery"). Tasks
// are not offered: in the modern era they are an extension.
func discovered(hello json.Value) json.Value {
	var l json.Members
	l.Text("resultType", "complete")
	l.Texts("supportedVersions", wire.Versions())
	l.Object("capabilities", slices.DeleteFunc(json.MembersOf(json.Lookup(hello, "/capabilities")), func(m json.Member) bool {
		return m.Name == "tasks" || m.Value.Kind() != '{'
	}))
	if instructions := json.Lookup(hello, "/instructions"); instructions.Kind() == '"' {
		l.Add("instructions", instructions)
	}
	l.Number("ttlMs", 0)
	l.Text("cacheScope", "private")
	if info := json.Lookup(hello, "/serverInfo"); info.Kind() == '{' {
		l.Object("_meta", json.Members{{Name: wire.MetaServerInfo, Value: info}})
	}
	return l.AppendTo(nil)
}
