package legacy

import (
	"context"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// discover answers server/discover from what the server has answered to initialize.
func (srv *Server) discover(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	s := srv.enter(r)
	defer srv.leave(s)
	at, err := s.ready(ctx, nil)
	if err != nil {
		return refusedOpening(err)
	}
	result, err := discovered(at.hello)
	if err != nil {
		return nil, recourse.BadResponse(srv.p.Name()).WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectNone).CausedBy(err)
	}
	return wire.RespondResult(r.Message.ID, result), nil
}

// discovered returns the result of server/discover (MCP 2026-07-28, "Discovery") for
// that of initialize. Tasks are not offered: they are an extension in the modern era.
func discovered(hello json.Value) (json.Value, error) {
	var from struct {
		Capabilities map[string]json.Value `json:"capabilities"`
		ServerInfo   json.Value            `json:"serverInfo"`
		Instructions json.Value            `json:"instructions"`
	}
	if err := json.UnmarshalLenient(hello, &from); err != nil {
		return nil, err
	}
	to := struct {
		ResultType   string                `json:"resultType"`
		Versions     []string              `json:"supportedVersions"`
		Capabilities map[string]json.Value `json:"capabilities"`
		Instructions json.Value            `json:"instructions,omitzero"`
		TTL          int                   `json:"ttlMs"`
		CacheScope   string                `json:"cacheScope"`
		Meta         map[string]json.Value `json:"_meta,omitempty"`
	}{ResultType: "complete", Versions: wire.Versions(), Capabilities: map[string]json.Value{}, CacheScope: "private"}
	for name, value := range from.Capabilities {
		if name != "tasks" && value.Kind() == '{' {
			to.Capabilities[name] = value
		}
	}
	if from.Instructions.Kind() == '"' {
		to.Instructions = from.Instructions
	}
	if from.ServerInfo.Kind() == '{' {
		to.Meta = map[string]json.Value{wire.MetaServerInfo: from.ServerInfo}
	}
	return json.Marshal(to)
}
