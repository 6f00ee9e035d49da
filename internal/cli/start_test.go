package cli_test

import (
	"io"
	"os/exec"
	"testing"
)

// BenchmarkStart measures how long a host waits for the first byte of a server's answer, without and with the wrapper.
func BenchmarkStart(b *testing.B) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	for name, command := range map[string][]string{"alone": {"farmd"}, "wrapped": {"recourse", "wrap", "--", "farmd"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				start := exec.CommandContext(b.Context(), command[0], command[1:]...)
				in, err := start.StdinPipe()
				if err != nil {
					b.Fatal(err)
				}
				out, err := start.StdoutPipe()
				if err != nil {
					b.Fatal(err)
				}
				if err := start.Start(); err != nil {
					b.Fatal(err)
				}
				_, err = io.WriteString(in, initialize)
				if err == nil {
					_, err = io.ReadFull(out, make([]byte, 1))
				}
				if err != nil {
					b.Fatal(err)
				}
				_ = in.Close()
				_, _ = io.Copy(io.Discard, out)
				if err := start.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
