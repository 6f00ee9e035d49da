//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	random "math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	workers = 24
	callers = 10 // of what is limited
	patient = time.Minute
)

// A load is what the clients do, and what they were told.
type load struct {
	server *server
	most   int64
	made   atomic.Int64
	during atomic.Pointer[string] // the fault under way
	enough atomic.Bool            // all faults were there
	all    sync.WaitGroup

	mu       sync.Mutex
	answered map[string]string // the fault that was under way, by the ids of calls that a gateway has answered
	failures map[string]int    // by kind and effect
	none     map[string]string
	told     []string       // references of writes that succeeded
	asked    map[string]int // calls of each caller of what is limited
	found    []string       // what must not be

	unanswered, sessions, lost, untold, repeated int
}

func newLoad(s *server, calls int64) *load {
	l := &load{
		server: s, most: calls, answered: map[string]string{}, failures: map[string]int{}, none: map[string]string{},
		asked: map[string]int{},
	}
	l.during.Store(new(string))
	return l
}

// A client has a session of the era up to 2025-11-25, or none.
type client struct {
	http.Client

	legacy, long bool
	session      string
}

// work makes one call after the other.
func (l *load) work(ctx context.Context, i int) {
	c := &client{legacy: i%2 == 0, long: i%8 == 0}
	for n := l.made.Add(1); ctx.Err() == nil && (n <= l.most || !l.enough.Load()); n = l.made.Add(1) {
		reference := fmt.Sprintf("c%d", n)
		switch kind := random.IntN(100); {
		case kind < 30:
			l.meter(ctx, c, reference)
		case kind < 65:
			l.note(ctx, c, reference)
		case kind < 85:
			if !l.order(ctx, c, reference, 0, 3) {
				l.all.Go(func() { l.insist(context.WithoutCancel(ctx), reference) })
			}
		default:
			l.call(ctx, c, "shop", "order_get", reference, reference, "")
		}
	}
}

// meter makes a call that is limited. Some callers reach the limit early, others only just.
func (l *load) meter(ctx context.Context, c *client, reference string) {
	who, at := 0, random.Float64()*30
	for ; who < callers-1 && at >= 1.2+0.4*float64(who); who++ {
		at -= 1.2 + 0.4*float64(who)
	}
	caller := fmt.Sprintf("caller%d", who)
	l.mu.Lock()
	l.asked[caller]++
	l.mu.Unlock()
	l.call(ctx, &client{Client: c.Client}, "metered", "meter", reference, reference, caller)
}

// note writes once, and never again.
func (l *load) note(ctx context.Context, c *client, reference string) {
	a := l.call(ctx, c, "shop", "note_add", reference, reference, "")
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.succeeded:
		l.told = append(l.told, reference)
	case a.none:
		l.none[reference] = a.String()
	}
}

// order writes what may be repeated, until it is told of a success.
func (l *load) order(ctx context.Context, c *client, reference string, first, tries int) bool {
	for try := first; try < tries && ctx.Err() == nil; try++ {
		a := l.call(ctx, c, "shop", "order_create", reference, fmt.Sprintf("%s.%d", reference, try), "")
		if a.succeeded {
			l.mu.Lock()
			l.told = append(l.told, reference)
			l.mu.Unlock()
			return true
		}
		if try == 0 && a.none && l.server.times(reference) > 0 {
			l.notes("false none: " + reference + " " + a.String())
		}
		if try > 0 {
			pause(ctx, time.Second)
		}
	}
	return false
}

// insist goes on with an order that has failed a few times.
func (l *load) insist(ctx context.Context, reference string) {
	done := l.order(ctx, new(client), reference, 3, 150)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.repeated++
	if !done {
		l.untold++
	}
}

func (l *load) notes(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, what)
}

// An answer is what a client knows of a call.
type answer struct {
	status                    int
	body                      []byte
	err                       error
	during                    string
	succeeded, none, answered bool
}

func (a answer) String() string {
	return fmt.Sprintf("(while %s) HTTP %d %v %.1500s", a.during, a.status, a.err, a.body)
}

var kindOfFailure = regexp.MustCompile(`"kind":"([a-z_]+)"`)

// call calls a tool, and notes what came of it.
func (l *load) call(ctx context.Context, c *client, entry, tool, reference, id, caller string) answer {
	if c.legacy && c.session == "" && !l.open(ctx, c) {
		return answer{}
	}
	params := fmt.Sprintf(`{"name":%q,"arguments":{"reference":%q,"caller":%q}`, tool, reference, caller)
	header := map[string]string{"X-Request-Id": id}
	if caller != "" {
		header["Authorization"] = "Bearer " + caller
	}
	if !c.legacy {
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
			`{"name":"cluster","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		maps.Copy(header, map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool})
	}
	a := c.post(ctx, entry, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}}`, header)
	a.during = *l.during.Load()
	a.succeeded = bytes.Contains(a.body, []byte(`"structuredContent":{"reference":"`+reference+`"}`)) ||
		tool == "order_get" && bytes.Contains(a.body, []byte(`"structuredContent":{}`))
	a.none = bytes.Contains(a.body, []byte(`"effect":"none"`))
	l.account(c, a, id)
	return a
}

// account counts an answer.
func (l *load) account(c *client, a answer, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.answered {
		l.answered[id] = a.during
	}
	switch kind := kindOfFailure.FindSubmatch(a.body); {
	case a.succeeded:
	case kind != nil:
		effect := "unknown"
		if a.none {
			effect = "none"
		}
		l.failures[string(kind[1])+", effect "+effect]++
	default:
		l.unanswered++
		l.failures[fmt.Sprintf("no answer of a gateway (HTTP %d)", a.status)]++
	}
	if c.legacy && (a.status == http.StatusNotFound || bytes.Contains(a.body, []byte(`"unknown_session"`))) {
		l.lost++
		l.found = append(l.found, fmt.Sprintf("session lost, long: %t %s %s", c.long, id, a))
		c.session = ""
	}
}

// open opens a session, by a request that is too long for the session's id if it is to be kept in Redis.
func (l *load) open(ctx context.Context, c *client) bool {
	name := "cluster"
	if c.long {
		text := make([]byte, 3<<10)
		_, _ = rand.Read(text) // it never fails
		name = hex.EncodeToString(text)
	}
	for ctx.Err() == nil {
		a := c.post(ctx, "shop", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":`+
			`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}}`, nil)
		if a.status == http.StatusOK && c.session != "" {
			l.mu.Lock()
			l.sessions++
			l.mu.Unlock()
			c.post(ctx, "shop", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
			return true
		}
		pause(ctx, 200*time.Millisecond)
	}
	return false
}

func (c *client) post(ctx context.Context, entry, body string, header map[string]string) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://10.77.0.2:8787/"+entry+"/mcp", strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := c.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); c.legacy && id != "" {
		c.session = id
	}
	a.status = resp.StatusCode
	a.body, a.err = io.ReadAll(resp.Body)
	a.answered = a.err == nil && header["X-Request-Id"] != "" && resp.Header.Get("X-Request-Id") == header["X-Request-Id"]
	return a
}
