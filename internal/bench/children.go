package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// The settings of a server that is a child: what a call costs, and what simultaneous callers achieve, if each call
// takes the child almost no time, and if it waits.
var (
	childAlone   = setting{pathChild, 1000, 1}
	childBusy    = setting{pathChild, 1000, 16}
	childWaiting = setting{pathWaiting, 1000, 16}
)

// childRole returns the role of the child at a path.
func childRole(path string) role {
	if path == pathWaiting {
		return roleWaiting
	}
	return roleChild
}

// build builds the program recourse.
func build(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "recourse.exe") // a name that every system can start
	const source = "github.com/recoursehq/recourse/cmd/recourse"
	command := exec.CommandContext(ctx, "go", "build", "-o", program, source) //nolint:gosec // our own
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, said)
	}
	return program, nil
}

// compareChildren measures the settings of child servers, and the start of the program.
func (r *results) compareChildren(ctx context.Context, o *options, dir string, gateway *process) error {
	some := o.settings(true)
	if len(some) == 0 && !o.wants("start") {
		return nil
	}
	program, err := build(ctx, dir)
	if err != nil {
		return err
	}
	for _, s := range some {
		c, err := compareChild(ctx, o, dir, program, gateway, s)
		if err != nil {
			return err
		}
		r.comparisons = append(r.comparisons, c)
	}
	if o.wants("start") {
		r.start, err = startup(ctx, dir, program)
	}
	return err
}

// compareChild measures the ways to a child: its own input and output, those of `recourse wrap`, HTTP through the
// gateway, and the same with callers who wait for each other.
func compareChild(ctx context.Context, o *options, dir, program string, gateway *process, s setting) (c *comparison, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child, err := openPipe(ctx, dir, childRole(s.path), s.callers, self)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, child.stop()) }()
	wrap, err := openPipe(ctx, dir, childRole(s.path), s.callers, program, "wrap", "--", self)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, wrap.stop()) }()
	all := []variant{
		direct:  {name: "direct", callers: child.callers(echoText(s.size))},
		wrapped: {name: "recourse wrap", callers: wrap.callers(echoText(s.size))},
		served:  {name: "recourse serve", process: gateway},
		single:  {name: "one at a time", process: gateway, turns: true},
	}
	if s.callers == 1 {
		all = all[:single]
	}
	return compare(ctx, o, dir, s, all)
}

// starts is how often the start of a program is measured.
const starts = 15

// startup returns by how much longer `recourse wrap` takes from its start to the first byte of the first answer than
// the child alone, in nanoseconds: the median of alternating starts.
func startup(ctx context.Context, dir, program string) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var over []float64
	for range starts {
		child, err := firstByte(ctx, dir, self)
		if err != nil {
			return 0, err
		}
		wrap, err := firstByte(ctx, dir, program, "wrap", "--", self)
		if err != nil {
			return 0, err
		}
		over = append(over, float64(wrap-child))
	}
	slices.Sort(over)
	return over[len(over)/2], nil
}

// firstByte starts a program that is a child, or has one, and returns how long it takes to begin its answer to
// initialize.
func firstByte(ctx context.Context, dir, program string, args ...string) (taken time.Duration, err error) {
	start := time.Now()
	p, err := launch(ctx, dir, roleChild, program, args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, err := p.in.Write([]byte(initialize + "\n")); err != nil {
		return 0, err
	}
	_, err = p.out.ReadByte()
	return time.Since(start), err
}
