// Command bench measures what the gateway costs, and fails if that exceeds a budget. `make bench` and `make load` run it, on Unix:
//
//	go run . [-benchtime 400ms] [-rounds 5] [-run REGEXP] [-against BENCH]
//	go run . -load [-run REGEXP]
//
// What a part of the gateway costs by itself is measured where the part is, by `go test -bench`: see docs/performance.md.
//
// Compared is an MCP tools/call of a tool that returns its argument, in a session of protocol version 2025-11-25, over loopback: directly
// to the server; through a httputil.ReverseProxy, without and with a BufferPool; through HAProxy and nginx, if they are installed; and
// through the gateway, with its defaults, which include the check of the arguments against the tool's inputSchema, and with most features
// on. Each of them is a process of its own, and their transports are tuned alike. Server and callers are as lean as they can be, so that
// what is between them decides; every answer is checked. With -against, the gateway of another build of this program is measured, too: of
// another commit. The same is done with a server that is a child process: over its own standard input and output, through `recourse wrap`,
// and through the gateway over HTTP.
//
// Each round measures every variant for the benchtime, after a warm-up of a fifth of it, and begins with another one. Each figure is the
// median of the rounds, and a ratio is the median of the rounds' ratios, not the ratio of medians. A single caller leaves every processor
// idle most of the time. Waking one takes longer than anything that is measured here, above all on a virtual machine. So on Linux, while
// there is one caller, processes that only run when no other can keep the processors awake.
//
// The budgets are in budget.go. The program exits with 1 and names them if a ratio or a difference of times misses its budget by over
// 15 %, or a count misses it at all. With -load, it does to fresh gateways what nobody should: see trials.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	var err error
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], roleMark) {
		err = play(os.Args[1], os.Args[2:])
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = run(ctx, os.Args[1:], os.Stdout)
		stop()
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

// options are the program's flags.
type options struct {
	benchtime time.Duration
	rounds    int
	run       *regexp.Regexp
	against   string
	load      bool

	self, dir string   // this program, and a directory for files
	log       *os.File // what all processes log
}

func parse(args []string) (*options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&o.benchtime, "benchtime", 400*time.Millisecond, "how long a variant is measured in a round")
	flags.IntVar(&o.rounds, "rounds", 5, "how many rounds")
	names := flags.String("run", "", "what to measure: a `regexp` for json|events|child/SIZE/CALLERS or, with -load, for names of trials")
	flags.StringVar(&o.against, "against", "", "another build of this `program`, whose gateway is measured, too")
	flags.BoolVar(&o.load, "load", false, "try what the gateway's memory does under hung calls and garbage instead, on Linux")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.benchtime <= 0 || o.rounds < 1 || flags.NArg() > 0 {
		return nil, errors.New("benchtime and rounds must be positive, and there are no arguments")
	}
	var err error
	o.run, err = regexp.Compile(*names)
	return &o, err
}

func (o *options) wants(name string) bool { return o.run.MatchString(name) }

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.self, err = os.Executable(); err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	if o.log, err = os.Create(filepath.Join(o.dir, "log")); err != nil {
		return err
	}
	defer func() {
		if _, missed := errors.AsType[missedError](err); err != nil && !missed {
			said, _ := os.ReadFile(o.log.Name()) // it only explains an error
			err = fmt.Errorf("%w\n%s", err, said)
		}
		err = errors.Join(err, o.log.Close(), os.RemoveAll(o.dir))
	}()
	if o.load {
		return tryLimits(ctx, o, out)
	}
	fmt.Fprintf(out, "%s %s/%s, %d cores. Medians of %d interleaved rounds of %v. Ratios matter, not the figures.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, o.benchtime)
	measured, err := compareAll(ctx, o)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if c := measured[s]; c != nil {
			err = errors.Join(err, c.print(out))
		}
	}
	return errors.Join(err, printBudgets(out, budgets(measured)))
}
