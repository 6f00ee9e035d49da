package many

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// The lists that servers provide.
var (
	tools     = &listKind{wire.MethodToolsList, "tools", "name", "/capabilities/tools", wire.MethodToolsChanged, "tool"}
	prompts   = &listKind{wire.MethodPromptsList, "prompts", "name", "/capabilities/prompts", wire.MethodPromptsChanged, "prompt"}
	resources = &listKind{wire.MethodResourcesList, "resources", "uri", "/capabilities/resources", wire.MethodResourcesChanged, "resource"}
	templates = &listKind{
		wire.MethodTemplatesList, "resourceTemplates", "uriTemplate", "/capabilities/resources",
		wire.MethodResourcesChanged, "resource template",
	}
	discovery = &listKind{method: wire.MethodDiscover}
)

// kindOf returns the list that a method asks for; nil: none.
func kindOf(method string) *listKind {
	for _, k := range []*listKind{tools, prompts, resources, templates} {
		if k.method == method {
			return k
		}
	}
	return nil
}

const (
	// maxItems and maxBytes limit what is read of one list of a server, maxPages its pages.
	maxItems = 2000
	maxBytes = 4 << 20
	maxPages = 100
	// maxItemName limits the names that are kept; an item with a longer name is not offered.
	maxItemName = 1 << 10
	// helloAge is how long a server's capabilities are remembered.
	helloAge = 5 * time.Minute
)

// A flight is a request for a list. Everybody who wants the list in the meantime waits for it.
type flight struct {
	done chan struct{}
	list *list
	fail *recourse.Error // instead of the list
	late bool            // somebody stopped waiting for it; guarded by slot.mu
}

// A fetched list is the result of asking a server: a list, or the reason why there is no new one.
type fetched struct {
	server *Source
	list   *list           // the last one; nil: there has never been one
	fail   *recourse.Error // nil: it has answered
	late   bool            // it has not answered yet
}

var errClosed = errors.New("the endpoint is closed")

// fly starts to ask a server for a list, unless a request is already under way.
func (c *Conn) fly(r *upstream.Request, s *Source, k *listKind) (*slot, *flight) {
	at := listKey{s.Name, s.Place, k.method, s.Of(r)}
	slot := c.kept.slot(at)
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.flight != nil {
		return slot, slot.flight
	}
	f := &flight{done: make(chan struct{})}
	asker := r.For(r.Header.Clone(), nil)
	asker.Message = introduced(r)
	begun := c.work.Go(func(life context.Context) {
		ctx, cancel := context.WithTimeout(life, c.options.Load().Time)
		defer cancel()
		f.list, f.fail = c.collect(ctx, asker, s, k)
		c.land(at, slot, f, k)
	})
	if !begun {
		f.fail = recourse.Unavailable(s.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(errClosed)
		close(f.done)
		return slot, f
	}
	slot.flight = f
	return slot, f
}

// introduced returns a message with the same client information as r's, which stays valid after r.
func introduced(r *upstream.Request) *wire.Message {
	return &wire.Message{Meta: append([]byte(nil), r.Message.Meta...)}
}

// land ends a flight.
func (c *Conn) land(at listKey, slot *slot, f *flight, k *listKind) {
	changed := f.list != nil && c.kept.put(at, slot, f.list)
	slot.mu.Lock()
	slot.flight = nil
	late := f.late
	slot.mu.Unlock()
	close(f.done)
	if changed && late && k.changed != "" {
		c.listeners.announce(k.changed)
	}
}

// await waits for a flight until ctx ends.
func await(ctx context.Context, s *Source, slot *slot, f *flight) fetched {
	select {
	case <-f.done:
	case <-ctx.Done():
		if list, late := slot.leave(f); late {
			return fetched{server: s, list: list, late: true}
		}
		<-f.done // it is ending right now
	}
	if f.fail != nil {
		return fetched{server: s, list: slot.last(), fail: f.fail}
	}
	return fetched{server: s, list: f.list}
}

// leave records that somebody has stopped waiting for a flight, and returns the last list. It reports
// false if the flight has ended.
func (s *slot) leave(f *flight) (last *list, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != f {
		return nil, false
	}
	f.late = true
	return s.good, true
}

// askAll asks servers for a list, all at once, and waits no longer than the deadline.
func (c *Conn) askAll(ctx context.Context, r *upstream.Request, servers []*Source, k *listKind) []fetched {
	ctx, cancel := context.WithTimeout(ctx, c.options.Load().Deadline)
	defer cancel()
	slots, flights, outcomes := make([]*slot, len(servers)), make([]*flight, len(servers)), make([]fetched, len(servers))
	for i, s := range servers {
		slots[i], flights[i] = c.fly(r, s, k)
	}
	for i, s := range servers {
		outcomes[i] = await(ctx, s, slots[i], flights[i])
	}
	return outcomes
}

// collect asks a server for all pages of a list, up to the limits.
func (c *Conn) collect(ctx context.Context, r *upstream.Request, s *Source, k *listKind) (*list, *recourse.Error) {
	if k != discovery {
		hello, fail := c.hello(ctx, r, s)
		if fail != nil {
			return nil, fail
		}
		if json.Lookup(hello.Said, k.capability) == nil {
			return (&list{At: time.Now(), Public: hello.Public, TTL: hello.TTL}).index(), nil
		}
	}
	l := &list{At: time.Now(), TTL: -1, Public: true}
	at := map[string]int{}
	cursor, left := json.Value(nil), maxBytes
	for page := range maxPages {
		id := wire.ID(fmt.Sprintf(`"%s-%d"`, strings.ReplaceAll(k.method, "/", "-"), page))
		result, fail := ask(ctx, s, askFor(r, id, k.method, json.Members{{Name: "cursor", Value: cursor}}), id, left)
		switch {
		case fail != nil && fail.Kind == recourse.KindUnknownMethod && k != discovery:
			return (&list{At: l.At, TTL: 0}).index(), nil
		case fail != nil:
			return nil, fail
		}
		l.TTL, l.Public = leastTTL(l.TTL, ttlOf(result)), l.Public && string(json.Lookup(result, "/cacheScope")) == `"public"`
		if k == discovery {
			l.Said = result
			return l.index(), nil
		}
		left -= len(result)
		raw := json.Lookup(result, json.Pointer("/"+k.member))
		if raw.Kind() != '[' {
			return nil, upstream.BadResponse(s.Title, fmt.Errorf("%s: the result has no list %s", k.method, k.member)).
				WithEffect(recourse.EffectNone)
		}
		items, more := json.Items(raw, maxItems)
		l.Cut = l.add(items, k, at) || more || l.Cut
		if cursor = json.Lookup(result, "/nextCursor"); cursor.Kind() != '"' || string(cursor) == `""` {
			break
		}
		if l.Cut = l.Cut || left <= 0 || page+1 == maxPages; l.Cut {
			break
		}
	}
	if l.Cut {
		c.noteOnce(s, fmt.Sprintf("%s has more than %d items, %d bytes or %d pages; the rest is not offered",
			k.method, maxItems, maxBytes, maxPages))
	}
	return l.index(), nil
}

// add adds the items of a page; if a name is repeated, the last item counts. It reports whether some
// did not fit.
func (l *list) add(items []json.Value, k *listKind, at map[string]int) (cut bool) {
	for _, raw := range items {
		var name string
		if json.Unmarshal(json.Lookup(raw, json.Pointer("/"+k.name)), &name) != nil || name == "" || len(name) > maxItemName {
			continue // nobody could use it
		}
		if i, twice := at[name]; twice {
			l.Items[i].Raw = raw
			continue
		}
		if len(l.Items) >= maxItems {
			return true
		}
		at[name] = len(l.Items)
		l.Items = append(l.Items, item{name, raw})
	}
	return false
}

// hello returns what a server says it can do.
func (c *Conn) hello(ctx context.Context, r *upstream.Request, s *Source) (*list, *recourse.Error) {
	if l := c.last(r, s, discovery); l != nil && time.Since(l.At) < helloAge {
		return l, nil
	}
	slot, f := c.fly(r, s, discovery)
	switch o := await(ctx, s, slot, f); {
	case o.fail != nil:
		return nil, o.fail
	case o.late:
		return nil, upstream.Broken(ctx, s.Title, context.Cause(ctx)).WithEffect(recourse.EffectNone)
	default:
		return o.list, nil
	}
}

// last returns a server's last list for the sender of a request; nil: there has never been one.
func (c *Conn) last(r *upstream.Request, s *Source, k *listKind) *list {
	return c.kept.slot(listKey{s.Name, s.Place, k.method, s.Of(r)}).last()
}

// Listed returns what a server's last list says about the tool with its own name local; nil: nothing. A
// server that has not listed its tools yet is asked. Listed reports false if it does not answer.
func (c *Conn) Listed(ctx context.Context, r *upstream.Request, s *Source, local string) (tool json.Value, ok bool) {
	l := c.last(r, s, tools)
	if l == nil {
		c.askAll(ctx, r, []*Source{s}, tools)
		l = c.last(r, s, tools)
	}
	if l == nil {
		return nil, false
	}
	if l.has(local) {
		tool = l.Items[slices.IndexFunc(l.Items, func(it item) bool { return it.Name == local })].Raw
	}
	return tool, true
}

// ask sends a request by the endpoint itself, and returns the result.
func ask(ctx context.Context, s *Source, r *upstream.Request, id wire.ID, limit int) (json.Value, *recourse.Error) {
	answer, err := upstream.Ask(ctx, s.Ask, r, id, int64(limit))
	switch {
	case err != nil:
		return nil, recourse.From(err).WithEffect(recourse.EffectNone)
	case answer.Result == nil:
		return nil, upstream.BadResponse(s.Title, fmt.Errorf("HTTP %d: %.200s%.200s", answer.Status, answer.Error, answer.Body))
	default:
		return answer.Result, nil
	}
}

// ttlOf returns how long a result may be kept, in milliseconds; 0 if it does not say.
func ttlOf(result json.Value) int64 {
	ms, err := strconv.ParseFloat(string(json.Lookup(result, "/ttlMs")), 64)
	const most = 24 * 60 * 60 * 1000
	if err != nil || ms < 0 {
		return 0
	}
	return int64(min(ms, most))
}

// leastTTL returns the smaller one; -1 means none yet.
func leastTTL(a, b int64) int64 {
	if a < 0 {
		return b
	}
	return min(a, b)
}
