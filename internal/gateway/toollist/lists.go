// Package toollist keeps the lists of a server's tools, one for each caller whose own credentials are forwarded.
// Calls are checked against them; a list is fetched when a call needs it.
//
//	a call
//	  |  Get      is its caller's list here, and not too old: fetched before, or passed on to the caller itself
//	  |  fetch    else it is fetched with the call's credentials; other calls wait for the same list
//	  v
//	the list, or nil if it cannot be had: then the call is sent unchecked
package toollist

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// Fresh is how old a list may be when a call is refused because of it; an older one is fetched again first.
const Fresh = 5 * time.Second

const (
	// maxAge is how long a tool list is used. A shorter ttlMs from the server wins.
	maxAge = 5 * time.Minute
	// timeout limits what fetching a list may add to a call; if a server's list is not available, its
	// calls are sent unchecked.
	timeout = 5 * time.Second
	// retry is how long to wait before fetching a list again after a failure.
	retry = 5 * time.Second
	// leastAge is the shortest time for which a list is used, whatever its ttlMs says, and restPerByte the time
	// per byte before it is fetched again: a second per MiB.
	leastAge    = time.Second
	restPerByte = time.Second / (1 << 20)
	// maxTools and maxListBytes limit what is read of one list, maxPages its pages. Tools beyond that are
	// treated as if there were no list: their calls pass.
	maxTools     = 2000
	maxListBytes = 16 << 20
	maxPages     = 100
	// maxLists limits how many lists are kept per server, one for each caller whose own credentials are
	// forwarded, and maxListsBytes their total size. Beyond that, a new list replaces some of them.
	maxLists      = 1000
	maxListsBytes = 32 << 20
	// maxFetches limits how many lists are fetched from a server at once.
	maxFetches = 4
)

// A List is what a server offers to the holder of some credentials. It does not change.
type List struct {
	toolcall.List

	By      upstream.Caller // who fetched it, see [Call.Asker]
	Partial bool            // the server has more tools than these

	fetched time.Time
	expires time.Time
	rests   time.Time // not fetched again before then, whatever happens
	failed  bool      // the list is not available
	seen    []string  // the tools of the last one that was available, whole; nil: none was
}

// A Requester asks for the list of its caller, which is fetched with the caller's own credentials.
type Requester interface {
	// Key tells apart the callers whose lists are kept separately.
	Key() upstream.Caller
	// Asker tells apart the callers who share a list but might be given another.
	Asker() upstream.Caller
	// HeldBack reports whether the server is not to be asked for now: then its last list is used.
	HeldBack() bool
	// Timeout is how long the server may take for the call itself.
	Timeout() time.Duration
	// Page fetches a page, from 0, which begins at cursor. Its result has up to limit bytes.
	Page(ctx context.Context, page int, cursor json.Value, limit int) (json.Value, error)
	// Failed logs why there is no list. It reports whether the caller has gone, which says nothing about the
	// server.
	Failed(cause error) (gone bool)
}

// Lists are the tool lists of a server by [Requester.Key].
type Lists struct {
	server string
	log    *slog.Logger

	fetches pause.Turn

	mu    sync.Mutex
	lists map[upstream.Caller]*listSlot
	tools map[any]*sharedTool // the tools of all lists, by their description
	bytes int                 // the total size of tools
	noted map[string]string   // tool to the reason why its arguments are not checked
}

// A sharedTool is in all lists that describe it in the same way, so that nothing is prepared twice.
type sharedTool struct {
	*toolcall.Entry

	size int // the bytes that it counts for
	uses int // how many lists contain it
}

// A listSlot holds one list, which is fetched by one call at a time.
type listSlot struct {
	fetching pause.Turn
	list     *List
	stale    bool // guarded by Lists.mu, as list and gone are
	gone     bool // it has been removed from the slots
}

// New returns an empty set of lists for a server.
func New(server string, log *slog.Logger) *Lists {
	return &Lists{
		server: server, log: log, lists: map[upstream.Caller]*listSlot{}, tools: map[any]*sharedTool{},
		noted: map[string]string{}, fetches: pause.NewTurn(maxFetches),
	}
}

// Changed records that the server has announced a new list.
func (t *Lists) Changed(of upstream.Caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot := t.lists[of]; slot != nil {
		slot.stale = true
	}
}

// AllChanged does so of all callers' lists.
func (t *Lists) AllChanged() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, slot := range t.lists {
		slot.stale = true
	}
}

// Params returns the arguments of a tool that its clients repeat in headers, from any list that has the tool.
func (t *Lists) Params(tool string) []wire.ParamHeader {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, slot := range t.lists {
		if slot.list != nil && slot.list.Tools[tool] != nil {
			return slot.list.Tools[tool].ParamHeaders()
		}
	}
	return nil
}

func (t *Lists) slot(of upstream.Caller) *listSlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := t.lists[of]
	if slot == nil {
		t.trim(nil)
		slot = &listSlot{fetching: pause.NewTurn(1)}
		t.lists[of] = slot
	}
	return slot
}

// trim makes room for another list. Lists that are dropped are fetched again when needed. It is called with
// the lock held.
func (t *Lists) trim(keep *listSlot) {
	for of, slot := range t.lists {
		if len(t.lists) < maxLists && t.bytes <= maxListsBytes {
			return
		}
		if slot != keep {
			t.drop(slot.list)
			slot.list, slot.gone = nil, true
			delete(t.lists, of)
		}
	}
}

// put puts a list into its slot. Tools that other lists describe in the same way are shared.
func (t *Lists) put(slot *listSlot, l *List) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot.gone {
		slot.list = l
		return
	}
	for name, tool := range l.Tools {
		known := t.tools[tool.Source]
		if known == nil {
			known = &sharedTool{Entry: tool, size: sizeOf(tool)}
			t.tools[tool.Source] = known
			t.bytes += known.size
		}
		known.uses++
		l.Tools[name] = known.Entry
	}
	t.drop(slot.list)
	slot.list = l
	t.trim(slot)
}

// drop forgets the tools that only this list has.
func (t *Lists) drop(l *List) {
	if l == nil {
		return
	}
	for _, tool := range l.Tools {
		shared := t.tools[tool.Source]
		if shared.uses--; shared.uses == 0 {
			delete(t.tools, tool.Source)
			t.bytes -= shared.size
		}
	}
}

func (t *Lists) current(slot *listSlot, newerThan time.Time) *List {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, now := slot.list, time.Now()
	switch {
	case l == nil:
		return nil
	case now.Before(l.rests) && slot.stale: // it is out of date
		return &List{failed: true}
	case now.Before(l.rests):
		return l
	case slot.stale && !l.failed, now.After(l.expires), l.fetched.Before(newerThan) && !l.failed:
		return nil
	}
	return l
}

// Get returns the list for the caller, fetched not before newerThan, or nil if it is not available.
func (t *Lists) Get(ctx context.Context, call Requester, newerThan time.Time) *List {
	slot := t.slot(call.Key())
	l := t.current(slot, newerThan)
	switch {
	case l != nil:
	case call.HeldBack():
		t.mu.Lock()
		l = slot.list
		t.mu.Unlock()
	default:
		if !slot.fetching.Take(ctx) {
			return nil
		}
		defer slot.fetching.Leave()
		if l = t.current(slot, newerThan); l == nil {
			l = t.fetch(ctx, call, slot)
		}
	}
	if l == nil || l.failed {
		return nil
	}
	return l
}

// Passed takes note of the first page of a list with which the server has answered the caller itself, unless there is
// a list already. It need not be fetched then, and it is known if the server cannot be reached later.
func (t *Lists) Passed(call Requester, result json.Value) {
	slot := t.slot(call.Key())
	if l := t.current(slot, time.Time{}); l != nil && !l.failed {
		return
	}
	select {
	case slot.fetching <- struct{}{}:
	default: // somebody fetches it
		return
	}
	defer slot.fetching.Leave()
	if d := t.draft(); d.add(result) == nil && d.cursor == nil && !d.Partial {
		t.put(slot, d.whole(call.Asker()))
	}
}

// Seen returns the names of all tools in the last list that was available to the caller, whatever its age; nil: there was
// none, or it was not whole.
func (t *Lists) Seen(call Requester) []string {
	slot := t.slot(call.Key())
	t.mu.Lock()
	defer t.mu.Unlock()
	switch l := slot.list; {
	case l == nil:
		return nil
	case l.failed:
		return l.seen
	case l.Partial:
		return nil
	default:
		return l.Names
	}
}

func (t *Lists) fetch(ctx context.Context, call Requester, slot *listSlot) *List {
	t.mu.Lock()
	slot.stale = false // later announcements are about a later list
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(timeout, call.Timeout()/2))
	defer cancel()
	var l *List
	var err error
	if t.fetches.Take(ctx) {
		l, err = t.read(ctx, call)
		t.fetches.Leave()
	} else {
		err = fmt.Errorf("%d other lists are being fetched: %w", maxFetches, context.Cause(ctx))
	}
	if err != nil {
		l = &List{failed: true, fetched: time.Now(), expires: time.Now().Add(retry), seen: t.Seen(call)}
		if gone := call.Failed(err); gone && ctx.Err() != nil {
			return l
		}
	}
	t.put(slot, l)
	return l
}
