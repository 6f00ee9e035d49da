package handler

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/retry"
)

// Option changes how a server follows its contract. The interface is sealed.
type Option interface{ server(s *AuthorServer) }

// ToolOption changes how one tool follows its contract. The interface is sealed.
type ToolOption interface{ tool(r *toolFacts) }

// SharedOption is an option for a whole server, or for one tool, where it takes precedence over the server's.
type SharedOption interface {
	Option
	ToolOption
}

// toolFacts is what is known about one tool in addition to its annotations.
type toolFacts struct {
	contract *contract.Contract
	timeout  time.Duration
	verify   *toolcall.Verification
	texts    *bool // whether clients are told the texts of errors
	families []*contract.Family
	once     *Once // nil: calls may be repeated

	readOnly, idempotent *bool
}

type serverOption func(s *AuthorServer)

func (o serverOption) server(s *AuthorServer) { o(s) }

type toolOption func(r *toolFacts)

func (o toolOption) tool(r *toolFacts) { o(r) }

type sharedOption func(r *toolFacts)

func (o sharedOption) server(s *AuthorServer) { o(&s.rule) }
func (o sharedOption) tool(r *toolFacts)      { o(r) }

// WithLogger makes log, which is not nil, the logger of failures.
func WithLogger(log *slog.Logger) Option {
	return serverOption(func(s *AuthorServer) { s.log = log })
}

// WithClock makes now, which is not nil, the clock.
func WithClock(now func() time.Time) Option {
	return serverOption(func(s *AuthorServer) { s.now = now })
}

// WithCharge makes charge decide whether a call runs. The caller is told its error.
func WithCharge(charge func(ctx context.Context) error) Option {
	return serverOption(func(s *AuthorServer) { s.charge = charge })
}

// WithTool makes options, each of which is a ToolOption, apply to the tool of that name.
func WithTool[O any](name string, options ...O) Option {
	return serverOption(func(s *AuthorServer) {
		r := s.rules[name]
		for _, o := range options {
			if o, ok := any(o).(ToolOption); ok {
				o.tool(&r)
			}
		}
		s.rules[name] = r
	})
}

// WithTimeout makes the server answer calls within d.
func WithTimeout(d time.Duration) SharedOption {
	return sharedOption(func(r *toolFacts) { r.timeout = d })
}

// WithErrorTexts decides whether clients are told the texts of errors.
func WithErrorTexts(told bool) SharedOption {
	return sharedOption(func(r *toolFacts) { r.texts = &told })
}

// WithFamilies recognises failures in the forms of families.
func WithFamilies(families []*contract.Family) SharedOption {
	given := slices.DeleteFunc(slices.Clone(families), func(f *contract.Family) bool { return f == nil })
	return sharedOption(func(r *toolFacts) { r.families = given })
}

// NoTimeout lets a call take as long as its handler takes.
const NoTimeout time.Duration = -1

// WithContract makes a tool follow c.
func WithContract(c *contract.Contract) ToolOption {
	given := Given(c)
	return toolOption(func(r *toolFacts) { r.contract = given })
}

// WithNature says what a tool does to the world.
func WithNature(n retry.Nature) ToolOption {
	reads, idempotent := n == retry.Reads, n == retry.Idempotent
	return toolOption(func(r *toolFacts) { r.readOnly, r.idempotent = &reads, &idempotent })
}

// WithVerify makes v the call that settles whether a call of the tool took effect.
func WithVerify(v toolcall.Verification) ToolOption {
	return toolOption(func(r *toolFacts) { r.verify = &v })
}
