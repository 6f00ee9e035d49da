package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config/hosts"
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

// statusTimeout is for a server to start and to list its tools.
const statusTimeout = 15 * time.Second

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
	var trying client.Visits
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
	if _, err := exec.LookPath(s.Command); err != nil && s.Cwd == "" { // which a relative path is looked up in
		return "", fmt.Errorf("there is no program %s", s.Command)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	place := client.Location{Command: append([]string{s.Command}, s.Args...), Cwd: s.Cwd}
	for name, value := range env.Variables(s.Env) {
		place.Env = append(place.Env, name+"="+value)
	}
	visit, err := place.Visit(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("starts, %d tools", len(visit.Tools)), nil
}
