package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// listMaxAge is how long a tool list is used. A shorter ttlMs from the server wins.
	listMaxAge = 5 * time.Minute
	// listFresh is how old a list may be when a call is refused because of it; an older one is fetched again
	// first.
	listFresh = 5 * time.Second
	// listTimeout limits what fetching a list may add to a call; if a server's list is not available, its
	// calls are sent unchecked.
	listTimeout = 5 * time.Second
	// listRetry is how long to wait before fetching a list again after a failure.
	listRetry = 5 * time.Second
	// listLeast is the shortest time for which a list is used, whatever its ttlMs says, and listRest the time
	// per byte before it is fetched again: a second per MiB.
	listLeast = time.Second
	listRest  = time.Second / (1 << 20)
	// maxTools and maxListBytes limit what is read of one list, maxPages its pages. Tools beyond that are
	// treated as if there were no list: their calls pass.
	maxTools     = 2000
	maxListBytes = 4 << 20
	maxPages     = 100
	// maxLists limits how many lists are kept per server, one for each caller whose own credentials are
	// forwarded, and maxListsBytes their total size. Beyond that, a new list replaces some of them.
	maxLists      = 1000
	maxListsBytes = 32 << 20
	// maxFetches limits how many lists are fetched from a server at once.
	maxFetches = 4
)

// A toolList is what a server offers to the holder of some credentials. It does not change.
type toolList struct {
	toolcall.List

	fetched time.Time
	expires time.Time
	failed  bool            // the list is not available
	rests   time.Time       // not fetched again before then, whatever happens
	partial bool            // the server has more tools than these
	by      upstream.Caller // who fetched it, see [call.asker]
}

// toolLists are the tool lists of a server by [call.listKey].
type toolLists struct {
	log *slog.Logger

	fetches chan struct{} // holds a token for each fetch in progress

	mu    sync.Mutex
	lists map[upstream.Caller]*listSlot
	tools map[any]*sharedTool // those of all lists, by what is said of them
	bytes int                 // that those are counted for
	noted map[string]string   // tool to the reason why its arguments are not checked
}

// A sharedTool is in all lists that describe it in the same way, so that nothing is prepared twice.
type sharedTool struct {
	*toolcall.Tool

	size int // the bytes that it counts for
	uses int // how many lists contain it
}

// A listSlot holds one list, which is fetched by one call at a time.
type listSlot struct {
	fetching chan struct{} // holds a token while nobody fetches
	list     *toolList
	stale    bool // guarded by toolLists.mu, as list and gone are
	gone     bool // it has been removed from the slots
}

func newToolLists(log *slog.Logger) *toolLists {
	return &toolLists{
		log: log, lists: map[upstream.Caller]*listSlot{}, tools: map[any]*sharedTool{},
		noted: map[string]string{}, fetches: make(chan struct{}, maxFetches),
	}
}

// changed records that the server has announced a new list.
func (t *toolLists) changed(of upstream.Caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot := t.lists[of]; slot != nil {
		slot.stale = true
	}
}

// params returns the arguments of a tool that its clients repeat in headers, by the word of any list.
func (t *toolLists) params(tool string) []wire.ParamHeader {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, slot := range t.lists {
		if slot.list != nil && slot.list.Tools[tool] != nil {
			return slot.list.Tools[tool].ParamHeaders()
		}
	}
	return nil
}

func (t *toolLists) slot(of upstream.Caller) *listSlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := t.lists[of]
	if slot == nil {
		t.trim(nil)
		slot = &listSlot{fetching: make(chan struct{}, 1)}
		slot.fetching <- struct{}{}
		t.lists[of] = slot
	}
	return slot
}

// trim makes room for another list. Lists that are dropped are fetched again when needed. It is called with
// the lock held.
func (t *toolLists) trim(keep *listSlot) {
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
func (t *toolLists) put(slot *listSlot, l *toolList) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot.gone {
		slot.list = l
		return
	}
	for name, tool := range l.Tools {
		known := t.tools[tool.Source]
		if known == nil {
			known = &sharedTool{Tool: tool, size: sizeOfTool(tool)}
			t.tools[tool.Source] = known
			t.bytes += known.size
		}
		known.uses++
		l.Tools[name] = known.Tool
	}
	t.drop(slot.list)
	slot.list = l
	t.trim(slot)
}

// drop forgets the tools that only this list has.
func (t *toolLists) drop(l *toolList) {
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

func (t *toolLists) current(slot *listSlot, newerThan time.Time) *toolList {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := slot.list
	switch resting := l != nil && time.Now().Before(l.rests); {
	case resting && slot.stale: // it is out of date
		return &toolList{failed: true}
	case resting:
		return l
	}
	if l == nil || slot.stale && !l.failed || time.Now().After(l.expires) || l.fetched.Before(newerThan) && !l.failed {
		return nil
	}
	return l
}

// get returns the tool list for c's caller, fetched with the caller's credentials and not before newerThan;
// nil if it is not available.
func (t *toolLists) get(ctx context.Context, c *call, newerThan time.Time) *toolList {
	slot := t.slot(c.listKey())
	l := t.current(slot, newerThan)
	if l == nil && c.isHeldBack() != nil { // a server that would not answer is not asked: its last list is used
		t.mu.Lock()
		l = slot.list
		t.mu.Unlock()
		if l == nil || l.failed {
			return nil
		}
		return l
	}
	if l == nil {
		select {
		case <-slot.fetching:
		case <-ctx.Done():
			return nil
		}
		defer func() { slot.fetching <- struct{}{} }()
		if l = t.current(slot, newerThan); l == nil {
			l = t.fetch(ctx, c, slot)
		}
	}
	if l.failed {
		return nil
	}
	return l
}

func (t *toolLists) fetch(ctx context.Context, c *call, slot *listSlot) *toolList {
	t.mu.Lock()
	slot.stale = false // later announcements are about a later list
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(listTimeout, c.to.Timeout/2))
	defer cancel()
	var l *toolList
	var err error
	select {
	case t.fetches <- struct{}{}:
		l, err = c.to.listTools(ctx, c)
		<-t.fetches
		if err == nil {
			l.by = c.asker()
		}
	case <-ctx.Done():
		err = fmt.Errorf("%d other lists are being fetched: %w", maxFetches, context.Cause(ctx))
	}
	if err != nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "tools/list failed: arguments are not checked",
			slog.String("server", c.to.Name), slog.String("request_id", c.req.id), slog.Any("cause", c.private().Mask(err)))
		l = &toolList{failed: true, fetched: time.Now(), expires: time.Now().Add(listRetry)}
	}
	if ctx.Err() != nil && l.failed && c.req.http.Context().Err() != nil {
		return l // the caller has gone: that says nothing about the server
	}
	t.put(slot, l)
	return l
}

// listKey tells apart the callers whose tool lists are kept separately: by their credentials, and, if each
// has its own program, by the session or its substitute.
func (c *call) listKey() upstream.Caller {
	switch {
	case len(c.to.Command) == 0 || c.to.Share != config.ShareClient:
		return c.who.id
	case c.session != nil:
		return upstream.CallerOf("session", c.session.ID)
	default:
		return c.who.server
	}
}

// asker tells apart the callers who share a list but might be given another: a server may list other tools in
// another session, or for a client with more capabilities.
func (c *call) asker() upstream.Caller {
	if c.session != nil {
		return upstream.CallerOf("session", c.session.ID)
	}
	return upstream.CallerOf("client", string(c.req.msg.ClientInfo), string(c.req.msg.ClientCapabilities))
}

// relist fetches the list again before a call is refused because of it, unless it was fetched for this caller
// just now.
func (c *call) relist() *toolcall.List {
	newerThan := time.Now()
	if c.rule.list.by == c.asker() {
		newerThan = newerThan.Add(-listFresh)
	}
	if newer := c.to.tools.get(c.ctx, c, newerThan); newer != nil {
		c.rule.list = newer
	}
	return &c.rule.list.List
}

// mayRefuse reports whether the call may be refused because of the list: it was given to this caller, and
// contains the tool, or is complete.
func (c *call) mayRefuse() bool {
	return c.rule.list.by == c.asker() && (c.rule.listed.Tool != nil || !c.rule.list.partial)
}
