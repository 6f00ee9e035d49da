package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// listTools fetches the pages of the list as c's caller, up to the limits.
func (to *target) listTools(ctx context.Context, c *call) (*toolList, error) {
	l := &toolList{List: toolcall.List{Tools: map[string]*toolcall.Tool{}}, fetched: time.Now()}
	budget, flawed := args.NewBudget(), to.tools.noteOnce(to.Name)
	ttl, left := listMaxAge, maxListBytes
	cursor := json.Value(nil)
	for page := range maxPages {
		result, err := to.listPage(ctx, c, page, cursor, left)
		if err != nil {
			return nil, err
		}
		left -= len(result)
		if json.Lookup(result, "/tools").Kind() != '[' {
			return nil, errors.New("tools/list: the result has no list of tools")
		}
		tools, more := json.Items(json.Lookup(result, "/tools"), maxTools)
		l.partial = l.partial || more
		for _, raw := range tools {
			if len(l.Tools) >= maxTools {
				l.partial = true
				break
			}
			if tool := readTool(raw); tool != nil {
				tool.Budget, tool.Flawed = budget, flawed
				l.Add(tool)
			}
		}
		ttl = min(ttl, ttlOf(result))
		if cursor = json.Lookup(result, "/nextCursor"); cursor.Kind() != '"' || string(cursor) == `""` {
			break
		}
		l.partial = l.partial || left <= 0 || page+1 == maxPages
		if l.partial {
			break
		}
	}
	l.expires = l.fetched.Add(ttl)
	l.rests = l.fetched.Add(time.Duration(maxListBytes-left) * listRest)
	if l.partial {
		flawed(&toolcall.Tool{}, fmt.Errorf("tools/list has more than %d tools, %d bytes or %d pages; the rest is not checked",
			maxTools, maxListBytes, maxPages))
	}
	return l, nil
}

// ttlOf returns how long the server says that a list may be used.
func ttlOf(result json.Value) time.Duration {
	ttl := json.Lookup(result, "/ttlMs")
	ms, err := strconv.ParseFloat(string(ttl), 64)
	if ttl == nil || err != nil || ms > float64(listMaxAge.Milliseconds()) {
		return listMaxAge
	}
	return max(time.Duration(ms)*time.Millisecond, listLeast)
}

// maxToolName limits the length of tool names; a tool with a longer one is ignored.
const maxToolName = 1 << 10

// readTool reads a tool in a list, or returns nil if it has no name.
func readTool(raw json.Value) *toolcall.Tool {
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

// sizeOfTool returns the number of bytes that a tool counts for.
func sizeOfTool(t *toolcall.Tool) int {
	const overhead = 512 // roughly what it takes besides its schema
	raw, _ := t.InputSchema()
	return len(raw) + overhead
}

// maxNoted limits how many tools are remembered whose schema had a problem, and maxReason the size of the
// reason in bytes.
const (
	maxNoted  = 10_000
	maxReason = 500
)

// noteOnce returns a function that logs why a tool's arguments are not checked in full: once, until the
// reason changes.
func (t *toolLists) noteOnce(server string) func(tool *toolcall.Tool, err error) {
	return func(tool *toolcall.Tool, err error) {
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
				slog.String("server", server), slog.String("tool", tool.Name), slog.Any("cause", cause))
		}
	}
}

func (to *target) listPage(ctx context.Context, c *call, page int, cursor json.Value, limit int) (json.Value, error) {
	id := wire.ID(fmt.Sprintf(`"%s-tools-%d"`, c.req.id, page))
	params := json.Members{{Name: "cursor", Value: cursor}}
	header := c.upstreamHeader()
	header["Content-Type"] = []string{wire.TypeJSON}
	delete(header, wire.HeaderName)
	maps.DeleteFunc(header, func(name string, _ []string) bool { return strings.HasPrefix(name, wire.HeaderParamPrefix) })
	if c.req.era == wire.Modern {
		header[wire.HeaderMethod] = []string{wire.MethodToolsList}
		params.Add("_meta", json.Without(c.req.msg.Meta, "progressToken")) // nobody listens for a list's progress
	}
	generation := c.addSession(header)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}`, id, params.AppendTo(nil))
	answer, err := upstream.Ask(ctx, to.up, c.who.request(header.Clone(), []byte(body)), id, int64(limit))
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		reading := to.readHTTP(answer.Status, answer.Header, answer.Body, "")
		if !c.lostSession(header.Get(wire.HeaderSession), answer.Status, reading.Error()) || c.renewSession(ctx, generation) != nil {
			return nil, reading.Error()
		}
		c.addSession(header)
		if answer, err = upstream.Ask(ctx, to.up, c.who.request(header, []byte(body)), id, int64(limit)); err != nil {
			return nil, err
		}
	}
	if answer.Result == nil {
		return nil, fmt.Errorf("tools/list: HTTP %d: %.200s%.200s", answer.Status, answer.Error, answer.Body)
	}
	return answer.Result, nil
}
