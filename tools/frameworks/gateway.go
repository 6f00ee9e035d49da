package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	session := ""
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"before","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, strings.NewReader(m))
		if err != nil {
			return err
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("the gateway answers %s to %s", response.Status, m)
		}
		session = response.Header.Get("Mcp-Session-Id")
		if session == "" {
			session = request.Header.Get("Mcp-Session-Id")
		}
	}
	return nil
}
