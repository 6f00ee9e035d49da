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
func (c *call) caught(next next) (err error) {
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case http.ErrAbortHandler: // net/http's way to break an answer off without a word
			c.reply.broken, err = true, nil
		default:
			err = c.panicked(fault)
		}
	}()
	return next(c)
}

// panicked logs a panic, which is a bug, and returns the failure of its call: written if nothing has been sent yet,
// else the answer is broken off.
func (c *call) panicked(fault any) error {
	cause := fmt.Errorf("panic: %v", fault)
	c.g.log.LogAttrs(context.Background(), slog.LevelError, "panic", slog.String("request_id", c.req.id),
		slog.Any("cause", observe.Private{}.Mask(cause)), slog.String("stack", string(debug.Stack())))
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
