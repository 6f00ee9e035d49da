package pin

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// maxTools limits how many tools of a server are kept, and maxBytes the size of their definitions: once for those that are
	// pinned, and once for those that wait.
	maxTools = 2000
	maxBytes = 4 << 20
	maxName  = 1 << 10
	// maxPages limits how many lists are followed at once that have several pages.
	maxPages = 100
	// maxLines limits how often changes of a server are logged in an hour, and maxNames the names in a line.
	maxLines = 100
	maxNames = 10
	maxTold  = 10_000
	// storeTime limits how long the store may take, once it is a list's turn. If that is not enough, or it fails, it is left alone for
	// storeRest.
	storeTime = 2 * time.Second
	storeRest = 2 * time.Second
)

// A Guardian holds back what a server changes.
type Guardian struct {
	name  string
	store Records
	log   *slog.Logger

	mu    sync.Mutex
	have  *Record                    // nil: nothing has been read yet
	pages map[string]map[string]bool // cursor to the tools on the pages before
	told  map[[sha256.Size]byte]bool // changes
	lines int                        // logged since the hour began
	hour  time.Time
	rests time.Time // until then the store is left alone
	fault error     // why
	moved bool      // clients are offered other definitions than before
}

// NewServer returns the pins of a server.
func NewServer(name string, store Records, log *slog.Logger) *Guardian {
	return &Guardian{
		name: name, store: store, log: log.With(slog.String("server", name)),
		pages: map[string]map[string]bool{}, told: map[[sha256.Size]byte]bool{},
	}
}

// A ListPage is a page of the list of a server's tools.
type ListPage struct {
	Tools   []json.Value
	Cursor  string // "": the first page
	Next    string // "": the last one
	Private bool   // the server may list other tools to others: that one is missing says nothing
	Old     bool   // it is not what the server says now: nothing is noted

	Reread bool // set by [Guardian.Offer]: others have changed the pins
}

// Offer returns the pinned definitions of the tools on a page, without those that are not offered.
func (s *Guardian) Offer(ctx context.Context, p *ListPage) ([]json.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	had := s.have
	err := s.note(ctx, p)
	p.Reread = s.have != had
	if err != nil && (s.have == nil || !s.have.Whole) {
		return nil, err
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "pins cannot be read or written: what is known of them is used",
			slog.String("cause", err.Error()))
	}
	if p.Old && !s.have.Whole {
		return p.Tools, nil
	}
	return s.offered(p), nil
}

// Offers reports whether clients may call a tool: it is pinned, or the server's tools are not known yet.
func (s *Guardian) Offers(ctx context.Context, tool string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	is := func() bool { return s.have.Tools[tool] != nil && s.have.Tools[tool].Pinned != "" }
	if s.have != nil && is() {
		return true, nil
	}
	if err := s.refresh(ctx); err != nil {
		return false, err
	}
	return !s.have.Whole || is(), nil
}

// Moved reports whether clients are offered other definitions than when it was last asked; revision is that of the record by now. It is
// not of interest before a client has seen any.
func (s *Guardian) Moved(ctx context.Context, revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if s.have == nil {
		return false
	}
	if s.have.Revision != revision && s.refresh(ctx) != nil {
		return false
	}
	moved := s.moved
	s.moved = false
	return moved
}

// refresh reads the pins, if others have changed them.
func (s *Guardian) refresh(ctx context.Context) error {
	if time.Now().Before(s.rests) {
		return s.fault
	}
	now, err := s.store.Revision(ctx, s.name)
	if err == nil && s.have != nil && s.have.Revision == now {
		return nil
	}
	var have *Record
	if err == nil {
		have, err = s.store.Load(ctx, s.name)
	}
	if err != nil {
		return s.rest(err)
	}
	s.moved = s.moved || s.have != nil && s.have.Whole && !s.have.offersSame(have)
	s.have = have
	clear(s.told) // what has been accepted may change again
	return nil
}

// rest notes that the store has failed.
func (s *Guardian) rest(err error) error {
	s.rests, s.fault = time.Now().Add(storeRest), err
	return err
}

// note compares a page with the pins, and writes down what is new.
func (s *Guardian) note(ctx context.Context, p *ListPage) error {
	for range attempts {
		if err := s.refresh(ctx); err != nil || p.Old {
			return err
		}
		d := s.compare(p)
		if len(d.Tools) == 0 && len(d.Dropped) == 0 && d.Whole == s.have.Whole {
			s.tell(ctx, d)
			return nil
		}
		saved, err := s.store.Save(ctx, s.name, &d.Changes)
		if err != nil {
			return s.rest(err)
		}
		if saved {
			s.take(&d.Changes)
			s.tell(ctx, d)
			return nil
		}
	}
	return errOvertaken
}

// take brings what is known up to date with changes that have been saved.
func (s *Guardian) take(c *Changes) {
	s.have.Revision, s.have.Whole = c.Since+1, c.Whole
	for _, t := range c.Tools {
		s.have.Tools[t.Name] = t
	}
	for _, name := range c.Dropped {
		delete(s.have.Tools, name)
	}
}

// A difference is what a page changes.
type difference struct {
	Changes

	tools, pinned, waiting int    // how many, and how many bytes, are kept
	over                   []*Pin // changes for which there is no room
}

func (s *Guardian) compare(p *ListPage) *difference {
	d := &difference{Changes: Changes{Since: s.have.Revision, Whole: s.have.Whole}, tools: len(s.have.Tools)}
	for _, t := range s.have.Tools {
		d.pinned, d.waiting = d.pinned+len(t.Pinned), d.waiting+len(t.Waiting)
	}
	seen := map[string]bool{}
	maps.Copy(seen, s.pages[p.Cursor])
	for _, raw := range p.Tools {
		if name := nameOf(raw); name != "" && !seen[name] {
			seen[name] = true
			d.add(s.have, name, strings.ToValidUTF8(string(raw), "\uFFFD"))
		}
	}
	switch {
	case p.Next != "":
		if len(s.pages) >= maxPages {
			clear(s.pages)
		}
		s.pages[p.Next] = seen
	case p.Cursor == "" || s.pages[p.Cursor] != nil: // the list is whole
		d.Whole = d.Whole || len(seen) > 0 // a server without tools may not be ready yet
		if !p.Private {
			d.miss(s.have, seen)
		}
	}
	return d
}

// add compares a tool with what is kept of it.
func (d *difference) add(have *Record, name, now string) {
	was := have.Tools[name]
	t := Pin{Name: name, Changed: time.Now()}
	switch {
	case was == nil && !have.Whole:
		t.Pinned = now
	case was == nil:
		t.Waiting = now
	case was.Gone || !same(now, said(was)):
		if t.Pinned = was.Pinned; !same(now, t.Pinned) {
			t.Waiting = now
		}
	default:
		return
	}
	before := Pin{}
	if was != nil {
		before = *was
	} else if d.tools >= maxTools {
		d.over = append(d.over, &t)
		return
	}
	pinned, waiting := d.pinned+len(t.Pinned)-len(before.Pinned), d.waiting+len(t.Waiting)-len(before.Waiting)
	if pinned > maxBytes || waiting > maxBytes {
		d.over = append(d.over, &t)
		return
	}
	d.pinned, d.waiting = pinned, waiting
	if was == nil {
		d.tools++
	}
	d.Tools = append(d.Tools, &t)
}

// said returns what the server last said of a tool.
func said(t *Pin) string {
	if t.Waiting != "" {
		return t.Waiting
	}
	return t.Pinned
}

// miss notes the tools that a whole list lacks.
func (d *difference) miss(have *Record, seen map[string]bool) {
	for name, t := range have.Tools {
		switch {
		case seen[name]:
		case t.Pinned == "":
			d.Dropped = append(d.Dropped, name)
		case !t.Gone:
			d.Tools = append(d.Tools, &Pin{Name: name, Pinned: t.Pinned, Gone: true, Changed: time.Now()})
		}
	}
}

// offered returns the pinned definitions of the tools on a page.
func (s *Guardian) offered(p *ListPage) []json.Value {
	seen := map[string]bool{}
	var offered []json.Value
	for _, raw := range p.Tools {
		name := nameOf(raw)
		if t := s.have.Tools[name]; t != nil && t.Pinned != "" && !seen[name] {
			seen[name] = true
			offered = append(offered, json.Value(t.Pinned))
		}
	}
	return offered
}

// tell logs what waits to be accepted since now, once.
func (s *Guardian) tell(ctx context.Context, d *difference) {
	by := map[string][]string{}
	note := func(kind string, t *Pin) {
		sum := sha256.Sum256([]byte(kind + "\x00" + t.Name + "\x00" + t.Waiting))
		if len(s.told) >= maxTold {
			clear(s.told)
		}
		if !s.told[sum] {
			s.told[sum] = true
			by[kind] = append(by[kind], t.Name)
		}
	}
	for _, t := range d.Tools {
		if kind := t.Change(); kind != "" {
			note(kind, t)
		}
	}
	for _, t := range d.over {
		note("too_large", t)
	}
	if time.Since(s.hour) > time.Hour {
		s.hour, s.lines = time.Now(), 0
	}
	if len(by) == 0 || s.lines >= maxLines {
		return
	}
	s.lines++
	var attrs []slog.Attr
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		attrs = append(attrs, slog.Any(kind, brief(by[kind])), slog.Int(kind+"_tools", len(by[kind])))
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "the server has changed its tools: this is held back until it is accepted with recourse pin",
		attrs...)
}

// brief returns the first of some names, none of them long.
func brief(names []string) []string {
	const most = 100
	slices.Sort(names)
	names = names[:min(len(names), maxNames)]
	for i, name := range names {
		names[i] = strings.ToValidUTF8(name[:min(len(name), most)], "")
	}
	return names
}

// nameOf returns the name of a tool; "": it has none that is kept.
func nameOf(raw json.Value) string {
	name := json.Text(raw, "/name")
	if len(name) > maxName || strings.ContainsRune(name, 0) {
		return ""
	}
	return name
}

// same reports whether two definitions say the same, however they are written.
func same(a, b string) bool {
	return a == b || a != "" && b != "" && string(json.Sorted(json.Value(a))) == string(json.Sorted(json.Value(b)))
}
