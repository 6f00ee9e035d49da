// Command frameworks runs agents of real frameworks against a server that fails, without and with Recourse, and notes what a model
// reads. `make frameworks` writes docs/frameworks.md with it.
//
//	go run . [-only NAMES] [-class NAMES] [-env DIR] [-write FILE]
//
//	model (a script) <-- agent (a framework's program) --> server that fails
//	                                                  '--> recourse serve --> server that fails
//
// The model calls one tool, keeps what the next request says of the call, and answers "done". Everything is on loopback. install.sh
// installs the frameworks; results are kept beside them, so that -only can run some of them anew.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := play(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "frameworks: error:", err)
		os.Exit(1)
	}
}

type options struct {
	env, only, class, write, child string
	jobs                           int
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("frameworks", flag.ContinueOnError)
	env := cmp.Or(os.Getenv("FRAMEWORKS"), "../../.tools/frameworks")
	flags.StringVar(&o.env, "env", env, "the `folder` in which the frameworks are installed")
	flags.StringVar(&o.only, "only", "", "the `names` of the frameworks to run, with commas; all by default, - for none")
	flags.StringVar(&o.class, "class", "", "the `names` of the classes to run")
	flags.StringVar(&o.write, "write", "", "the `file` to write the page to")
	flags.StringVar(&o.child, "child", "", "be an MCP server on standard input and output, and note calls in a `file`")
	flags.IntVar(&o.jobs, "jobs", 2, "how many frameworks run at once")
	return o, flags.Parse(args)
}

func play(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.child != "" {
		return child(os.Stdin, out, o.child)
	}
	if err := o.run(ctx, out); err != nil {
		return err
	}
	if o.write == "" {
		return nil
	}
	return writePage(o.env, o.write)
}

// run runs the frameworks that were chosen, and keeps what came of it.
func (o *options) run(ctx context.Context, out io.Writer) error {
	env := absolute(o.env)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	recourse := filepath.Join(env, "recourse")
	if said, err := exec.CommandContext(ctx, "go", "build", "-C", "../..", "-o", recourse, "./cmd/recourse").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, said)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	turns := make(chan struct{}, o.jobs)
	for _, f := range frameworksNamed(o.only) {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			failed := o.framework(ctx, &rig{framework: f, env: env, recourse: recourse, self: self}, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintln(out, line)
			})
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failed)
		})
	}
	wg.Wait()
	return err
}

// framework runs the classes that were chosen with one framework.
func (o *options) framework(ctx context.Context, r *rig, say func(string)) error {
	var chosen []*class
	for _, c := range classes {
		if o.class == "" || strings.Contains(","+o.class+",", ","+c.name+",") {
			chosen = append(chosen, c)
		}
	}
	cells, err := load(r.env, r.framework)
	if err != nil {
		return err
	}
	err = r.all(ctx, chosen, func(c *cell) {
		cells[c.key()] = c
		side := "bare"
		if c.Through {
			side = "through"
		}
		said, _ := json.Marshal(c.Told)
		say(fmt.Sprintf("%s %s %s: %s x%d %s %s", r.framework.name, c.Class, side, c.letters(), c.Arrived, said, c.Threw))
	})
	return errors.Join(err, cells.save(r.env, r.framework))
}

// kept are the cells of a framework.
type kept map[string]*cell

func (c *cell) key() string { return fmt.Sprint(c.Class, " ", c.Through) }

func resultFile(env string, f *framework) string {
	return filepath.Join(env, f.name+".json")
}

func load(env string, f *framework) (kept, error) {
	cells := kept{}
	b, err := os.ReadFile(resultFile(env, f))
	if errors.Is(err, os.ErrNotExist) {
		return cells, nil
	}
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(b, &cells)
	return cells, err
}

func (r kept) save(env string, f *framework) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(resultFile(env, f), b, 0o600)
}
