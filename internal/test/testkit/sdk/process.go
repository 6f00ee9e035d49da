package sdk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// patience is how long a program may take to end by itself.
const patience = 5 * time.Second

// A process is a Node program in a process group of its own, which ends when it is closed.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // of stdout; closed at its end
	stderr testkit.Buffer
}

// startNode runs a program in a folder with no environment but PATH and the given variables.
func startNode(dir string, env []string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(NodeProgram(dir), args...), lines: make(chan string)}
	p.cmd.Dir = dir
	p.cmd.Env = append(NodeEnviron(dir), env...)
	p.cmd.Stderr = &p.stderr
	ownGroup(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("testkit: start node: %w", err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("testkit: start node: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("testkit: start node: %w", err)
	}
	p.stdin = stdin
	go func() {
		defer close(p.lines)
		reader := bufio.NewReader(stdout)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return // the program has ended, or close has
			}
			p.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	return p, nil
}

// NodeEnviron returns the environment without variables that could change a program's behaviour.
func NodeEnviron(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot"), CompileCacheVariable + "=" + CompileCache(dir)}
}

var errNodeEnded = errors.New("the program has ended")

// line returns the next line of stdout.
func (p *process) line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", fmt.Errorf("testkit: node: %w: %s", errNodeEnded, &p.stderr)
		}
		return line, nil
	case <-ctx.Done():
		return "", fmt.Errorf("testkit: node: %w: %s", context.Cause(ctx), &p.stderr)
	}
}

// drain discards stdout until its end.
func (p *process) drain() {
	for range p.lines {
	}
}

// close ends the program: it closes its stdin, on which the programs here exit, or after a while ends its
// process group. It waits for the end.
func (p *process) close() {
	_ = p.stdin.Close() // it may have ended already
	timer := time.AfterFunc(patience, func() { endGroup(p.cmd) })
	defer timer.Stop()
	p.drain()
	_ = p.cmd.Wait() // the exit status does not matter
}
