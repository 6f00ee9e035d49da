package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config/hosts"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// status reports for each server whether it is wrapped, and whether it starts.
func (*installCommand) status(ctx context.Context, env *term.Environment, paths []string) error {
	out := env.Painter(env.Stdout)
	total, failed, unreadable := 0, 0, 0
	for _, path := range paths {
		term.Printf(env.Stdout, "%s\n", path)
		file, err := load.Hosts(path, hosts.LoadSome)
		if term.IsUsage(err) {
			return err
		}
		if err != nil {
			unreadable++
			out.Printf(term.Red, "  %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
			continue
		}
		if len(file.Servers) == 0 {
			term.Printf(env.Stdout, "  no servers\n")
		}
		tried, bad := tryServers(ctx, env, path, file)
		total, failed = total+tried, failed+bad
	}
	switch {
	case unreadable > 0:
		return fmt.Errorf("%d of %d files cannot be read", unreadable, len(paths))
	case failed > 0:
		return fmt.Errorf("%d of %d servers did not start", failed, total)
	default:
		return nil
	}
}

const (
	statusTimeout = 15 * time.Second // for a server to start and to list its tools
	statusAtOnce  = 4                // servers that are tried at a time
)

// tryServers prints one line per server of a file, as they answer, and counts those that do not start.
func tryServers(ctx context.Context, env *term.Environment, path string, file *hosts.File) (tried, bad int) {
	left, width := map[string]string{}, 0
	for _, l := range file.Left() {
		left[l.Name] = l.Why
	}
	for _, s := range file.Servers {
		width = max(width, utf8.RuneCountInString(s.String()))
	}
	out := env.Painter(env.Stdout)
	var printing sync.Mutex
	var trying sync.WaitGroup
	slots := make(chan struct{}, statusAtOnce)
	for _, s := range file.Servers {
		name := s.String()
		if why, ok := left[name]; ok {
			printing.Lock()
			out.Printf(term.Plain, "  %-*s  left alone   %s\n", width, name, why)
			printing.Unlock()
			continue
		}
		wrapped := "not wrapped"
		if s.Wrapped() {
			wrapped = "wrapped"
		}
		tried++
		trying.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answer, err := tryServer(ctx, env, path, s)
			printing.Lock()
			defer printing.Unlock()
			c := term.Plain
			if err != nil {
				bad++
				c, answer = term.Red, "does not start: "+strings.ReplaceAll(err.Error(), "\n", "\n      ")
			}
			out.Printf(term.Plain, "  %-*s  %-11s  ", width, name, wrapped)
			out.Printf(c, "%s\n", answer)
		})
	}
	trying.Wait()
	return tried, bad
}

// tryServer starts the server of an entry, and returns a summary of its answer.
func tryServer(ctx context.Context, env *term.Environment, path string, s *hosts.Target) (answer string, err error) {
	if s.Disabled {
		return "disabled", nil
	}
	if reference := s.NeedsHost(); reference != "" {
		return "not tried: only the host knows what " + reference + " stands for", nil
	}
	if err := hosts.ExpandOne(path, s, env.LookupEnv); err != nil {
		if mistakes, ok := errors.AsType[strictyaml.Errors](err); ok {
			return "", errors.New(mistakes[0].Message)
		}
		return "", err
	}
	if _, err := exec.LookPath(s.Command); err != nil {
		return "", fmt.Errorf("there is no program %s", s.Command)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	last := &lastLine{}
	stderr := visible.Lines(last, func(line string) string { return redact.Log(visible.Escape(line)) })
	defer stderr.Close()
	program := exec.CommandContext(ctx, s.Command, s.Args...)
	program.Dir, program.Stderr = s.Cwd, stderr
	for name, value := range env.Variables(s.Env) {
		program.Env = append(program.Env, name+"="+value)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recourse", Version: term.Version()}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: program}, nil)
	if err != nil {
		return "", openError(s.Command, err, last.String())
	}
	defer session.Close()
	tools, _, err := client.ListTools(ctx, session)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("starts, %d tools", len(tools)), nil
}

// openError returns why a program did not open a session; the last line it wrote may explain it best.
func openError(program string, err error, last string) error {
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok { // from the wrapper, in front of a server that does not start
		return errors.New(redact.Log(visible.Escape(strings.TrimSuffix(refused.Message, "."))))
	}
	err = client.StartFailure(program, err)
	if last == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, plain(last))
}

// plain returns a line of a log for people: of one in JSON only what happened.
func plain(line string) string {
	var entry struct{ Msg, Line, Cause, Err string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg == "" {
		return line
	}
	said := []string{entry.Msg, entry.Line, entry.Cause, entry.Err}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), ": ")
}

// A lastLine keeps the last line written to it.
type lastLine struct {
	mu   sync.Mutex
	line string
}

// Write keeps the line.
func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := strings.TrimSpace(string(p)); line != "" {
		l.line = line
	}
	return len(p), nil
}

func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}
