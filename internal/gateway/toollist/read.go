package toollist

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/toolcall"
)

// read fetches the pages of a list, up to the limits.
func (t *Lists) read(ctx context.Context, call Call) (*List, error) {
	l := &List{List: toolcall.List{Tools: map[string]*toolcall.Tool{}}, fetched: time.Now()}
	budget, flawed := args.NewBudget(), t.note
	ttl, left := maxAge, maxListBytes
	var cursor json.Value
	for page := range maxPages {
		result, err := call.Page(ctx, page, cursor, left)
		if err != nil {
			return nil, err
		}
		left -= len(result)
		if json.Lookup(result, "/tools").Kind() != '[' {
			return nil, errors.New("tools/list: the result has no list of tools")
		}
		tools, more := json.Items(json.Lookup(result, "/tools"), maxTools)
		l.Partial = l.Partial || more
		for _, raw := range tools {
			if len(l.Tools) >= maxTools {
				l.Partial = true
				break
			}
			if tool := ReadTool(raw); tool != nil {
				tool.Budget, tool.Flawed = budget, flawed
				l.Add(tool)
			}
		}
		ttl = min(ttl, ttlOf(result))
		if cursor = json.Lookup(result, "/nextCursor"); cursor.Kind() != '"' || string(cursor) == `""` {
			break
		}
		l.Partial = l.Partial || left <= 0 || page+1 == maxPages
		if l.Partial {
			break
		}
	}
	l.By = call.Asker()
	l.expires = l.fetched.Add(ttl)
	l.rests = l.fetched.Add(time.Duration(maxListBytes-left) * restPerByte)
	if l.Partial {
		flawed(&toolcall.Tool{}, fmt.Errorf("tools/list has more than %d tools, %d bytes or %d pages; the rest is not checked",
			maxTools, maxListBytes, maxPages))
	}
	return l, nil
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
func ReadTool(raw json.Value) *toolcall.Tool {
	var tool struct {
		Name         string     `json:"name"`
		InputSchema  json.Value `json:"inputSchema"`
		OutputSchema json.Value `json:"outputSchema"`
		Annotations  struct {
			ReadOnly   bool `json:"readOnlyHint"`
			Idempotent bool `json:"idempotentHint"`
		} `json:"annotations"`
	}
	_ = json.UnmarshalLenient(raw, &tool) // what cannot be read is left out
	if tool.Name == "" || len(tool.Name) > maxToolName {
		return nil
	}
	input := tool.InputSchema // a copy
	return &toolcall.Tool{
		Name: tool.Name, OutputSchema: tool.OutputSchema.Kind() == '{',
		ReadOnly: tool.Annotations.ReadOnly, Idempotent: tool.Annotations.Idempotent,
		Source: sha256.Sum256(raw), InputSchema: func() ([]byte, error) { return input, nil },
	}
}

func sizeOf(t *toolcall.Tool) int {
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
func (t *Lists) note(tool *toolcall.Tool, err error) {
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
