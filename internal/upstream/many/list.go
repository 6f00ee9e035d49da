package many

import (
	"context"
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

// A fetched list is the result of asking a server: a list, or the reason why there is no new one.
type fetched struct {
	server *Source
	list   *list           // the last one; nil: there has never been one
	fail   *recourse.Error // nil: it has answered
	late   bool            // it has not answered yet
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
		if cursor = wire.NextCursor(result); cursor == nil {
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
	switch o := c.want(r, s, discovery, time.Time{}).await(ctx); {
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
