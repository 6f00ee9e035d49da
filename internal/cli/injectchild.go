package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/upstream/process"
)

// patience is how long a program gets to exit by itself.
const patience = 3 * time.Second

// child returns a command that is asked to exit when ctx ends, and killed if it does not.
func child(ctx context.Context, env *term.Environment, command term.ServerCommand) *exec.Cmd {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	cmd.Env, cmd.Stderr = env.Environ, env.Stderr
	return cmd
}

// pipes are the standard input and output of a program.
type pipes struct {
	in   io.WriteCloser
	out  io.Reader
	kill func()
}

// relay runs between a host and a program until the program, and everything that it started, ends. run passes messages on until
// the program's output ends.
func relay(ctx context.Context, env *term.Environment, command term.ServerCommand, run func(pipes) error) error {
	cmd := child(context.WithoutCancel(ctx), env, command)
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	var group process.Group
	if err := group.Start(cmd); err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	defer group.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = in.Close() // it may have exited already
		group.Terminate()
		if !group.Leave(patience) {
			group.Kill()
		}
	})
	defer stop()
	relayed := run(pipes{in, out, group.Kill})
	_ = in.Close() // in case only its output has ended
	if err := ended(ctx, command, cmd.Wait()); err != nil {
		return err
	}
	return relayed
}

// ended returns the error of a command that ended without being asked to.
func ended(ctx context.Context, command term.ServerCommand, err error) error {
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return nil
}
