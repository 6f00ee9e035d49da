package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// BenchmarkWrap measures a call of about 1 KB through a gateway between a host on stdio and a program on stdio, as
// `recourse wrap` is. Take its time per operation and processor time (-benchtime 20000x, time) for comparisons: the
// program's own time is part of the first, and not of the second.
func BenchmarkWrap(b *testing.B) {
	for _, era := range testkit.Eras {
		b.Run(era.String(), func(b *testing.B) {
			g, _ := gatewaytest.New(b, "servers:\n  farm:\n    "+strings.Join(gatewaytest.CommandFor(b, child.NewProgram(b), era), "\n    ")+"\n")
			fromHost, in, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			out, toHost, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				done <- g.ServeStdio(context.Background(), gatewaytest.Path, fromHost, toHost)
			}()
			lines := bufio.NewReaderSize(out, 64<<10)
			ask := func(text string) string {
				if _, err := in.WriteString(text + "\n"); err != nil {
					b.Fatal(err)
				}
				line, err := lines.ReadString('\n')
				if err != nil {
					b.Fatal(err)
				}
				return line
			}
			meta := ""
			if era == testkit.Legacy {
				ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
				if _, err := in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"); err != nil {
					b.Fatal(err)
				}
			} else {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"}}`
			}
			call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":%q}%s}}`, strings.Repeat("a", 900), meta)
			if line := ask(call); !strings.Contains(line, "aaa") {
				b.Fatal(line)
			}
			b.ReportAllocs()
			for b.Loop() {
				ask(call)
			}
			_ = in.Close()
			if err := <-done; err != nil {
				b.Error(err)
			}
		})
	}
}
