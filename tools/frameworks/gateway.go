package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A recourseServe is `recourse serve` in front of one server.
type recourseServe struct {
	command *exec.Cmd
	url     string
}

// settings is the gateway's configuration; server says where the server is.
func settings(server string) string {
	return `listen: 127.0.0.1:0
log: json
servers:
  shop:
    ` + server + `
    contract: recourse
    timeout: 3s
    tools:
      order_get: {read_only: true}
      order_create:
        verify: {tool: order_get, from: {reference: /reference}, look_at: status}
`
}

// startGateway starts a gateway with a folder of its own, and waits until it serves.
func startGateway(ctx context.Context, program, folder, server string) (*recourseServe, error) {
	file := filepath.Join(folder, "recourse.yaml")
	if err := os.WriteFile(file, []byte(settings(server)), 0o600); err != nil {
		return nil, err
	}
	g := &recourseServe{command: exec.CommandContext(ctx, program, "serve", "-c", file)}
	g.command.Env = append(os.Environ(), "HOME="+folder, "XDG_CACHE_HOME="+folder)
	log, err := g.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := g.command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.URL != "" {
			g.url = line.URL
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return g, nil
		}
	}
	g.stop()
	return nil, errors.New("the gateway does not start")
}

func (g *recourseServe) stop() {
	_ = g.command.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(2*time.Second, func() { _ = g.command.Process.Kill() })
	defer kill.Stop()
	_ = g.command.Wait() // a signal is no good end, and there is nothing to do about it
}

// meet lets the gateway see the server's tools, as an agent would that ran before.
func (g *recourseServe) meet(ctx context.Context) error {
	if said, err := exec.CommandContext(ctx, g.command.Path, "tools", "--server", g.url).CombinedOutput(); err != nil {
		return fmt.Errorf("list the tools at %s: %w: %s", g.url, err, said)
	}
	return nil
}
