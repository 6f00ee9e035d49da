package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/bridge"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// A server is an MCP server behind the gateway: its entry of the configuration,
// and what the gateway holds for it.
type server struct {
	*config.Server
	*backend

	up transport

	contract *contract.Contract
	weak     *contract.Contract // whose weak signs count; nil: none do
	reader   func() *contract.Reader
	redact   redact.Mode
	secrets  func() []string // of the entry: headers, URL, command, environment
	forward  []string        // canonical names of the client's headers that go on
	policy   retry.Policy
}

// A transport carries messages to a server and brings its answers back, whichever
// way it is reached.
type transport interface {
	Send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error)
	Ask(ctx context.Context, header http.Header, body []byte, id wire.ID, limit int64) (*upstream.Answer, error)
	Broken(ctx context.Context, err error) *recourse.Error
}

// newTransport returns the way to an entry's server for clients of both eras, and the
// part of it by which messages go on as they are. Closing the first closes both.
func (g *Gateway) newTransport(entry *config.Server, userHeader string) (bridged *bridge.Bridge, direct bridge.Transport, err error) {
	direct, err = g.newDirect(entry)
	if err != nil {
		return nil, nil, err
	}
	options := bridge.Options{Forward: canonical(entry.Forward)}
	if entry.URL == "" {
		options.Program, options.Silent = true, entry.Share != config.ShareClient
		options.Forward = []string{"Authorization"} // see programCaller
	} else if userHeader != "" {
		options.Forward = append(options.Forward, canonical([]string{userHeader})...)
	}
	return bridge.New(direct, options), direct, nil
}

func (g *Gateway) newDirect(entry *config.Server) (bridge.Transport, error) {
	if entry.URL != "" {
		return upstream.NewHTTP(entry.Title, entry.URL, entry.Headers, g.reach.Dial)
	}
	command := upstream.Command{
		Path: entry.Command[0], Args: entry.Command[1:], Env: environ(entry),
		Dir: entry.Cwd, Idle: entry.Idle, Local: entry.Local, Patience: g.reach.Patience,
	}
	if entry.Share == config.ShareClient {
		command.Share = upstream.ShareClient
	}
	return upstream.NewStdio(entry.Title, command, g.log.With(slog.String("server", entry.Name)))
}

// environ returns the environment of the entry's program.
func environ(entry *config.Server) []string {
	if len(entry.Command) == 0 {
		return nil
	}
	return upstream.Environ(os.LookupEnv, entry.Env)
}

// attempts bounds what one call costs the server; the contract's own rule is for
// clients, who see the outcome of all of them.
const attempts = 3

// newServer returns the server of an entry; old is the one of that name before, or
// nil, and is returned itself where nothing has changed.
func newServer(g *Gateway, entry *config.Server, set *contract.Set, old *server) (*server, error) {
	s := &server{Server: entry, policy: retry.Policy{Attempts: attempts, Start: g.reach.Pause, Factor: 2, Jitter: 0.5}}
	var ok bool
	if s.contract, ok = set.Get(entry.Contract); !ok {
		return nil, fmt.Errorf("server %s: there is no contract %s", entry.Name, entry.Contract)
	}
	if entry.Reads != "" {
		if s.weak, ok = set.Get(entry.Reads); !ok {
			return nil, fmt.Errorf("server %s: there is no contract %s", entry.Name, entry.Reads)
		}
	}
	s.reader = sync.OnceValue(func() *contract.Reader { return s.newReader(set) })
	if old != nil && old.Same(entry) && slices.EqualFunc(old.reader().Contracts, s.reader().Contracts, (*contract.Contract).Same) {
		return old, nil
	}
	var err error
	if s.redact, err = redact.ParseMode(string(entry.Redact)); err != nil {
		return nil, fmt.Errorf("server %s: %w", entry.Name, err)
	}
	s.secrets = sync.OnceValue(func() []string {
		return slices.Concat(redact.Environ(environ(entry)), redact.Headers(entry.Headers),
			redact.URL(entry.URL), redact.Command(entry.Command))
	})
	s.forward = canonical(entry.Forward)
	if s.backend, err = g.newBackend(entry, s.contract.Session.UserHeader, old); err != nil {
		return nil, fmt.Errorf("server %s: %w", entry.Name, err)
	}
	s.up = s.bridged
	if s.observes() {
		s.up = s.direct
	}
	return s, nil
}

// canonical returns the names of headers as net/http keeps them.
func canonical(names []string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = http.CanonicalHeaderKey(name)
	}
	return keys
}

// forwards reports whether the client's own credentials go to the server.
func (s *server) forwards(header string) bool { return slices.Contains(s.forward, header) }

// observes reports whether failures are passed on as they came.
func (s *server) observes() bool { return s.Mode == config.ModeObserve }

// newReader returns the reader of the server's failures. It knows all contracts, and
// is made for the first failure: reading them would make up most of a program's start.
func (s *server) newReader(set *contract.Set) *contract.Reader {
	r := &contract.Reader{Weak: s.weak, Trusted: s.Trusted, Provider: s.Title}
	if s.weak != nil {
		r.Contracts = append(r.Contracts, s.weak)
	}
	for _, c := range append([]*contract.Contract{s.contract}, set.All()...) {
		if !slices.Contains(r.Contracts, c) {
			r.Contracts = append(r.Contracts, c)
		}
	}
	return r
}

// natureOf returns what the tool does to the world, by the first that speaks: the
// entry, the contract, trusted annotations.
func (s *server) natureOf(tool string, rule config.Tool, listed *listedTool) retry.Nature {
	reads, idempotent := s.contract.Reads(tool), false
	if *s.TrustAnnotations && listed != nil && !reads {
		reads, idempotent = listed.readOnly, listed.idempotent
	}
	switch {
	case rule.ReadOnly != nil:
		reads = *rule.ReadOnly
	case rule.Verify != nil: // there is something to verify only where something is written
		reads = false
	}
	if rule.Idempotent != nil {
		idempotent = *rule.Idempotent
	}
	switch {
	case reads:
		return retry.Reads
	case idempotent:
		return retry.Idempotent
	default:
		return retry.Writes
	}
}

// said returns e as something that the gateway itself says of the server.
func (s *server) said(e *recourse.Error) *recourse.Error {
	return e.WithOrigin(recourse.OriginGateway).WithProvider(s.Title)
}
