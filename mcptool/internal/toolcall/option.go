package toolcall

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/retry"
)

// Option changes how a server keeps its contract. The interface is sealed.
type Option interface{ server(s *Server) }

// ToolOption changes how one tool keeps its contract. The interface is sealed.
type ToolOption interface{ tool(r *rule) }

// SharedOption is an option of a server, for all its tools, and of one tool, for
// which it overrules the server's.
type SharedOption interface {
	Option
	ToolOption
}

// A rule is what is said of one tool beside its annotations.
type rule struct {
	contract *contract.Contract
	nature   *retry.Nature
	deadline time.Duration
	verify   *Verify
	texts    *bool // whether the texts of errors are told
}

type serverOption func(s *Server)

func (o serverOption) server(s *Server) { o(s) }

type toolOption func(r *rule)

func (o toolOption) tool(r *rule) { o(r) }

type sharedOption func(r *rule)

func (o sharedOption) server(s *Server) { o(&s.rule) }
func (o sharedOption) tool(r *rule)     { o(r) }

// WithLogger returns the option that failures are logged to log, which is not nil.
func WithLogger(log *slog.Logger) Option {
	return serverOption(func(s *Server) { s.log = log })
}

// WithClock returns the option that now, which is not nil, is asked for the time of
// day.
func WithClock(now func() time.Time) Option {
	return serverOption(func(s *Server) { s.now = now })
}

// WithLimiter returns the option that calls are charged to l.
func WithLimiter(l Limiter) Option {
	return serverOption(func(s *Server) { s.limiter = l })
}

// WithTool returns the options for the tool of that name.
func WithTool(name string, options ...ToolOption) Option {
	return serverOption(func(s *Server) {
		r := s.rules[name]
		for _, o := range options {
			o.tool(&r)
		}
		s.rules[name] = r
	})
}

// WithDeadline returns the option that a call is answered within d.
func WithDeadline(d time.Duration) SharedOption {
	return sharedOption(func(r *rule) { r.deadline = d })
}

// WithErrorTexts returns the option that clients are told the texts of errors.
func WithErrorTexts(told bool) SharedOption {
	return sharedOption(func(r *rule) { r.texts = &told })
}

// NoDeadline says that a call takes as long as its handler takes.
const NoDeadline time.Duration = -1

// WithContract returns the option that a tool fails in the form of c.
func WithContract(c *contract.Contract) ToolOption {
	given := Given(c)
	return toolOption(func(r *rule) { r.contract = given })
}

// WithNature returns the option that says what a tool does to the world.
func WithNature(n retry.Nature) ToolOption {
	return toolOption(func(r *rule) { r.nature = &n })
}

// WithVerify returns the option that names the call that settles whether a call
// of the tool took effect.
func WithVerify(v Verify) ToolOption {
	return toolOption(func(r *rule) { r.verify = &v })
}

// Verify says how to find out whether a call took effect: by which call of a tool
// that only reads.
type Verify struct {
	Tool string
	// Args are the arguments of that call: JSON Pointers (RFC 6901) into the
	// arguments of the call in question, by name. One that leads nowhere, to a secret
	// or to more than 128 bytes is left out.
	Args map[string]string
	// With are arguments that are always the same.
	With map[string]any
	// LookAt names what settles the question in the answer.
	LookAt string
}

// of fills v in from the arguments of the call in question.
func (v *Verify) of(arguments json.Value, shows func(json.Value) bool) *recourse.Verify {
	call := &recourse.Verify{Tool: v.Tool, LookAt: v.LookAt}
	for _, name := range slices.Sorted(maps.Keys(v.Args)) {
		if value := argument.Shown(arguments, v.Args[name]); value != nil && shows(value) {
			call.Args = call.Args.With(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.With)) {
		call.Args = call.Args.With(name, v.With[name])
	}
	return call
}
