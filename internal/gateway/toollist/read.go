package toollist

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A draft is a list of which some pages have been read, up to the limits.
type draft struct {
	*List

	cursor json.Value // of the next page; nil: there is none
	ttl    time.Duration
	left   int // bytes
	budget *args.Budget
	flawed func(*toolcall.Entry, error)
}

func (t *Lists) draft() *draft {
	l := &List{List: toolcall.List{Tools: map[string]*toolcall.Entry{}}, fetched: time.Now()}
	return &draft{List: l, ttl: maxAge, left: maxListBytes, budget: args.NewBudget(), flawed: t.note}
}

// add reads a page.
func (d *draft) add(result json.Value) error {
	d.left -= len(result)
	if json.Lookup(result, "/tools").Kind() != '[' {
		return errors.New("tools/list: the result has no list of tools")
	}
	tools, more := json.Items(json.Lookup(result, "/tools"), maxTools)
	d.Partial = d.Partial || more
	for _, raw := range tools {
		if len(d.Tools) >= maxTools {
			d.Partial = true
			break
		}
		if tool := ReadTool(raw); tool != nil {
			tool.Budget, tool.Flawed = d.budget, d.flawed
			d.Add(tool)
		}
	}
	d.ttl = min(d.ttl, ttlOf(result))
	d.cursor = wire.NextCursor(result)
	return nil
}

// whole returns the list when its last page has been read.
func (d *draft) whole(by upstream.Caller) *List {
	d.By = by
	d.expires = d.fetched.Add(d.ttl)
	d.rests = d.fetched.Add(time.Duration(maxListBytes-d.left) * restPerByte)
	return d.List
}

// read fetches the pages of a list, up to the limits.
func (t *Lists) read(ctx context.Context, call Requester) (*List, error) {
	d := t.draft()
	for page := range maxPages {
		result, err := call.Page(ctx, page, d.cursor, d.left)
		if err == nil {
			err = d.add(result)
		}
		if err != nil && page > 0 { // those that have been read count, for a short while
			d.Partial, d.ttl = true, min(d.ttl, retry)
			d.flawed(&toolcall.Entry{}, fmt.Errorf("tools/list cannot be read from page %d on; its tools are not checked: %w", page+1, err))
			return d.whole(call.Asker()), nil
		}
		if err != nil {
			return nil, err
		}
		if d.cursor == nil {
			break
		}
		if d.Partial = d.Partial || d.left <= 0 || page+1 == maxPages; d.Partial {
			break
		}
	}
	if d.Partial {
		d.flawed(&toolcall.Entry{}, fmt.Errorf("tools/list has more than %d tools, %d bytes or %d pages; the rest is not checked",
			maxTools, maxListBytes, maxPages))
	}
	return d.whole(call.Asker()), nil
}

// ttlOf returns how long the server says that a list may be used.
func ttlOf(result json.Value) time.Duration {
	ttl := json.Lookup(result, "/ttlMs")
	ms, err := strconv.ParseFloat(string(ttl), 64)
	if ttl == nil || err != nil || ms > float64(maxAge.Milliseconds()) {
		return maxAge
	}
	return max(time.Duration(ms)*time.Millisecond, leastAge)
}

// maxToolName limits the length of tool names; a tool with a longer one is ignored.
const maxToolName = 1 << 10

// ReadTool reads a tool in a list, or returns nil if it has no name.
func ReadTool(raw json.Value) *toolcall.Entry {
	var tool struct {
		Name         string     `json:"name"`
		InputSchema  json.Value `json:"inputSchema"`
		OutputSchema json.Value `json:"outputSchema"`
		Annotations  struct {
			ReadOnly   *bool `json:"readOnlyHint"`
			Idempotent *bool `json:"idempotentHint"`
		} `json:"annotations"`
	}
	_ = json.UnmarshalLenient(raw, &tool) // what cannot be read is left out
	if tool.Name == "" || len(tool.Name) > maxToolName {
		return nil
	}
	input := tool.InputSchema // a copy
	reads, idempotent := tool.Annotations.ReadOnly, tool.Annotations.Idempotent
	return &toolcall.Entry{
		Name: tool.Name, OutputSchema: tool.OutputSchema.Kind() == '{',
		ReadOnly: reads != nil && *reads, DeniesReading: reads != nil && !*reads,
		Idempotent: idempotent != nil && *idempotent, DeniesIdempotent: idempotent != nil && !*idempotent,
		Source: sha256.Sum256(raw), InputSchema: func() ([]byte, error) { return input, nil },
	}
}

func sizeOf(t *toolcall.Entry) int {
	const overhead = 512 // roughly what it takes besides its schema
	raw, _ := t.InputSchema()
	return len(raw) + overhead
}

// maxNoted limits how many tools are remembered whose schema had a problem, and maxReason the bytes of each reason.
const (
	maxNoted  = 10_000
	maxReason = 500
)

// note logs why a tool's arguments are not checked in full: once, until the reason changes.
func (t *Lists) note(tool *toolcall.Entry, err error) {
	reason := err.Error()
	reason = reason[:min(len(reason), maxReason)]
	t.mu.Lock()
	known := t.noted[tool.Name] == reason
	if len(t.noted) >= maxNoted {
		clear(t.noted)
	}
	t.noted[tool.Name] = reason
	t.mu.Unlock()
	if !known {
		cause := observe.Private{}.Mask(errors.New(reason))
		t.log.Warn("inputSchema cannot be used in full",
			slog.String("server", t.server), slog.String("tool", tool.Name), slog.Any("cause", cause))
	}
}
