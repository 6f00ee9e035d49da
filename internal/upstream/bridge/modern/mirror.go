package modern

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	maxMirrors   = 2000    // tools that are remembered
	maxMirrored  = 64      // arguments of each: a header has no room for more
	maxToolBytes = 4 << 20 // of a list that the bridge itself asks for
	maxToolPages = 100
)

// mirrors are arguments that must be repeated in headers, according to the tools' schemas; legacy clients do
// not do that. They are read from the lists of tools that pass, and requested when the server misses a
// header.
type mirrors struct {
	mu     sync.Mutex
	byTool map[string][]wire.ParamHeader
}

func (t *mirrors) of(tool string) []wire.ParamHeader {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byTool[tool]
}

// learn reads a result of tools/list, and returns where the list continues. A tool whose annotations break
// the rules mirrors nothing.
func (t *mirrors) learn(result json.Value) (cursor json.Value) {
	tools, _ := json.Items(json.Lookup(result, "/tools"), maxMirrors)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, raw := range tools {
		var tool struct {
			Name        string     `json:"name"`
			InputSchema json.Value `json:"inputSchema"`
		}
		if json.UnmarshalLenient(raw, &tool) != nil {
			continue
		}
		params, err := wire.ParamHeaders(tool.InputSchema)
		switch {
		case err != nil || len(params) == 0 || len(params) > maxMirrored:
			delete(t.byTool, tool.Name)
		case len(t.byTool) < maxMirrors:
			if t.byTool == nil {
				t.byTool = map[string][]wire.ParamHeader{}
			}
			t.byTool[tool.Name] = params
		}
	}
	return wire.NextCursor(result)
}

// mirrored occurs in every list that is worth reading.
var mirrored = []byte("x-mcp-header")

// notice learns from an answer to tools/list that passes.
func (t *mirrors) notice(text []byte, signs *wire.Signs) {
	t.mu.Lock()
	nothing := len(t.byTool) == 0
	t.mu.Unlock()
	if nothing && !bytes.Contains(text, mirrored) {
		return
	}
	t.learn(signs.Result.Of(text))
}

// relearn requests the server's tools on behalf of a caller, and reports whether the tool turns out to mirror something
// else than was known.
func (srv *Bridge) relearn(ctx context.Context, of *upstream.Request, header http.Header, introduction []byte, tool string) bool {
	before := srv.mirrors.of(tool)
	h := peer.ModernHeader(header, wire.MethodToolsList)
	var cursor json.Value
	left := maxToolBytes
	for range maxToolPages {
		id := srv.p.NewID()
		params := fmt.Appendf(nil, `{"_meta":{%s}}`, introduction)
		if cursor != nil {
			params = fmt.Appendf(nil, `{"cursor":%s,"_meta":{%s}}`, cursor, introduction)
		}
		asks := of.For(h.Clone(), wire.AppendRequest(nil, id, wire.MethodToolsList, params))
		answer, err := upstream.Ask(ctx, srv.p, asks, id, int64(left))
		if err != nil {
			return false
		}
		left -= len(answer.Result)
		if cursor = srv.mirrors.learn(answer.Result); cursor == nil {
			break
		}
	}
	return !reflect.DeepEqual(srv.mirrors.of(tool), before)
}
