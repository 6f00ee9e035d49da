// Command simulate plays agents against a failing server in virtual time, and counts the results: goals met, things done twice, false
// claims, attempts and waits. `make simulate` writes docs/simulation.md with it, which explains all of them.
//
//	go run . [-seed 1] [-tasks 10000] [-write DIR]
//
//	world (a file) --faults--> shop <-- gateway, or none <-- session <-- agent (a script)
//	                                                            |
//	                                            oracle, tally --+--> docs/simulation.md
//
// Tasks come at fixed times, each for a separate caller. The callers of an agent share its state. One of them runs at a time; when it
// waits, the [clock] continues with the one that wakes up next. Which random faults a task meets depends only on the seed, the task and
// the number of the call, so that all agents meet the same faults, and a run can be repeated to the byte.
//
// It is a model: the agents are scripts, the shop and the gateway are modelled here, and only package recovery is real.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := simulate(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "simulate: error:", err)
		os.Exit(1)
	}
}

// simulate runs the simulation, and prints the page or writes it.
func simulate(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "the random `seed`: the same seed gives the same figures")
	flags.IntVar(&o.tasks, "tasks", 10_000, "the `number` of tasks for each agent in each world")
	dir := flags.String("write", "", "write the page and its figures into a `directory` instead of printing the page")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.tasks < 1 || flags.NArg() > 0 {
		return errors.New("-tasks must be at least 1, and there are no arguments")
	}
	if *dir != "" { // before minutes of work
		if info, err := os.Stat(*dir); err != nil || !info.IsDir() {
			return fmt.Errorf("-write %s is not a directory", *dir)
		}
	}
	result, err := run(ctx, o)
	if err != nil {
		return err
	}
	files, err := result.files()
	if err != nil {
		return err
	}
	if *dir == "" {
		_, err := out.Write(files[pageName])
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(*dir, name)
		if err := os.WriteFile(file, files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(out, file)
	}
	return nil
}
