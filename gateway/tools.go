package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
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
	// maxList bounds a page of a list, maxPages their number, maxLists how many lists
	// are kept: one for each caller whose own credentials go on.
	maxList  = 8 << 20
	maxPages = 100
	maxLists = 1000
)

// A toolList is what a server offers to the bearer of some credentials. It does
// not change.
type toolList struct {
	tools   map[string]*listedTool
	names   []string
	fetched time.Time
	expires time.Time
	failed  bool // the list could not be had
}

// A listedTool is what a tools/list says of a tool.
type listedTool struct {
	schema       *args.Schema // nil where it could not be compiled
	mirrored     []wire.ParamHeader
	outputSchema bool
	parameters   []string // the names that the inputSchema describes
	readOnly     bool
	idempotent   bool
}

// toolLists are the tool lists of a server by credentials.
type toolLists struct {
	log *slog.Logger

	mu    sync.Mutex
	lists map[credentials]*listSlot
	noted map[string]string // tool to the reason why its arguments are not checked
}

// A listSlot holds one list. Its lock is held while the list is fetched, so that it
// is fetched once.
type listSlot struct {
	fetching chan struct{} // holds a token while nobody fetches
	list     *toolList
	stale    bool // guarded by toolLists.mu, as list is
}

func newToolLists(log *slog.Logger) *toolLists {
	return &toolLists{log: log, lists: map[credentials]*listSlot{}, noted: map[string]string{}}
}

// changed notes that the server has announced another list.
func (t *toolLists) changed(of credentials) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot := t.lists[of]; slot != nil {
		slot.stale = true
	}
}

func (t *toolLists) slot(of credentials) *listSlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := t.lists[of]
	if slot == nil {
		if len(t.lists) >= maxLists {
			for of := range t.lists { // any: it is only fetched again
				delete(t.lists, of)
				break
			}
		}
		slot = &listSlot{fetching: make(chan struct{}, 1)}
		slot.fetching <- struct{}{}
		t.lists[of] = slot
	}
	return slot
}

func (t *toolLists) current(slot *listSlot, newerThan time.Time) *toolList {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := slot.list
	if l == nil || slot.stale && !l.failed || time.Now().After(l.expires) || l.fetched.Before(newerThan) && !l.failed {
		return nil
	}
	return l
}

// get returns the tool list for the caller of x, fetched with its credentials and
// not before newerThan; nil when it cannot be had.
func (t *toolLists) get(ctx context.Context, x *exchange, newerThan time.Time) *toolList {
	slot := t.slot(x.credentials())
	l := t.current(slot, newerThan)
	if l == nil {
		select {
		case <-slot.fetching:
		case <-ctx.Done():
			return nil
		}
		defer func() { slot.fetching <- struct{}{} }()
		if l = t.current(slot, newerThan); l == nil {
			l = t.fetch(ctx, x, slot)
		}
	}
	if l.failed {
		return nil
	}
	return l
}

func (t *toolLists) fetch(ctx context.Context, x *exchange, slot *listSlot) *toolList {
	t.mu.Lock()
	slot.stale = false // what is announced from now on is about a later list
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(listTimeout, x.s.Timeout/2))
	defer cancel()
	l, err := x.s.listTools(ctx, x)
	if err != nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "tools/list failed: arguments are not checked",
			slog.String("server", x.s.Name), slog.String("request_id", x.requestID), slog.Any("cause", logged{err, x.s}))
		l = &toolList{failed: true, fetched: time.Now(), expires: time.Now().Add(listRetry)}
	}
	if ctx.Err() != nil && l.failed && x.r.Context().Err() != nil {
		return l // the caller has gone: that says nothing of the server
	}
	t.mu.Lock()
	slot.list = l
	t.mu.Unlock()
	return l
}

// listTools fetches all pages of the list, as the caller of x would.
func (s *server) listTools(ctx context.Context, x *exchange) (*toolList, error) {
	l := &toolList{tools: map[string]*listedTool{}, fetched: time.Now()}
	ttl := listMaxAge
	cursor := json.Value(nil)
	for page := range maxPages {
		result, err := s.listPage(ctx, x, page, cursor)
		if err != nil {
			return nil, err
		}
		var list struct {
			Tools      []json.Value `json:"tools"`
			NextCursor json.Value   `json:"nextCursor"`
			TTL        *float64     `json:"ttlMs"`
		}
		if err := json.UnmarshalLenient(result, &list); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, raw := range list.Tools {
			s.addTool(l, raw)
		}
		if list.TTL != nil {
			ttl = min(ttl, max(time.Duration(*list.TTL)*time.Millisecond, time.Second))
		}
		if cursor = list.NextCursor; cursor.Kind() != '"' || string(cursor) == `""` {
			l.expires = l.fetched.Add(ttl)
			return l, nil
		}
	}
	return nil, fmt.Errorf("tools/list has more than %d pages", maxPages)
}

func (s *server) listPage(ctx context.Context, x *exchange, page int, cursor json.Value) (json.Value, error) {
	id := wire.ID(fmt.Sprintf(`"%s-tools-%d"`, x.requestID, page))
	params := `{`
	if cursor != nil {
		params += `"cursor":` + string(cursor)
	}
	header := x.upstreamHeader()
	header["Content-Type"] = []string{wire.TypeJSON}
	delete(header, wire.HeaderName)
	maps.DeleteFunc(header, func(name string, _ []string) bool { return strings.HasPrefix(name, wire.HeaderParamPrefix) })
	if x.era == wire.New {
		header[wire.HeaderMethod] = []string{wire.MethodToolsList}
		if len(params) > 1 {
			params += ","
		}
		params += `"_meta":` + string(x.metaWithoutToken())
	}
	generation := x.addSession(header)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}}`, id, params)
	answer, err := s.up.Ask(ctx, header.Clone(), []byte(body), id, maxList)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		reading := s.readHTTP(answer.Status, answer.Header, answer.Body)
		if !x.lostSession(reading.Error()) || x.session.renew(ctx, x, generation) != nil {
			return nil, reading.Error()
		}
		x.addSession(header)
		if answer, err = s.up.Ask(ctx, header, []byte(body), id, maxList); err != nil {
			return nil, err
		}
	}
	if answer.Result == nil {
		return nil, fmt.Errorf("tools/list: HTTP %d: %.200s%.200s", answer.Status, answer.Error, answer.Body)
	}
	return answer.Result, nil
}

// metaWithoutToken returns the caller's _meta without its progress token, since
// nobody listens for the progress of a list.
func (x *exchange) metaWithoutToken() []byte {
	if len(x.msg.ProgressToken) == 0 {
		return x.msg.Meta
	}
	var members map[string]json.Value
	if json.UnmarshalLenient(x.msg.Meta, &members) != nil {
		return x.msg.Meta
	}
	delete(members, "progressToken")
	meta, err := json.Marshal(members)
	if err != nil {
		return x.msg.Meta
	}
	return meta
}

func (s *server) addTool(l *toolList, raw json.Value) {
	var tool struct {
		Name         string     `json:"name"`
		InputSchema  json.Value `json:"inputSchema"`
		OutputSchema json.Value `json:"outputSchema"`
		Annotations  struct {
			ReadOnly   bool `json:"readOnlyHint"`
			Idempotent bool `json:"idempotentHint"`
		} `json:"annotations"`
	}
	_ = json.UnmarshalLenient(raw, &tool) // what cannot be read of a tool is not known of it
	if tool.Name == "" {
		return
	}
	listed := &listedTool{
		outputSchema: tool.OutputSchema.Kind() == '{',
		readOnly:     tool.Annotations.ReadOnly,
		idempotent:   tool.Annotations.Idempotent,
	}
	var properties map[string]json.Value
	_ = json.UnmarshalLenient(json.Lookup(tool.InputSchema, "/properties"), &properties) // as above
	listed.parameters = slices.Collect(maps.Keys(properties))
	var err error
	if listed.schema, err = args.Compile(tool.InputSchema); err != nil {
		listed.schema = nil
		s.tools.logOnce(s.Name, tool.Name, err)
	}
	if listed.mirrored, err = wire.ParamHeaders(tool.InputSchema); err != nil {
		listed.mirrored = nil // clients do not know such a tool, and send no headers for it
	}
	l.tools[tool.Name] = listed
	l.names = append(l.names, tool.Name)
}

// maxNoted bounds how many tools are remembered whose schema was complained of.
const maxNoted = 10_000

// logOnce says that a tool's arguments are not checked, once for as long as the
// reason stays the same.
func (t *toolLists) logOnce(server, tool string, err error) {
	t.mu.Lock()
	known := t.noted[tool] == err.Error()
	if len(t.noted) >= maxNoted {
		clear(t.noted)
	}
	t.noted[tool] = err.Error()
	t.mu.Unlock()
	if known {
		return
	}
	t.log.Warn("inputSchema cannot be compiled: arguments are not checked",
		slog.String("server", server), slog.String("tool", tool), slog.Any("cause", logged{err: err}))
}
