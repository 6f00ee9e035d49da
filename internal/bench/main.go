// Command bench measures what the gateway costs, and fails if that exceeds a budget. Run it with `make bench`, or
//
//	go run ./internal/bench [-benchtime 400ms] [-rounds 5] [-run REGEXP] [-profile DIR] [-asleep]
//	go run ./internal/bench -load [-run REGEXP]
//
// # What is compared
//
// An MCP tools/call of a tool that returns its argument, in a session of protocol version 2025-11-25, over loopback:
// directly to the server; through a bare httputil.ReverseProxy; through one with a BufferPool; and through the gateway
// with its defaults, which include the check of the arguments against the tool's inputSchema. Server, proxies and
// gateway are separate processes, started by this program. The transports of the proxies and the gateway are tuned
// alike. Server and callers are as lean as they can be, so that what is between them decides; every answer is checked.
//
// The same with a server that is a child process: over its own standard input and output; through `recourse wrap`;
// through the gateway over HTTP; and, if there are several callers, through the gateway while they wait for each other,
// which shows what a bridge achieves that handles one call at a time and is otherwise as fast as the gateway. The child
// answers at once, or a millisecond after each call, as a tool does that calls somebody else; meanwhile it accepts
// other calls.
//
// Each round measures every variant for the benchtime, after a warm-up of a fifth of it, and begins with another one. A
// new process first serves for three times as long, until it has the memory that it works with. Each figure is the
// median of the rounds, and a ratio is the median of the rounds' ratios, not the ratio of medians. The figures depend
// on the machine and its other work; the ratios are what matters.
//
// # Sleeping processors
//
// A single caller leaves every processor idle most of the time. Waking one takes longer than anything that is measured
// here, above all on a virtual machine, and differs from machine to machine. So on Linux, while there is one caller, a
// process that only runs when no other can keeps the processors awake. With -asleep they may sleep.
//
// # The gateway's process
//
// It runs the command `recourse serve` on a configuration file: the very code of the program. Besides, one goroutine
// reads questions from standard input and answers with the runtime's metrics, so that the product contains nothing for
// the sake of this program.
//
// # What else is measured
//
// Features that are off by default are turned on, in separate gateways, and compared with a gateway without any.
//
// A fresh gateway passes on results of 50 MB while its memory is watched; holds a thousand idle sessions, of a server
// over HTTP and of a child that all share; and is called a thousand times while a server is down. The server counts the
// attempts that arrive; if no server runs, the gateway's log does. The program is built, and the start of `recourse
// wrap` is compared with that of the child alone, up to the first byte. Failures are
// written and read in every built-in contract.
//
// # The limits of harm
//
// With -load, the program does to fresh gateways what nobody should: thousands of calls that hang, garbage, readers
// that do not read, sessions that stay, a server that is out. It prints how much memory the gateway has held according
// to the system, and how well-behaved callers were served. It fails if a gateway holds too much memory, or makes those
// callers wait.
//
// # What fails
//
// The budgets are in budget.go. The program exits with 1 and names them if a ratio of times misses its budget by over
// 15 %, or a count misses it at all. This includes the time that is added to a child's call and to the start of the
// program; other times, which only depend on the machine, are just shown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

func main() {
	var err error
	if r := role(os.Getenv(envRole)); r != "" {
		err = runRole(r, os.Args[1:])
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
	profile   string
	load      bool
	awake     bool
}

func parse(args []string) (*options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&o.benchtime, "benchtime", 400*time.Millisecond, "how long a variant is measured in a round")
	flags.IntVar(&o.rounds, "rounds", 5, "how many rounds")
	names := "what to measure: a `regexp` for json|events|child|waiting/SIZE/CALLERS, features, start, growth, session, outage, failure"
	flags.Func("run", names, func(s string) (err error) {
		o.run, err = regexp.Compile(s)
		return err
	})
	flags.StringVar(&o.profile, "profile", "", "`directory` for the gateway's cpu.pprof and allocs.pprof")
	flags.BoolVar(&o.load, "load", false,
		"try the limits of harm instead: memory under load, garbage and outages, on Linux; -run chooses trials by name")
	asleep := flags.Bool("asleep", !keepsAwake, "let the processors sleep while a single caller waits; always so unless on Linux")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.awake = keepsAwake && !*asleep
	if o.benchtime <= 0 || o.rounds < 1 || flags.NArg() > 0 {
		return nil, errors.New("benchtime and rounds must be positive, and there are no arguments")
	}
	return &o, nil
}

func (o *options) wants(name string) bool { return o.run == nil || o.run.MatchString(name) }

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.load {
		return tryLimits(ctx, o, dir, out)
	}
	fmt.Fprintf(out, "%s %s/%s, %d cores. Medians of %d interleaved rounds of %v. Ratios matter, not the figures.\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, o.benchtime)
	sleep := "may sleep"
	if o.awake {
		sleep = "are kept awake"
	}
	fmt.Fprintf(out, "While there is a single caller, the processors %s.\n\n", sleep)
	r, err := measureAll(ctx, o, dir)
	if err != nil {
		return err
	}
	if err := printComparisons(out, r.comparisons); err != nil {
		return err
	}
	if err := printFeatures(out, r.features); err != nil {
		return err
	}
	return printBudgets(out, r)
}

// measureAll measures what is asked for.
func measureAll(ctx context.Context, o *options, dir string) (r *results, err error) {
	server, err := start(ctx, dir, roleServer)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	r = nothingMeasured()
	if err := r.compareAll(ctx, o, dir, server); err != nil {
		return nil, err
	}
	if err := r.measureExtremes(ctx, o, dir, server); err != nil {
		return nil, err
	}
	if o.wants("failure") {
		r.translation, r.masking = translation(), masking()
		if r.classify, err = classification(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// compareAll measures the settings and the start of the program.
func (r *results) compareAll(ctx context.Context, o *options, dir string, server *process) (err error) {
	gateway, err := startGateway(ctx, dir, o.profile, server, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.stop()) }()
	if err := r.compareHTTP(ctx, o, dir, server, gateway); err != nil {
		return err
	}
	if err := r.compareChildren(ctx, o, dir, gateway); err != nil {
		return err
	}
	return r.compareFeatures(ctx, o, dir, server)
}

// measureExtremes measures a fresh gateway with large results, with idle sessions, and without a server.
func (r *results) measureExtremes(ctx context.Context, o *options, dir string, server *process) (err error) {
	stopped, err := start(ctx, dir, roleServer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopped.stop()) }()
	gateway, err := startGateway(ctx, dir, "", server, stopped)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.stop()) }()
	if o.wants("growth") {
		asJSON, err := growth(ctx, gateway, pathLarge)
		if err != nil {
			return err
		}
		asEvent, err := growth(ctx, gateway, pathLargeEvents)
		if err != nil {
			return err
		}
		r.growth = max(asJSON, asEvent)
	}
	if o.wants("session") {
		if r.session, err = sessionSize(ctx, gateway, pathJSON); err != nil {
			return err
		}
		if r.childSession, err = sessionSize(ctx, gateway, pathChild); err != nil {
			return err
		}
	}
	if !o.wants("outage") {
		return nil
	}
	if r.unavailable, err = unavailable(ctx, gateway, server); err != nil {
		return err
	}
	r.refused, err = refused(ctx, gateway, stopped)
	return err
}
