package upstream_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// echoed returns a call of about 1 KB with an answer of the same size.
func echoed() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":%q}}}`, strings.Repeat("a", 900))
}

// BenchmarkChild measures the child alone, one call at a time.
func BenchmarkChild(b *testing.B) {
	c := command()
	cmd := exec.Command(c.Path)
	cmd.Env = c.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReaderSize(out, 64<<10)
	line := []byte(echoed() + "\n")
	for b.Loop() {
		if _, err := in.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := lines.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	_ = in.Close()
	_ = cmd.Wait()
}

func BenchmarkStdio(b *testing.B) {
	s := serve(b, command())
	s.mustCall("echo", 0)
	b.ReportAllocs()
	for b.Loop() {
		one(b, s)
	}
}

// BenchmarkStdioShared measures 16 callers of one child.
func BenchmarkStdioShared(b *testing.B) {
	s := serve(b, command())
	s.mustCall("echo", 0)
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			one(b, s)
		}
	})
}

func one(b *testing.B, s *server) {
	b.Helper()
	resp, err := s.post(echoed())
	if err != nil {
		b.Error(err)
		return
	}
	messages := wire.NewMessageReader(resp, 0)
	for part := range messages.Parts() {
		if part.Kind != wire.Response {
			b.Error(part.Kind, part.Err)
		}
	}
	if err := messages.End(); !errors.Is(err, io.EOF) {
		b.Error(err)
	}
	_ = resp.Close()
}
