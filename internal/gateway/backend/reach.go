package backend

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"slices"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A Reach is how servers are reached.
type Reach struct {
	Dial     upstream.Dial     // opens connections; nil: the operating system does
	Patience upstream.Patience // with programs
	Streams  context.Context
	Log      *slog.Logger
}

// Connect returns the backend for an entry's server, held once. forward names the client's headers that the
// server is sent, userHeader another one that says whose request it is; see [upstream.UserRule].
func (s *Set) Connect(entry *config.Server, forward []string, userHeader string, format api.Format) (*Backend, error) {
	forward = slices.Clip(forward)
	if entry.AccountHeader != "" {
		forward = append(forward, entry.AccountHeader)
	}
	user := upstream.UserRule{Header: userHeader, Place: entry.UserPlace}
	if userHeader != "" && len(entry.Command) == 0 {
		forward = append(forward, http.CanonicalHeaderKey(userHeader))
	}
	direct, err := s.reach.connect(entry, forward, user, format)
	if err != nil {
		return nil, err
	}
	options := bridge.Options{Forward: forward}
	if len(entry.Command) > 0 {
		options.Program, options.Silent = true, entry.Share != config.ShareClient
	}
	return s.New(entry.Name, bridge.New(direct, options), direct), nil
}

func (r *Reach) connect(
	entry *config.Server, forward []string, user upstream.UserRule, format api.Format,
) (upstream.Connection, error) {
	switch {
	case entry.API != nil:
		return api.New(api.Options{
			Name: entry.Title, API: entry.API, Headers: entry.Headers, Query: entry.Query, Forward: forward, User: user, Format: format,
			Dial: r.Dial,
		})
	case entry.URL != "":
		return upstream.NewHTTP(entry.Title, entry.URL, entry.Headers, user, r.Dial)
	}
	command := upstream.Command{
		Path: entry.Command[0], Args: entry.Command[1:], Env: Environ(entry),
		Dir: entry.Cwd, Idle: entry.Idle, Local: entry.Local, Patience: r.Patience,
	}
	if entry.Share == config.ShareClient {
		command.Share = upstream.ShareClient
	}
	return upstream.NewStdio(entry.Title, command, r.Log.With(slog.String("server", entry.Name)))
}

// Environ returns the environment for the entry's program.
func Environ(entry *config.Server) []string {
	if len(entry.Command) == 0 {
		return nil
	}
	return upstream.Environ(os.LookupEnv, entry.Env)
}
