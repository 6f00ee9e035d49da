package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
)

// caught continues with the next stages. A panic in one of them becomes the failure of this call, and ends no other.
func (c *call) caught(next next) (f *failure) {
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case http.ErrAbortHandler: // net/http's way to break an answer off without a word
			c.reply.broken, f = true, nil
		default:
			f = c.panicked(fault)
		}
	}()
	return next(c)
}

// panicked logs a panic, which is a bug, and returns the failure of its call: written if nothing has been sent yet,
// else the answer is broken off.
func (c *call) panicked(fault any) *failure {
	cause := c.g.logPanic(c.req.id, fault)
	c.tainted = true
	e := recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(cause)
	if c.out.counted > 0 {
		e = e.WithEffect(recourse.EffectUnknown)
	}
	switch {
	case c.reply.started:
		return &failure{e: e, off: true}
	case c.on == nil || !c.req.asks():
		return refuse(http.StatusInternalServerError, e)
	default:
		return settled(e)
	}
}

// A thrown is a panic in another goroutine, on its way to the call that it belongs to.
type thrown struct {
	fault any
	stack []byte
}

// throw returns what a goroutine has recovered from, to be thrown again; nil: nothing.
func throw(fault any) any {
	switch fault {
	case nil, http.ErrAbortHandler:
		return fault
	default:
		return thrown{fault, debug.Stack()}
	}
}

// logPanic logs a panic in a call, and returns it as an error.
func (g *Gateway) logPanic(id string, fault any) error {
	from, elsewhere := fault.(thrown)
	if !elsewhere {
		from = thrown{fault, debug.Stack()}
	}
	cause := fmt.Errorf("panic: %v", from.fault)
	g.log.LogAttrs(context.Background(), slog.LevelError, "panic", slog.String("request_id", id),
		slog.Any("cause", observe.Private{}.Mask(cause)), slog.String("stack", string(from.stack)))
	return cause
}
