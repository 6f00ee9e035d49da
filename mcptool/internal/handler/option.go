package handler

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/toolcall"
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
	deadline time.Duration
	verify   *toolcall.Verify
	texts    *bool // whether the texts of errors are told
	families []*contract.Family

	readOnly, idempotent *bool
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

// WithCharge returns the option that charge is asked before a call runs. Its error is
// what the caller is told in place of the call.
func WithCharge(charge func(ctx context.Context) error) Option {
	return serverOption(func(s *Server) { s.charge = charge })
}

// WithTool returns the options for the tool of that name, each of which is a ToolOption.
func WithTool[O any](name string, options ...O) Option {
	return serverOption(func(s *Server) {
		r := s.rules[name]
		for _, o := range options {
			if o, ok := any(o).(ToolOption); ok {
				o.tool(&r)
			}
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

// WithFamilies returns the option that failures may be in the forms of families.
func WithFamilies(families []*contract.Family) SharedOption {
	given := slices.DeleteFunc(slices.Clone(families), func(f *contract.Family) bool { return f == nil })
	return sharedOption(func(r *rule) { r.families = given })
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
	reads, idempotent := n == retry.Reads, n == retry.Idempotent
	return toolOption(func(r *rule) { r.readOnly, r.idempotent = &reads, &idempotent })
}

// WithVerify returns the option that v is the call that settles whether a call of the tool
// took effect.
func WithVerify(v toolcall.Verify) ToolOption {
	return toolOption(func(r *rule) { r.verify = &v })
}
