package console

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	acceptPath = "/accept"
	closePath  = "/close"

	paramRevision = "revision"

	// maxPinned limits how many tools are shown that have changed, and maxValues the values of each.
	maxPinned = 50
	maxValues = 50
)

// acted notes in the log, and in the journal, what an operator has done.
func (c *Console) acted(r *http.Request, what string, attrs ...slog.Attr) {
	by := operatorOf(r)
	c.log.LogAttrs(r.Context(), slog.LevelInfo, "an operator has "+what, append([]slog.Attr{slog.String("operator", by)}, attrs...)...)
	if c.Journal == nil {
		return
	}
	a := &store.Action{Operator: by, From: door.Proxies(nil).Client(r).String(), What: what, On: map[string]string{}}
	for _, attr := range attrs {
		a.On[attr.Key] = attr.Value.String()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), pageTime) // it is done, even if the browser has gone
	defer cancel()
	if err := c.Journal.Note(ctx, a); err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "the journal does not say what an operator has done",
			slog.String("cause", redact.Log(err.Error())))
	}
}

// A pinned is what waits at a server until somebody accepts it.
type pinned struct {
	revision int64
	total    int
	tools    []*pin.Pin // the first of them, by name
}

// pinned returns what waits at a server; nil: nothing does.
func (c *Console) pinned(ctx context.Context, server string) (*pinned, error) {
	if c.Pins == nil {
		return nil, nil
	}
	r, err := c.Pins.Load(ctx, server)
	if err != nil {
		return nil, err
	}
	p := &pinned{revision: r.Revision}
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		if t := r.Tools[name]; t.Change() != "" {
			p.total++
			if len(p.tools) < maxPinned {
				p.tools = append(p.tools, t)
			}
		}
	}
	if p.total == 0 {
		return nil, nil
	}
	return p, nil
}

// changes returns the values in which the definitions of a tool differ, as lines of a text.
func changes(t *pin.Pin) string {
	var b strings.Builder
	lines := 0
	line := func(sign, place, value string) {
		if value == "" {
			return
		}
		if lines++; lines <= maxValues {
			b.WriteString(sign + " " + visible.Escape(place) + ": " + visible.Escape(value) + "\n")
		}
	}
	for _, v := range t.Values() {
		if v.Was != v.Is {
			line("-", v.Place, v.Was)
			line("+", v.Place, v.Is)
		}
	}
	if lines > maxValues {
		b.WriteString("... recourse pin show has the rest\n")
	}
	return shortened(b.String())
}

// accept accepts what waits at a server, or at one of its tools, as the operator has seen it.
func (c *Console) accept(r *http.Request) (*view, error) {
	server, tool := r.PathValue("name"), r.PostFormValue(paramTool)
	revision, err := strconv.ParseInt(r.PostFormValue(paramRevision), 10, 64)
	if err != nil || c.Pins == nil {
		return nil, errAccepted
	}
	accepted, err := pin.AcceptSeen(r.Context(), c.Pins, server, tool, revision)
	switch {
	case errors.Is(err, pin.ErrChanged), err == nil && len(accepted) == 0:
		return nil, errAccepted
	case err != nil:
		return nil, err
	}
	slices.Sort(accepted)
	c.acted(r, store.ActionAccepted, slog.String("server", server), slog.Any("tools", accepted))
	return &view{to: string(serverURL(server))}, nil
}

// closeBreaker closes an open circuit of a server, or of one of its tools.
func (c *Console) closeBreaker(r *http.Request) (*view, error) {
	server, tool := r.PathValue("name"), r.PostFormValue(paramTool)
	if c.Gateway == nil || !c.Gateway.CloseBreaker(server, tool) {
		return nil, errClosed
	}
	c.acted(r, "closed a breaker", slog.String("server", server), slog.String("tool", tool))
	return &view{to: string(serverURL(server))}, nil
}

var (
	errAccepted = &problem{
		http.StatusConflict, "What waits is not what you have seen any more.",
		"Somebody has accepted it, or the server has changed it again: look at its page.",
	}
	errClosed = &problem{http.StatusConflict, "This breaker is not open any more.", "Calls pass: look at the page of the server."}
)
