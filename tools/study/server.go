package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// serversText names a registry, a package with its version, its program and arguments in each line. SANDBOX is a folder of its own. A
// server over HTTP has its URL at the end, with PORT for a port that is free.
//
//go:embed servers.txt
var serversText string

// A published is a package with an MCP server.
type published struct {
	registry, pkg, version string
	program                []string
	url                    string // over HTTP; empty: it is on stdio
	dir                    string // where it is installed, and its reports are
}

func readServers(env string) (servers []*published, err error) {
	for line := range strings.Lines(serversText) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(words) < 4 {
			return nil, errors.New("servers.txt: too few words: " + line)
		}
		dir := filepath.Join(env, words[0]+"-"+strings.NewReplacer("/", "-", "@", "").Replace(words[1]))
		s := &published{registry: words[0], pkg: words[1], version: words[2], program: words[3:], dir: dir}
		if last := len(s.program) - 1; strings.HasPrefix(s.program[last], "http://") {
			s.url, s.program = s.program[last], s.program[:last]
		}
		servers = append(servers, s)
	}
	slices.SortFunc(servers, func(a, b *published) int {
		return strings.Compare(strings.TrimPrefix(a.pkg, "@"), strings.TrimPrefix(b.pkg, "@"))
	})
	return servers, nil
}

// installed is the file that stands where a server was installed; its text is the version.
const installed = "installed"

// install installs the package from its registry. Its scripts are not run.
func (s *published) install(ctx context.Context) error {
	stamp := filepath.Join(s.dir, installed)
	if version, err := os.ReadFile(stamp); err == nil && string(version) == s.version {
		return nil
	}
	if err := errors.Join(os.RemoveAll(s.dir), os.MkdirAll(s.dir, 0o755)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: installing\n", s.pkg)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	steps := [][]string{{
		"npm", "install", "--prefix", ".", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", s.pkg + "@" + s.version,
	}}
	if s.registry == "pypi" {
		steps = [][]string{
			{"python3", "-m", "venv", "."},
			{"bin/pip", "install", "--quiet", "--disable-pip-version-check", s.pkg + "==" + s.version},
		}
	}
	for _, step := range steps {
		if err := run(ctx, s.dir, nil, step[0], step[1:]...); err != nil {
			return err
		}
	}
	return os.WriteFile(stamp, []byte(s.version), 0o644)
}

// command is how the server is started in its sandbox.
func (s *published) command(sandbox string) []string {
	bin := filepath.Join(s.dir, "node_modules", ".bin", s.program[0])
	if s.registry == "pypi" {
		bin = filepath.Join(s.dir, "bin", s.program[0])
	}
	words := []string{bin}
	for _, word := range s.program[1:] {
		words = append(words, strings.ReplaceAll(word, "SANDBOX", sandbox))
	}
	return words
}

// check checks the server bare and behind the gateway.
func (s *published) check(ctx context.Context, recourse string, again bool) error {
	if err := s.install(ctx); err != nil {
		return err
	}
	for _, kind := range []string{bare, behind} {
		report := filepath.Join(s.dir, kind+".json")
		if _, err := os.Stat(report); err == nil && !again {
			continue
		}
		sandbox, err := newSandbox()
		if err != nil {
			return err
		}
		began := time.Now()
		target, stop, err := s.target(ctx, kind, recourse, sandbox)
		if err == nil {
			err = s.write(ctx, report, sandbox, append([]string{recourse, "check", "--json", "--fail-on", "none"}, target...))
		}
		stop()
		if err = errors.Join(err, os.RemoveAll(sandbox)); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		fmt.Fprintf(os.Stderr, "%s, %s: %s\n", s.pkg, kind, time.Since(began).Round(time.Second))
	}
	return nil
}

// The kinds of reports.
const (
	bare   = "bare"
	behind = "behind" // the gateway
)

// target returns the server's arguments for a check. One over HTTP is started, with a gateway in front of it if there has to be one.
func (s *published) target(ctx context.Context, kind, recourse, sandbox string) (args []string, stop func(), err error) {
	if s.url == "" {
		args = []string{"--"}
		if kind == behind {
			args = append(args, recourse, "wrap", "--log-level", "error", "--")
		}
		return append(args, s.command(sandbox)...), func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	stop = func() {
		cancel()
		running.Wait()
	}
	start := func(port string, command []string) error {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		running.Go(func() {
			_ = run(ctx, sandbox, null, command[0], command[1:]...) // it is ended
			_ = null.Close()
		})
		return answers(ctx, "127.0.0.1:"+port)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, stop, err
	}
	url := strings.ReplaceAll(s.url, "PORT", port)
	command := s.command(sandbox)
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "PORT", port)
	}
	if err := start(port, command); err != nil || kind == bare {
		return []string{url}, stop, err
	}
	config := filepath.Join(sandbox, "recourse.yaml")
	port, err = freePort(ctx)
	if err := errors.Join(err, os.WriteFile(config, []byte("servers:\n  s:\n    url: "+url+"\n"), 0o644)); err != nil {
		return nil, stop, err
	}
	err = start(port, []string{recourse, "serve", "--config", config, "--listen", "127.0.0.1:" + port, "--log-level", "error"})
	return []string{"http://127.0.0.1:" + port + "/s/mcp"}, stop, err
}

// freePort returns a port on which nothing listens.
func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// answers waits until something listens there.
func answers(ctx context.Context, at string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// newSandbox makes a folder with a file and a repository, for servers that work on either.
func newSandbox() (string, error) {
	dir, err := os.MkdirTemp("", "study")
	if err != nil {
		return "", err
	}
	err = os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("A line.\n"), 0o644)
	return dir, errors.Join(err, run(context.Background(), dir, nil, "git", "init", "--quiet"))
}

// write runs a check and keeps its report, also of a server that did not start.
func (s *published) write(ctx context.Context, report, sandbox string, command []string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	out, err := os.Create(report + ".part")
	if err != nil {
		return err
	}
	err = run(ctx, sandbox, out, command[0], command[1:]...)
	if stat, statErr := out.Stat(); statErr == nil && stat.Size() > 0 {
		err = nil
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(report+".part", report)
}

// run runs a program in a folder, which is its home as well, unless it installs something. At the end, all that it started is ended.
func run(ctx context.Context, dir string, out *os.File, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, os.Stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, nil
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "USERPROFILE=" + dir,
			"DO_NOT_TRACK=1", "NO_COLOR=1", "CI=true",
		}
	}
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly there is none left
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return nil
}
