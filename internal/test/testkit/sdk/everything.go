package sdk

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Everything starts the npm package @modelcontextprotocol/server-everything, a server of the legacy era built
// with the TypeScript SDK, on a free loopback port, and returns its endpoint's URL. The server ends with the
// test. [Node] says what happens if Node is missing.
func Everything(tb testing.TB) string {
	tb.Helper()
	dir := Node(tb)
	preload := "./" + filepath.ToSlash(filepath.Join("testkit", "loopback.mjs"))
	p, err := startNode(dir, []string{"PORT=0"}, "--import", preload, NPMProgram(dir, "everything"), "streamableHttp")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.close)
	const startup = 30 * time.Second
	ctx, cancel := context.WithTimeout(tb.Context(), startup)
	defer cancel()
	for {
		line, err := p.line(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		if port, ok := strings.CutPrefix(line, "testkit: port "); ok {
			go p.drain() // until close
			return "http://127.0.0.1:" + port + "/mcp"
		}
	}
}
