// Package patterns is a reference system: a server of software design patterns that implements the contract
// patterns, with a backend with an HTTP API.
//
// # Tools
//
// search_patterns and get_pattern answer in Markdown, as JSON, or both, as their argument format says;
// list_analysis_rules, analyze_code, review_code, list_skills and get_skill always in Markdown. All of them
// only read, and also give programs their results in structuredContent.
//
// # How to make it fail
//
//	SERVER_ERROR              fault-500, fault-501; fault-html: a web page in place of
//	                          JSON; fault-once: the next call succeeds
//	NETWORK_ERROR             fault-drop: the connection breaks; fault-slow: no answer
//	                          within Options.Timeout
//	CLIENT_ERROR              limit 1000: the library refuses it with status 400; category
//	                          "gardening", and any other argument that does not fit the
//	                          schema; a tool that is not there; more calls than
//	                          Options.PerMinute, with status 429; fault-400, fault-408,
//	                          and fault-429 with a wait of 12 s
//	NOT_FOUND                 slug "add-redo"; rules of the category "taste"; fault-404
//	AUTHENTICATION_ERROR      another Options.LibraryKey; fault-403
//	UNKNOWN_ERROR             fault-odd: status 200, and a failure in the body
//	HTTP 401                  Options.Key, and a client without it
//
// A word fault-WHAT is recognized in the arguments that a call passes on to the library: q, id, slug, the
// category of rules, code.
//
// Questions, which are not failures, are the answer to an empty q, to more than 20 hits without category and
// difficulty (q "object"), to an empty id, and to an id that does not exist (singelton).
package patterns

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// Options change a System. The zero value is valid.
type Options struct {
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// PerMinute is how many calls are allowed in a minute; 0 means 120.
	PerMinute int64
	// Key is the bearer token that clients must send over HTTP; "" means none.
	Key string
	// LibraryKey is the key that the server sends to the library; "" means the accepted one.
	LibraryKey string
	// Timeout is how long the backend may take; 0 means 10 s.
	Timeout time.Duration
}

// System is the server with its backend. Get one with New.
type System struct {
	server  *mcp.Server
	handler http.Handler
	backend *loopback.Local
	api     *apiClient
	key     string
}

var _ systems.System = (*System)(nil)

// serverOptions work out the schemas of the tools once: they are the same in every System.
var serverOptions = &mcp.ServerOptions{SchemaCache: mcp.NewSchemaCache()}

// New starts the backend and returns the system; call Close when done.
func New(o Options) (*System, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.PerMinute = cmp.Or(o.PerMinute, 120)
	o.LibraryKey = cmp.Or(o.LibraryKey, apiKey)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	c := contract.MustBuiltin("patterns")
	library, err := newBackend()
	if err != nil {
		return nil, fmt.Errorf("patterns: %w", err)
	}
	backend, err := loopback.Serve(library)
	if err != nil {
		return nil, fmt.Errorf("patterns: %w", err)
	}
	s := &System{
		backend: backend,
		server:  mcp.NewServer(&mcp.Implementation{Name: "patterns", Title: "Design patterns", Version: "1.0.0"}, serverOptions),
		api:     newClient(backend.URL, o.LibraryKey),
	}
	s.addTools()
	// All callers share one allowance, which Use enforces on every transport: a refusal comes in the format
	// that the call asks for.
	limiter := mcptool.NewWindows(nil, mcptool.Policy{Name: "minute", Limit: o.PerMinute, Window: time.Minute})
	log := mcptool.WithLogger(o.Logger)
	mcptool.Use(s.server, c, log, mcptool.WithLimiter(limiter), mcptool.WithTimeout(o.Timeout))
	s.server.AddReceivingMiddleware(withTypes) // after Use: what it has made of a failure stays as it is
	guards := []mcptool.GuardOption{log}
	if s.key = o.Key; s.key != "" {
		guards = append(guards, mcptool.WithAuthenticator(bearer(s.key)))
	}
	s.handler = mcptool.Guard(systems.MCPHandler(s.server), c, guards...)
	return s, nil
}

// MCPServer returns the server for stdio.
func (s *System) MCPServer() *mcp.Server { return s.server }

// Handler serves Streamable HTTP, to clients of both eras.
func (s *System) Handler() http.Handler { return s.handler }

// Entrance returns what a client of Handler must send: nothing, or the key.
func (s *System) Entrance() systems.Entrance {
	e := systems.Entrance{Path: "/mcp"}
	if s.key != "" {
		e.Header = http.Header{"Authorization": {"Bearer " + s.key}}
	}
	return e
}

// bearer is the token that clients must send.
type bearer string

// Authenticate compares a client's token with it.
func (b bearer) Authenticate(r *http.Request) (who authn.Identity, err error) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+string(b))) != 1 {
		return who, recourse.Unauthenticated()
	}
	return authn.Identity{Name: "client"}, nil
}

// Close stops the backend.
func (s *System) Close() error {
	s.api.http.CloseIdleConnections()
	return s.backend.Close()
}

// Scenes returns calls to try.
func (s *System) Scenes() []systems.Scene {
	return []systems.Scene{
		{Title: "A search that works.", Tool: searchPatterns, Arguments: `{"q":"undo"}`},
		{Title: "The same as JSON.", Tool: searchPatterns, Arguments: `{"q":"undo","format":"json"}`},
		{Title: "Too many hits: a question, not an error.", Tool: searchPatterns, Arguments: `{"q":"object"}`},
		{
			Title: "A pattern that does not exist: what a search finds is suggested.", Tool: getPattern,
			Arguments: `{"id":"singelton","format":"both"}`,
		},
		{Title: "The backend limits requests.", Tool: getPattern, Arguments: `{"id":"fault-429","format":"json"}`},
		{Title: "The backend breaks the connection.", Tool: analyzeCode, Arguments: `{"code":"// fault-drop"}`},
		{Title: "Wrong arguments.", Tool: searchPatterns, Arguments: `{"q":"undo","limit":1000,"format":"json"}`},
	}
}
