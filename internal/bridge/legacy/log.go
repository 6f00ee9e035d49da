package legacy

import (
	"context"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// setLevel has the server log as verbosely as any request in the session has asked
// for. What a request has not asked for is left out again.
func (s *session) setLevel(ctx context.Context, at *opened, level wire.LogLevel) {
	if level == 0 || s.o.p.Silent || json.Lookup(at.hello, "/capabilities/logging") == nil {
		return
	}
	select {
	case <-s.leveling:
	case <-ctx.Done():
		return
	}
	defer func() { s.leveling <- struct{}{} }()
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
