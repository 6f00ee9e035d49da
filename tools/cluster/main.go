//go:build linux

// Command cluster runs three replicas of the gateway behind HAProxy, with a Redis that Sentinels watch and a PostgreSQL, each in a network
// namespace of its own, and breaks one thing after the other while clients call. Then it reports what came of it.
//
//	cluster [-calls 200000] [-for 30m] RECOURSE
//
// RECOURSE is the program. It needs root, Linux, and the programs that it names if they are missing. All that it starts is in namespaces
// that end with it, however it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// inside is set in the process that is in namespaces of its own.
const inside = "RECOURSE_CLUSTER_DIR"

func main() {
	calls := flag.Int64("calls", 200_000, "how many calls at least; each thing fails once in any case, which takes two minutes")
	within := flag.Duration("for", 30*time.Minute, "how long it may take at most")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("name the program to run")
	switch dir := os.Getenv(inside); {
	case flag.NArg() != 1:
	case dir == "":
		err = enter(ctx)
	default:
		err = run(ctx, dir, flag.Arg(0), *calls, *within)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// enter starts this program again as the first process of its namespaces. When that ends, the kernel ends the others, and removes what was
// mounted, and all links.
func enter(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root, for network namespaces: nothing was run")
	}
	for _, program := range []string{"ip", "tc", "mount", "setpriv", "haproxy", "redis-server", "redis-cli", "psql"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: nothing was run", err)
		}
	}
	dir, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		return err
	}
	child := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe", os.Args[1:]...)
	child.Env = append(os.Environ(), inside+"="+dir)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL, Setpgid: true,
	}
	runtime.LockOSThread() // whose end ends the child

	if err := errors.Join(os.Chmod(dir, 0o755), child.Start()); err != nil { // PostgreSQL has a user of its own
		return errors.Join(err, os.RemoveAll(dir))
	}
	context.AfterFunc(ctx, func() { _ = child.Process.Signal(os.Interrupt) }) // it may have ended
	switch err := child.Wait(); {
	case ctx.Err() != nil:
		return errors.Join(errors.New("interrupted"), os.RemoveAll(dir))
	case err != nil:
		return fmt.Errorf("%w: what the programs have logged is in %s", err, dir)
	}
	return os.RemoveAll(dir)
}

// run is the whole test.
func run(ctx context.Context, dir, program string, calls int64, within time.Duration) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	c := &cluster{dir: dir, program: program, limit: max(calls/100, 50)}
	if err := c.start(ctx); err != nil {
		return err
	}
	l := newLoad(c.server, calls)
	calling, stop := context.WithTimeout(ctx, within)
	defer stop()
	for i := range workers {
		l.all.Go(func() { l.work(calling, i) })
	}
	began := time.Now()
	if err := c.damage(calling, l); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	l.all.Wait()
	took := time.Since(began)
	if err := c.rest(ctx); err != nil {
		return err
	}
	return report(ctx, os.Stdout, c, l, took)
}

// damage does one thing to the cluster after the other, at least once, until enough calls were made.
func (c *cluster) damage(ctx context.Context, l *load) error {
	defer l.enough.Store(true)
	for ; ctx.Err() == nil && (c.faults < len(faults) || l.made.Load() < l.most); c.faults++ {
		f := &faults[c.faults%len(faults)]
		fmt.Fprintf(os.Stderr, "%8d calls: %s\n", l.made.Load(), f.name)
		l.during.Store(&f.name)
		if err := f.do(ctx, c, c.faults/len(faults)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		pause(ctx, 4*time.Second)
	}
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
