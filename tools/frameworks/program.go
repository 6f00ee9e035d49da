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
	"strings"
	"syscall"
	"time"
)

// An agentProgram runs a framework's agents, one after the other: it reads a [task] from each line of its input, and answers with an [end].
type agentProgram struct {
	command *exec.Cmd
	in      io.WriteCloser
	ends    chan end // closed when the program is gone
}

// A task is an agent to run.
type task struct {
	URL     string   `json:"url,omitempty"`     // of the MCP server, or
	Command []string `json:"command,omitempty"` // how to start it
	Model   string   `json:"model"`
	Prompt  string   `json:"prompt"`
}

// An end is what became of an agent. The first one of a program says that it is ready.
type end struct {
	Done  string `json:"done"`
	Threw string `json:"threw"`
}

// mark begins the lines of a program that are for the driver; frameworks print what they like.
const mark = "@@"

// startProgram starts a framework's program, and waits until the framework is loaded.
func startProgram(ctx context.Context, f *framework, env, folder string) (*agentProgram, error) {
	name, args := f.start(env)
	p := &agentProgram{command: exec.CommandContext(ctx, name, args...), ends: make(chan end, 1)}
	p.command.Dir = folder
	p.command.Env = environment(folder)
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(folder, f.name+".log"))
	if err != nil {
		return nil, err
	}
	p.command.Stderr = log
	p.in, err = p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	if _, err := p.wait(ctx, 5*time.Minute); err != nil {
		p.stop()
		said, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s: %w: %s", f.name, err, said)
	}
	return p, nil
}

// environment is what the programs get: no proxy but one that answers nothing, so that whatever is not on loopback fails at once.
func environment(folder string) []string {
	const nowhere = "http://127.0.0.1:9"
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_CACHE_HOME=" + folder, "TMPDIR=" + folder, "LANG=C.UTF-8",
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "http_proxy=" + nowhere, "https_proxy=" + nowhere,
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
		"OPENAI_API_KEY=none", "GEMINI_API_KEY=none", "GOOGLE_API_KEY=none", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
		"OTEL_SDK_DISABLED=true", "DO_NOT_TRACK=1", "OPENAI_AGENTS_DISABLE_TRACING=1", "MASTRA_TELEMETRY_DISABLED=1",
		"CREWAI_DISABLE_TELEMETRY=true", "CREWAI_TRACING_ENABLED=false", "LITELLM_LOCAL_MODEL_COST_MAP=True", "NO_COLOR=1",
	}
}

func (p *agentProgram) listen(out io.Reader) {
	defer close(p.ends)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e end
		if text, found := strings.CutPrefix(lines.Text(), mark); found && json.Unmarshal([]byte(text), &e) == nil {
			p.ends <- e
		}
	}
}

var (
	errGone = errors.New("the program has ended")
	errLate = errors.New("the program does not answer in time")
)

func (p *agentProgram) wait(ctx context.Context, most time.Duration) (end, error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case e, open := <-p.ends:
		if !open {
			return e, errGone
		}
		return e, nil
	case <-timer.C:
		return end{}, errLate
	case <-ctx.Done():
		return end{}, ctx.Err()
	}
}

func (p *agentProgram) run(ctx context.Context, t *task, most time.Duration) (end, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return end{}, err
	}
	if _, err := fmt.Fprintf(p.in, "%s\n", line); err != nil {
		return end{}, errGone
	}
	return p.wait(ctx, most)
}

// stop ends the program, and whatever it has started.
func (p *agentProgram) stop() {
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // they may be gone
	for range p.ends {                                        // so that it can be waited for
	}
	_ = p.command.Wait()
}
