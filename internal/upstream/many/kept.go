package many

import (
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A listKind is one of the lists that servers provide.
type listKind struct {
	method     string
	member     string // of the result
	name       string // the member that identifies an item
	capability json.Pointer
	changed    string // the notification that the list has changed
	what       string // what one item is, for messages
}

const (
	// maxLists limits how many lists are kept, and maxListsBytes their size; the least recently used
	// ones are dropped first.
	maxLists      = 30_000
	maxListsBytes = 64 << 20
	// freshAge is how old a list may be when it is shown, or a call refused because of it, without asking its server again.
	// A shorter ttlMs of the server's counts, down to leastAge.
	freshAge = 5 * time.Second
	leastAge = time.Second
)

// A list is what a server has listed. It is immutable.
type list struct {
	Items  []item     `json:"items,omitempty"`
	At     time.Time  `json:"at"`
	TTL    int64      `json:"ttlMs,omitzero"`
	Public bool       `json:"public,omitzero"`
	Cut    bool       `json:"cut,omitzero"`  // the server has more items
	Said   json.Value `json:"said,omitzero"` // the result of server/discover
	size   int
	byName map[string]bool
	origin *list // the first one with the same items; the list itself if they are new
}

// An item is one entry of a list.
type item struct {
	Name string     `json:"name"` // in the server's own spelling
	Raw  json.Value `json:"raw"`
}

type items []item

// value returns the items as an array.
func (all items) value() json.Value {
	values := make([]json.Value, len(all))
	for i, it := range all {
		values[i] = it.Raw
	}
	return json.Array(values)
}

// index makes l ready for use.
func (l *list) index() *list {
	l.byName = make(map[string]bool, len(l.Items))
	l.size = len(l.Said)
	l.origin = l
	for _, it := range l.Items {
		l.byName[it.Name] = true
		l.size += len(it.Raw) + 2*len(it.Name)
	}
	return l
}

func (l *list) has(name string) bool { return l != nil && l.byName[name] }

// same reports whether two lists are equal.
func (l *list) same(other *list) bool {
	if l == nil || other == nil || len(l.Items) != len(other.Items) || string(l.Said) != string(other.Said) {
		return l == other
	}
	for i := range l.Items {
		if string(l.Items[i].Raw) != string(other.Items[i].Raw) {
			return false
		}
	}
	return true
}

// A listKey identifies a list: by server, place, kind, and who it is for.
type listKey struct {
	server, place, method string
	of                    upstream.Caller
}

// kept holds the last lists of the servers.
type kept struct {
	mu      sync.Mutex
	slots   *recent.Map[listKey, *slot]
	changed map[listKey]time.Time // when a server said so of a list, whoever that is for
	file    *file                 // nil: they are only kept in memory
}

// A slot holds the last list of a kind, and the request for a new one.
type slot struct {
	mu     sync.Mutex
	good   *list
	by     *Source // who has listed it; nil: it is from the file
	flight *flight // under way; nil: none
}

func newKept(path string, note func(string)) *kept {
	bounds := recent.Bounds{Most: maxLists, Bytes: maxListsBytes}
	k := &kept{slots: recent.New[listKey, *slot](bounds), changed: map[listKey]time.Time{}}
	if path == "" {
		return k
	}
	k.file = openFile(path, note)
	for at, l := range k.file.read() {
		k.slots.Put(at, &slot{good: l.index()}, l.size)
	}
	return k
}

func (k *kept) close() {
	if k.file != nil {
		k.file.close()
	}
}

func (k *kept) slot(at listKey) *slot {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.slots.Get(at)
	if !ok {
		k.slots.Trim(1, (*slot).busy)
		s = &slot{}
		k.slots.Put(at, s, 0)
	}
	return s
}

func (s *slot) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight != nil
}

// last returns the last list; nil: there is none.
func (s *slot) last() *list {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.good
}

// fresh returns the last list if it is of later than since, and the server need not be asked again. s.mu is held.
func (s *slot) fresh(by *Source, since time.Time) *list {
	l := s.good
	if l == nil || s.by != by || by.Always || !l.At.After(since) {
		return nil
	}
	most := freshAge
	if l.TTL > 0 {
		most = max(leastAge, min(most, time.Duration(l.TTL)*time.Millisecond))
	}
	if time.Since(l.At) >= most {
		return nil
	}
	return l
}

// Changed records that a server has announced, by that notification, that a list of it has changed. Nobody is shown the old one
// any more.
func (c *Conn) Changed(s *Source, announcement string) {
	for _, k := range []*listKind{tools, prompts, resources, templates} {
		if k.changed == announcement {
			c.kept.mu.Lock()
			c.kept.changed[listKey{server: s.Name, place: s.Place, method: k.method}] = time.Now()
			c.kept.mu.Unlock()
		}
	}
}

// Announce is [Conn.Changed], and tells the clients that listen.
func (c *Conn) Announce(s *Source, announcement string) {
	c.Changed(s, announcement)
	c.listeners.announce(announcement)
}

func (k *kept) changedAt(of listKey) time.Time {
	of.of = upstream.Caller{}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed[of]
}

// put replaces the list in a slot, unless that is of a later time. It reports whether it is another one.
func (k *kept) put(at listKey, s *slot, by *Source, l *list) (changed bool) {
	s.mu.Lock()
	before := s.good
	if before != nil && before.At.After(l.At) {
		s.mu.Unlock()
		return false
	}
	if changed = !l.same(before); !changed && before.origin != nil {
		l.Items, l.byName, l.origin = before.Items, before.byName, before.origin
	}
	s.good, s.by = l, by
	s.mu.Unlock()
	grown := l.size
	if before != nil {
		grown -= before.size
	}
	if grown != 0 {
		k.grown(at, grown)
	}
	if changed {
		k.write(at, l)
	}
	return changed
}

// grown records that the list at a key has changed its size.
func (k *kept) grown(at listKey, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.slots.Grow(at, bytes)
	k.slots.Trim(0, (*slot).busy)
}

// write schedules a list to be written to the file, if everybody sees it.
func (k *kept) write(at listKey, l *list) {
	if k.file != nil && at.of.IsAnonymous() {
		k.file.put(at, l)
	}
}
