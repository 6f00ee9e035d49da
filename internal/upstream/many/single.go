package many

import (
	"bytes"
	"context"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A server that clients reach by itself answers them itself. What it answers is kept in the same way, and shown
// while it is away.

// atStart returns the list that a client of a single server gets when it starts; nil: another method.
func atStart(method string) *listKind {
	switch method {
	case wire.MethodDiscover:
		return discovery
	case wire.MethodToolsList:
		return tools
	default:
		return nil
	}
}

// Knows reports whether there is a last answer of the server to server/discover or tools/list.
func (c *Conn) Knows(r *upstream.Request, s *Source, method string) bool {
	return c.last(r, s, atStart(method)) != nil
}

// Heard keeps what the server has answered: all of its discovery, or the first page of its tools. If there are more
// pages, they are fetched in the background.
func (c *Conn) Heard(r *upstream.Request, s *Source, method string, result json.Value) {
	k := atStart(method)
	if k == tools && wire.NextCursor(result) != nil {
		if last := c.last(r, s, k); last == nil || time.Since(last.At) > helloAge {
			c.want(r, s, k, time.Time{})
		}
		return
	}
	result = bytes.Clone(result)
	l := &list{At: time.Now(), TTL: ttlOf(result)}
	if k == discovery {
		l.Said = result
	} else {
		items, more := json.Items(json.Lookup(result, json.Pointer("/"+k.member)), maxItems)
		l.Cut = l.add(items, k, map[string]int{}) || more
	}
	at := listKey{s.Name, s.Place, k.method, s.Of(r)}
	c.kept.put(at, c.kept.slot(at), s, l.index())
}

// Renew asks the server again, in the background, and calls changed if it lists something else then.
func (c *Conn) Renew(r *upstream.Request, s *Source, method string, changed func()) {
	before := c.last(r, s, atStart(method))
	w := c.want(r, s, atStart(method), time.Now())
	c.work.Go(func(life context.Context) {
		if o := w.await(life); o.fail == nil && !o.late && !o.list.same(before) {
			changed()
		}
	})
}

// LastKnown returns the server's last answer, to be shown instead of the one that it does not give because of fail,
// which is in its _meta. If there is none, it has tools, but none are known.
func (c *Conn) LastKnown(r *upstream.Request, s *Source, method string, fail *recourse.Error) json.Value {
	k := atStart(method)
	o := fetched{server: s, list: c.last(r, s, k), fail: fail}
	var said, capabilities json.Members
	if o.list != nil {
		said = json.MembersOf(o.list.Said)
	}
	result := json.Members{{Name: "resultType", Value: json.Value(`"complete"`)}}
	var meta json.Members
	switch {
	case k == tools:
		result.Add(k.member, o.items().value())
	case said == nil:
		capabilities.Add("tools", json.Value(`{"listChanged":true}`))
		result.Texts("supportedVersions", wire.Versions())
		result.Object("capabilities", capabilities)
	}
	for _, m := range said {
		switch m.Name {
		case "_meta":
			meta = json.MembersOf(m.Value)
		case "resultType", "ttlMs", "cacheScope":
		default:
			result.Add(m.Name, m.Value)
		}
	}
	result.Number("ttlMs", 0)
	result.Text("cacheScope", "private")
	if record, err := fail.MarshalJSON(); err == nil {
		meta.Add(wire.MetaRecord, record)
	}
	meta.Object(MetaTargets, json.Members{{Name: s.Name, Value: o.tell(k, len(o.items()), nil)}})
	result.Object("_meta", meta)
	return result.AppendTo(nil)
}
