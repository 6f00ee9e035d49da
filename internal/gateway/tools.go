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
)

const (
	// listMaxAge is how long a tool list is used. A shorter ttlMs of the server's
	// own counts.
	listMaxAge = 5 * time.Minute
	// listFresh is how old a list may be on whose word a call is refused; an older
	// one is fetched again first.
	listFresh = 5 * time.Second
	// listTimeout bounds what fetching a list may add to a call; a server whose list
	// cannot be had gets its calls as they are.
	listTimeout = 5 * time.Second
	// listRetry is how long a list that could not be had is not asked for again.
	listRetry = 5 * time.Second
	// listLeast is how long a list is used at the least, whatever its ttlMs says, and
	// listRest how long it is not fetched again for each byte of it: a second a MiB.
	listLeast = time.Second
	listRest  = time.Second / (1 << 20)
	// maxTools and maxListBytes bound what is read of one list, maxPages its pages.
	// Tools beyond are not known, as if there were no list: their calls pass.
	maxTools     = 2000
	maxListBytes = 4 << 20
	maxPages     = 100
	// maxLists bounds the lists that are kept of a server, one for each caller whose
	// own credentials go on, and maxListsBytes what they say, all together. Another
	// one takes the place of some.
	maxLists      = 1000
	maxListsBytes = 32 << 20
	// maxFetches bounds the lists that are fetched of a server at once.
	maxFetches = 4
)

// A toolList is what a server offers to the bearer of some credentials. It does
// not change.
type toolList struct {
	toolcall.List

	fetched time.Time
	expires time.Time
	failed  bool            // the list could not be had
	rests   time.Time       // before which it is not fetched again, whatever happens
	partial bool            // the server offers more tools than these
	by      upstream.Caller // of the asker, see [call.asker]
}

// toolLists are the tool lists of a server by [call.listKey].
type toolLists struct {
	log *slog.Logger

	fetches chan struct{} // holds a token for each list that is being fetched

	mu    sync.Mutex
	lists map[upstream.Caller]*listSlot
	tools map[any]*sharedTool // those of all lists, by what is said of them
	bytes int                 // that those are counted for
	noted map[string]string   // tool to the reason why its arguments are not checked
}

// A sharedTool is in all lists that say the same of it, so that nothing is made ready twice.
type sharedTool struct {
	*toolcall.Tool

	size int // bytes that it is counted for
	uses int // lists that it is in
}

// A listSlot holds one list, which is fetched by one call at a time.
type listSlot struct {
	fetching chan struct{} // holds a token while nobody fetches
	list     *toolList
	stale    bool // guarded by toolLists.mu, as list and gone are
	gone     bool // it is not among the slots any more
}

func newToolLists(log *slog.Logger) *toolLists {
	return &toolLists{
		log: log, lists: map[upstream.Caller]*listSlot{}, tools: map[any]*sharedTool{},
		noted: map[string]string{}, fetches: make(chan struct{}, maxFetches),
	}
}

// changed notes that the server has announced another list.
func (t *toolLists) changed(of upstream.Caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot := t.lists[of]; slot != nil {
		slot.stale = true
	}
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

// trim makes room for another list. Those that go are fetched again when they are asked
// for. It is called with the lock held.
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

// put puts a list into its slot. What other lists say alike is shared with them.
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

// drop forgets what a list says that no other does.
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
	case resting && slot.stale: // what it says is not so any more
		return &toolList{failed: true}
	case resting:
		return l
	}
	if l == nil || slot.stale && !l.failed || time.Now().After(l.expires) || l.fetched.Before(newerThan) && !l.failed {
		return nil
	}
	return l
}

// get returns the tool list for the caller of c, fetched with its credentials and
// not before newerThan; nil when it cannot be had.
func (t *toolLists) get(ctx context.Context, c *call, newerThan time.Time) *toolList {
	slot := t.slot(c.listKey())
	l := t.current(slot, newerThan)
	if l == nil && c.isHeldBack() != nil { // what would not answer is not asked: what it has said last holds
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
	slot.stale = false // what is announced from now on is about a later list
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
		return l // the caller has gone: that says nothing of the server
	}
	t.put(slot, l)
	return l
}

// listKey tells apart the callers whose tool lists are kept apart: by their credentials,
// and where each has a program of its own by the session, or what stands for it.
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

// asker tells apart the callers who share a list but could be given another: a server
// may list other tools in another session, or for a client that can do more.
func (c *call) asker() upstream.Caller {
	if c.session != nil {
		return upstream.CallerOf("session", c.session.ID)
	}
	return upstream.CallerOf("client", string(c.req.msg.ClientInfo), string(c.req.msg.ClientCapabilities))
}

// relist gets the list anew before anything is refused on its word, unless it was fetched
// for this caller just now.
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

// mayRefuse reports whether the call may be refused on the word of the list: it was given to
// this caller, and tells of the tool, or of all.
func (c *call) mayRefuse() bool {
	return c.rule.list.by == c.asker() && (c.rule.listed.Tool != nil || !c.rule.list.partial)
}
