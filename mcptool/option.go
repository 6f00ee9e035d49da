package mcptool

import (
	"context"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
	"github.com/recoursehq/recourse/retry"
)

// Option changes how a server keeps its contract. The interface is sealed: the
// options are the functions of this package.
type Option interface{ option() }

// ToolOption changes how one tool keeps its contract, see [WithTool]. The interface
// is sealed.
type ToolOption interface{ toolOption() }

// SharedOption is an Option for all tools of a server, and a ToolOption that
// overrules it for one.
type SharedOption interface {
	Option
	ToolOption
}

// CommonOption is an Option of [Use] and of [Guard].
type CommonOption interface {
	Option
	GuardOption
}

// Behind the sealed interfaces stand options of package handler, which knows both SDKs.
type (
	server struct{ handler.Option }
	tool   struct{ handler.ToolOption }
	shared struct{ handler.SharedOption }
	common struct {
		server

		change func(g *guard)
	}
)

func (server) option()          {}
func (tool) toolOption()        {}
func (shared) option()          {}
func (shared) toolOption()      {}
func (c common) guard(g *guard) { c.change(g) }

// WithLogger returns the option that failures are logged to log: one line each, of
// level info where the caller is at fault, error for defects, else warn. The
// default, and nil, is slog.Default. Credentials in causes are masked.
func WithLogger(log *slog.Logger) CommonOption {
	if log == nil {
		log = slog.Default()
	}
	return common{server{handler.WithLogger(log)}, func(g *guard) { g.log = log }}
}

// WithClock returns the option that now is asked for the time of day, from which
// waits until a point in time are computed. The default, and nil, is time.Now.
func WithClock(now func() time.Time) CommonOption {
	if now == nil {
		now = time.Now
	}
	return common{server{handler.WithClock(now)}, func(g *guard) { g.now = now }}
}

// WithLimiter returns the option that calls of tools are charged to l, and refused
// where nothing is left. Give it to [Guard], which knows who is calling, and which
// takes the charge back where [Use] refuses the call; on stdio, where there is no
// Guard, to Use. Calls that are refused are not charged. The default, and nil, is no limit.
func WithLimiter(l Limiter) CommonOption {
	var charge func(context.Context) error
	if l != nil {
		charge = func(ctx context.Context) error {
			_, err := l.Take(ctx, "")
			return err
		}
	}
	return common{server{handler.WithCharge(charge)}, func(g *guard) { g.limiter = l }}
}

// WithTool returns the options for the tool of that name. Of several WithTool for
// one tool, each adds to those before.
func WithTool(name string, options ...ToolOption) Option {
	return server{handler.WithTool(name, options...)}
}

// WithDeadline returns the option that a call is answered within d of its start: its
// context ends then, and 250 ms later, at most, the client is told, even if the
// handler does not heed its context; such a handler is left behind until it ends.
// The time in which a client's user is asked something counts. The default is
// NoDeadline. The zero duration says nothing.
func WithDeadline(d time.Duration) SharedOption { return shared{handler.WithDeadline(d)} }

// WithErrorTexts returns the option that clients are told the text of an error that is
// no [recourse.Error], at most 4 KiB, with credentials, addresses and stack frames masked.
// It is for the time in which a server is being moved over: its errors say what they said
// before until each has become a failure with a kind. Prose can give away more than masking
// knows of. The default is false: such an error is told as what [recourse.From] makes of it,
// and its text is logged.
func WithErrorTexts(told bool) SharedOption { return shared{handler.WithErrorTexts(told)} }

// NoDeadline says that a call takes as long as its handler takes.
const NoDeadline time.Duration = handler.NoDeadline

// WithContract returns the option that a tool fails in the form of c in place of
// the server's contract. It panics when c is nil.
func WithContract(c *contract.Contract) ToolOption { return tool{handler.WithContract(c)} }

// WithNature returns the option that says what a tool does to the world. It overrules
// the contract, which may say that all tools only read, and the tool's annotations.
func WithNature(n retry.Nature) ToolOption { return tool{handler.WithNature(n)} }

// WithVerify returns the option that names the call that settles whether a call of
// the tool took effect, for failures that leave it unknown and do not name one
// themselves. The tool then counts as one that writes, unless WithNature says
// otherwise.
func WithVerify(v Verify) ToolOption { return tool{handler.WithVerify(toolcall.Verify(v))} }

// Verify says how to find out whether a call took effect: by which call of a tool
// that only reads.
type Verify struct {
	// Tool is the name of that tool.
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
