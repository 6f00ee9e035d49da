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

// MetaTargets is the member of a list's _meta that says how each server answered.
const MetaTargets = "io.github.recoursehq/targets"

// list answers a request for a list with the lists of all servers, in their order. It has one page.
func (c *Conn) list(ctx context.Context, r *upstream.Request, k *listKind) (*wire.Answer, error) {
	if cursor := json.Value(r.Message.Cursor); cursor != nil && cursor.Kind() != 'n' {
		return nil, recourse.New(recourse.KindInvalidValue, "This list has a single page: leave cursor out.").
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	outcomes := c.askAll(ctx, r, c.options.Load().Servers, k)
	if err := ctx.Err(); err != nil {
		return nil, upstream.EndedBeforeSend(ctx, c.Name())
	}
	if e := c.allFailed(outcomes); e != nil {
		return nil, e
	}
	m := c.merge(outcomes, k)
	result := json.Members{{Name: "resultType", Value: json.Value(`"complete"`)}}
	result.Add(k.member, m.items)
	result.Add("ttlMs", strconv.AppendInt(nil, m.ttl, 10))
	scope := "private"
	if m.public {
		scope = "public"
	}
	result.Text("cacheScope", scope)
	result.Object("_meta", json.Members{{Name: MetaTargets, Value: m.targets}})
	return wire.RespondResult(r.Message.ID, result.AppendTo(nil)), nil
}

// allFailed returns the failure of a list when nothing is known, since no server has answered.
func (c *Conn) allFailed(outcomes []fetched) *recourse.Error {
	var why []string
	for _, o := range outcomes {
		switch {
		case o.list != nil:
			return nil
		case o.late:
			why = append(why, o.server.Title+" has not answered yet.")
		default:
			why = append(why, o.fail.Sentence())
		}
	}
	return recourse.Unavailable(c.Name()).WithMessage("No server of %s has answered. %s", c.Name(), strings.Join(why, " ")).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}

// merged is what several servers list.
type merged struct {
	items   json.Value
	ttl     int64
	public  bool
	targets json.Value
}

// merge combines the lists of servers. Tools and prompts whose name two servers use are left out: a
// call would reach one of them by chance. If two servers have the same resource, the first server's
// counts, since the endpoint cannot rename resources.
func (c *Conn) merge(outcomes []fetched, k *listKind) merged {
	m := merged{ttl: -1, public: true}
	names, left := offeredBy(outcomes, k)
	m.items = append(m.items, '[')
	var targets json.Members
	for i, o := range outcomes {
		listed := 0
		for _, it := range o.items() {
			name, ok := o.server.offers(it.Name, k)
			if !ok || names[name] != i || slices.Contains(left[name], i) {
				continue
			}
			if len(m.items) > 1 {
				m.items = append(m.items, ',')
			}
			m.items = append(m.items, it.as(name, k)...)
			listed++
		}
		if o.list != nil {
			m.public = m.public && o.list.Public
			m.ttl = leastTTL(m.ttl, o.list.TTL)
		}
		if o.fail != nil || o.late {
			m.ttl = 0
		}
		targets.Add(o.server.Name, o.tell(k, listed, c.told(outcomes, i, left, k)))
	}
	m.items = append(m.items, ']')
	m.ttl, m.targets = max(m.ttl, 0), targets.AppendTo(nil)
	return m
}

func (o fetched) items() items {
	if o.list == nil {
		return nil
	}
	return o.list.Items
}

// offers returns the name under which clients see an item of a list.
func (s *Source) offers(local string, k *listKind) (string, bool) {
	if k == tools || k == prompts {
		return s.Names.Offered(local)
	}
	return local, s.Names.Allows(local)
}

// offeredBy returns the index of the first server with each name, and, by name, the servers whose item
// is left out.
func offeredBy(outcomes []fetched, k *listKind) (names map[string]int, left map[string][]int) {
	names, left = map[string]int{}, map[string][]int{}
	for i, o := range outcomes {
		for _, it := range o.items() {
			name, ok := o.server.offers(it.Name, k)
			if !ok {
				continue
			}
			first, taken := names[name]
			switch {
			case !taken:
				names[name] = i
			case k == tools || k == prompts:
				if left[name] == nil {
					left[name] = []int{first}
				}
				left[name] = append(left[name], i)
			default:
				left[name] = append(left[name], i)
			}
		}
	}
	return names, left
}

// told returns the names that server i cannot offer, and notes them.
func (c *Conn) told(outcomes []fetched, i int, left map[string][]int, k *listKind) []string {
	var names []string
	for name, of := range left {
		if slices.Contains(of, i) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		what := "another server has it, too, and it is not offered: give one of them a prefix, or rename or deny it"
		if k != tools && k != prompts {
			what = "a server before it has it, too, and is the one that is read"
		}
		s := outcomes[i].server
		c.noteOnce(s, fmt.Sprintf("the %s %s: %s", k.what, strings.Join(names, ", "), what))
	}
	return names
}

// tell returns the outcome of asking a server, for the _meta of a list.
func (o fetched) tell(k *listKind, listed int, left []string) json.Value {
	var m json.Members
	switch {
	case o.late:
		m.Text("outcome", "late")
	case o.fail != nil:
		m.Text("outcome", string(o.fail.Kind))
		m.Text("message", o.fail.Sentence())
	default:
		m.Text("outcome", "ok")
	}
	m.Number("listed", listed)
	if o.list != nil && (o.late || o.fail != nil) {
		m.Text("asOf", o.list.At.UTC().Format(time.RFC3339))
	}
	if o.list != nil && o.list.Cut {
		m.Flag("truncated", true)
	}
	if k == tools || k == prompts {
		m.Texts("collisions", left)
	} else {
		m.Texts("shadowed", left)
	}
	return m.AppendTo(nil)
}

// as returns an item with another name.
func (it item) as(name string, k *listKind) json.Value {
	if name == it.Name {
		return it.Raw
	}
	members := json.MembersOf(it.Raw)
	for i := range members {
		if members[i].Name == k.name {
			members[i].Value = json.AppendQuote(nil, name)
		}
	}
	return members.AppendTo(nil)
}

// maxNoted limits the notes that are remembered.
const maxNoted = 1000

// noteOnce logs a note about a server, unless it repeats the last one.
func (c *Conn) noteOnce(s *Source, text string) {
	c.mu.Lock()
	known := c.noted[s.Name+text]
	if c.noted == nil || len(c.noted) >= maxNoted {
		c.noted = map[string]bool{}
	}
	c.noted[s.Name+text] = true
	c.mu.Unlock()
	if !known {
		s.Note(text)
	}
}
