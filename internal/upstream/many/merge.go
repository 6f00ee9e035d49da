package many

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
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

// list answers a request for a list with a page of the lists of all servers, in their order.
func (c *Conn) list(ctx context.Context, r *upstream.Request, k *listKind) (*wire.Answer, error) {
	outcomes := c.askAll(ctx, r, c.options.Load().Servers, k)
	if err := ctx.Err(); err != nil {
		return nil, upstream.EndedBeforeSend(ctx, c.Name())
	}
	failed := c.allFailed(outcomes)
	if failed != nil && k != tools { // without tools, clients start all the same, and many do not with an error
		return nil, failed
	}
	m := c.merge(outcomes, k)
	at, e := m.find(json.Value(r.Message.Cursor))
	if e != nil {
		return nil, e
	}
	ttl, public := freshness(outcomes)
	result := json.Members{{Name: "resultType", Value: json.Value(`"complete"`)}}
	result.Add(k.member, m.pages[at])
	if at+1 < len(m.pages) {
		result.Text("nextCursor", m.cursor(at+1))
	}
	result.Add("ttlMs", strconv.AppendInt(nil, ttl, 10))
	scope := "private"
	if public {
		scope = "public"
	}
	result.Text("cacheScope", scope)
	if at == 0 {
		var targets json.Members
		for i, o := range outcomes {
			targets.Add(o.server.Name, o.tell(k, m.listed[i], m.left[i]))
		}
		meta := json.Members{{Name: MetaTargets, Value: targets.AppendTo(nil)}}
		if failed != nil {
			if record, err := failed.MarshalJSON(); err == nil {
				meta.Add(wire.MetaRecord, record)
			}
		}
		result.Object("_meta", meta)
	}
	return wire.RespondResult(r.Message.ID, result.AppendTo(nil)), nil
}

// freshness returns for how many milliseconds a merged list may be kept, and whether anybody may be shown it.
func freshness(outcomes []fetched) (ttl int64, public bool) {
	ttl, public = -1, true
	for _, o := range outcomes {
		if o.list != nil {
			public = public && o.list.Public
			ttl = leastTTL(ttl, o.list.TTL-time.Since(o.list.At).Milliseconds())
		}
		if o.fail != nil || o.late {
			ttl = 0
		}
	}
	return max(ttl, 0), public
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

const (
	// maxPageItems and maxPageBytes limit a page. Most endpoints have less in all: not every client asks for a second page.
	maxPageItems = 1000
	maxPageBytes = 1 << 20
)

// merged is what several servers list. It does not change.
type merged struct {
	origins []*list // what it was made of, by server; nil: nothing is known
	servers []*Source
	mark    [8]byte // tells it apart from another content
	pages   []json.Value
	listed  []int      // how many items are there of each server
	left    [][]string // the names that each server cannot offer
}

// merge combines the lists of servers, unless the last ones were the same. Tools and prompts whose name two servers use are left out: a
// call would reach one of them by chance. If two servers have the same resource, the first server's
// counts, since the endpoint cannot rename resources.
func (c *Conn) merge(outcomes []fetched, k *listKind) *merged {
	m := &merged{listed: make([]int, len(outcomes)), left: make([][]string, len(outcomes))}
	for _, o := range outcomes {
		var origin *list
		if o.list != nil {
			origin = o.list.origin
		}
		m.origins, m.servers = append(m.origins, origin), append(m.servers, o.server)
	}
	c.merging.Lock()
	defer c.merging.Unlock()
	if last := c.merged[k]; last != nil && slices.Equal(last.origins, m.origins) && slices.Equal(last.servers, m.servers) {
		return last
	}
	names, left := offeredBy(outcomes, k)
	var p pager
	for i, o := range outcomes {
		for _, it := range o.items() {
			name, ok := o.server.offers(it.Name, k)
			if !ok || names[name] != i || slices.Contains(left[name], i) {
				continue
			}
			p.add(it.as(name, k))
			m.listed[i]++
		}
		m.left[i] = c.told(outcomes, i, left, k)
	}
	m.pages, m.mark = p.end()
	c.merged[k] = m
	return m
}

// A pager divides items into pages.
type pager struct {
	pages []json.Value // without their last bracket
	items int          // of the last one
}

func (p *pager) add(item json.Value) {
	last := len(p.pages) - 1
	switch {
	case last < 0, p.items == maxPageItems, len(p.pages[last])+len(item) > maxPageBytes:
		p.pages, p.items = append(p.pages, append(json.Value{'['}, item...)), 1
	default:
		p.pages[last], p.items = append(append(p.pages[last], ','), item...), p.items+1
	}
}

// end returns the pages, of which there is at least one, and their mark.
func (p *pager) end() (pages []json.Value, mark [8]byte) {
	if p.pages == nil {
		p.pages = []json.Value{{'['}}
	}
	sum := sha256.New()
	for i := range p.pages {
		p.pages[i] = append(p.pages[i], ']')
		_, _ = sum.Write(p.pages[i]) // never fails
	}
	copy(mark[:], sum.Sum(nil))
	return p.pages, mark
}

// cursor returns the cursor of a page.
func (m *merged) cursor(page int) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint16(m.mark[:], uint16(page)))
}

// find returns the page that a cursor, as the client has written it, asks for. A cursor is good for the very list that it is from.
func (m *merged) find(cursor json.Value) (page int, e *recourse.Error) {
	if cursor == nil || cursor.Kind() == 'n' || string(cursor) == `""` {
		return 0, nil
	}
	var text string
	_ = json.Unmarshal(cursor, &text) // anything else is not one of ours
	raw, err := base64.RawURLEncoding.DecodeString(text)
	said := "The list has changed since this cursor was given: ask again without a cursor, and read the list from its beginning."
	switch {
	case err != nil || len(raw) != len(m.mark)+2:
		said = "This is no cursor of this list: leave it out, and read the list from its beginning."
	case bytes.Equal(raw[:len(m.mark)], m.mark[:]):
		if page = int(binary.BigEndian.Uint16(raw[len(m.mark):])); page < len(m.pages) {
			return page, nil
		}
	}
	return 0, recourse.InvalidValue("cursor", "the nextCursor of this list", text).WithMessage("%s", said).
		WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
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
