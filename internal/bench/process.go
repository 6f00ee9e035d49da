package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A process was started by the program.
type process struct {
	role    role
	address string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	log     *os.File // its standard error
	ended   bool
	foreign bool // not our program: it cannot be asked for its usage
	warm    bool // it has been under load
}

// start starts a process that serves HTTP and waits until it does. Its log goes to a file in dir.
func start(ctx context.Context, dir string, r role, args ...string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, dir, r, program, args...)
	if err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s does not start: %w", r, errors.Join(p.stop(), err))
	}
	p.address = line[:len(line)-1]
	return p, nil
}

// launch starts a program in a role. Its log goes to a file in dir.
func launch(ctx context.Context, dir string, r role, program string, args ...string) (*process, error) {
	command := exec.CommandContext(ctx, program, args...) //nolint:gosec // the program itself, or recourse
	command.Env = append(os.Environ(), envRole+"="+string(r))
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(dir, string(r)+"-*.log")
	if err != nil {
		return nil, err
	}
	command.Stderr = log
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &process{role: r, command: command, in: in, out: bufio.NewReaderSize(out, 64<<10), log: log}, nil
}

// usage asks the process what it has used.
func (p *process) usage(q question) (u usage, err error) {
	if p.foreign {
		return foreignUsage(p.command.Process.Pid), nil
	}
	if _, err := fmt.Fprintln(p.in, q); err != nil {
		return usage{}, fmt.Errorf("%s: %w", p.role, err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w", p.role, err)
	}
	err = json.Unmarshal(line, &u)
	return u, err
}

// said returns what the process has logged so far.
func (p *process) said() io.Reader { return io.NewSectionReader(p.log, 0, math.MaxInt64) }

// stop ends the process and waits for its end. The error includes its log. Stopping it again does nothing.
func (p *process) stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	if p.foreign {
		return errors.Join(p.kill(), p.log.Close())
	}
	_ = p.in.Close() // it may have ended by itself
	err := p.command.Wait()
	if err != nil {
		said, _ := io.ReadAll(p.said()) // it only explains err
		err = fmt.Errorf("%s: %w: %s", p.role, err, said)
	}
	return errors.Join(err, p.log.Close())
}
