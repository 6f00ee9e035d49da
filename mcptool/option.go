package mcptool

import (
	"context"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
	"github.com/recoursehq/recourse/retry"
)

// Option changes how a server keeps its contract. The interface is sealed: the
// options are the functions of this package.
type Option interface{ option() }

// ToolOption changes how one tool keeps its contract, see [WithTool]. The interface
// is sealed.
type ToolOption interface{ toolOption() }

// SharedOption is an Option for all tools of a server, and a ToolOption that overrides it for one. [Guard] does not
// take it.
type SharedOption interface {
	Option
	ToolOption
}

// CommonOption is an Option of [Use] and of [Guard]. It cannot be set for one tool.
type CommonOption interface {
	Option
	GuardOption
}

// The sealed interfaces wrap options of package handler, which knows both SDKs.
type (
	forServer struct{ handler.Option }
	forTool   struct{ handler.ToolOption }
	shared    struct{ handler.SharedOption }
	common    struct {
		forServer

		change func(g *guard)
	}
)

func (forServer) option()       {}
func (forTool) toolOption()     {}
func (shared) option()          {}
func (shared) toolOption()      {}
func (c common) guard(g *guard) { c.change(g) }

// WithLogger logs failures to log, one line each: at level info if the caller is at
// fault, error for defects, else warn. What a repetition of a call that is made [Once] gets is logged as well, in the
// attribute "once": replayed, in flight, unknown, known or conflict. Credentials in causes are masked. The default, and
// nil, is slog.Default.
func WithLogger(log *slog.Logger) CommonOption {
	if log == nil {
		log = slog.Default()
	}
	return common{forServer{handler.WithLogger(log)}, func(g *guard) { g.log = log }}
}

// WithClock sets the clock from which waits until a point in time are computed. The
// default, and nil, is time.Now.
func WithClock(now func() time.Time) CommonOption {
	if now == nil {
		now = time.Now
	}
	return common{forServer{handler.WithClock(now)}, func(g *guard) { g.now = now }}
}

// WithLimiter charges calls of tools to l, and refuses them if nothing is left. Give it
// to [Guard], which knows who is calling, and which takes the charge back if [Use]
// refuses the call; on stdio, where there is no Guard, give it to Use. Refused calls are
// not charged. The default, and nil, is no limit.
func WithLimiter(l Limiter) CommonOption {
	var charge func(context.Context) error
	if l != nil {
		charge = func(ctx context.Context) error {
			_, err := l.Take(ctx, "")
			return err
		}
	}
	return common{forServer{handler.WithCharge(charge)}, func(g *guard) { g.limiter = l }}
}

// WithTool sets options of the tool of that name. Several WithTool for one tool add up.
func WithTool(name string, options ...ToolOption) Option {
	return forServer{handler.WithTool(name, options...)}
}

// WithTimeout makes sure that a call is answered within d: then its context ends, and the client gets an answer at most
// 250 ms later, even if the handler ignores its context; such a handler keeps running until it returns. Time spent asking
// the client's user counts. The default is [NoTimeout]; 0 changes nothing.
func WithTimeout(d time.Duration) SharedOption { return shared{handler.WithTimeout(d)} }

// WithErrorTexts shows clients the text of an error that is not a [recourse.Error], at
// most 4 KiB, with credentials, addresses and stack frames masked. It is for a server
// in transition: its errors read as before until each has become a failure with a
// kind. Prose can reveal more than masking recognises. The default is false: clients
// see what [recourse.From] makes of the error, and its text is logged.
func WithErrorTexts(told bool) SharedOption { return shared{handler.WithErrorTexts(told)} }

// WithFamilies names the families of failures that handlers pass on from the systems they call, see [contract.Families] and
// [contract.LoadFamily]. For a result with isError, an author's own family takes precedence over the built-in ones. A
// result without isError is a failure, too, if it consists of nothing but a weak form of one of these families. By
// default a result without isError is a success, whatever it says.
func WithFamilies(families ...*contract.Family) SharedOption {
	return shared{handler.WithFamilies(families)}
}

// NoTimeout lets a call take as long as its handler does.
const NoTimeout time.Duration = -1

var _ = [1]struct{}{}[NoTimeout-handler.NoTimeout] // they are the same

// WithContract makes a tool fail in the form of c instead of the server's contract. It panics if c is nil.
func WithContract(c *contract.Contract) ToolOption { return forTool{handler.WithContract(c)} }

// WithNature says what a tool does to the world. It overrides the contract and the tool's annotations.
func WithNature(n retry.Nature) ToolOption { return forTool{handler.WithNature(n)} }

// WithVerify names the call that settles whether a call of the tool took effect, for
// failures that leave it unknown and do not name one themselves. The tool then counts as
// one that writes, unless [WithNature] says otherwise.
func WithVerify(v Verify) ToolOption {
	return forTool{handler.WithVerify(toolcall.Verification{Tool: v.Tool, From: v.From, With: v.With, LookAt: v.LookAt})}
}

// Verify names the call, of a tool that only reads, that shows whether another call took
// effect.
type Verify struct {
	// Tool is the name of that tool.
	Tool string
	// From are arguments taken from the call in question: JSON Pointers (RFC 6901) into its arguments, by name.
	// A pointer that leads nowhere, to a secret, or to more than 128 bytes is left out.
	From map[string]string
	// With are further arguments, with fixed values.
	With map[string]any
	// LookAt names what settles the question in the answer.
	LookAt string
}
