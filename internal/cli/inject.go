package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/lab/inject"
)

// injectCommand makes calls fail on purpose.
type injectCommand struct {
	Run injectRun `cmd:"" default:"withargs" help:"Make calls fail on purpose; the word run is optional."`
	Ls  injectLs  `cmd:"" help:"List the faults, or the codes of a contract."`
}

// Help shows an example.
func (*injectCommand) Help() string {
	return `recourse inject run --help lists the flags.

Example:

    recourse inject --faults faults.yaml -- farmd`
}

// injectRun runs between a client and a server.
type injectRun struct {
	injectFlags `embed:""`

	URL     string `arg:"" optional:"" help:"${init_url}"`
	Faults  string `placeholder:"FILE" help:"Fault file: which calls fail, and how."`
	Listen  string `default:"127.0.0.1:8788" placeholder:"ADDR" help:"Address to listen on (default: 127.0.0.1:8788)."`
	Control string `placeholder:"ADDR" help:"Loopback address at which tests read the ledger and change the faults."`
	API     string `placeholder:"URL" help:"Stand in front of an HTTP API instead of an MCP server."`
	Proxy   bool   `help:"Be a forward proxy; a command after -- gets it as HTTP_PROXY and HTTPS_PROXY."`
}

// injectFlags describe a single rule without a file.
type injectFlags struct {
	Fault    string        `placeholder:"NAME" help:"One fault without a file, such as hang; recourse inject ls lists them."`
	Status   int           `placeholder:"STATUS" help:"Use this HTTP status as the fault."`
	Contract string        `placeholder:"NAME" help:"Use a failure of this contract as the fault."`
	Code     string        `placeholder:"CODE" help:"Which one of the contract's codes."`
	Tool     string        `placeholder:"PATTERN" help:"Only calls of this tool fail."`
	Method   string        `placeholder:"PATTERN" help:"Only requests of this method fail."`
	Path     string        `placeholder:"PATTERN" help:"Only requests to an API at this path fail."`
	Times    *int          `placeholder:"N" help:"Number of calls that fail; all others succeed."`
	Rate     *float64      `placeholder:"PART" help:"Fraction of the calls that fail, such as 0.1."`
	AtMost   *int          `placeholder:"N" help:"Maximum number of calls that fail at the same time."`
	Effect   inject.Effect `enum:",before,after" default:"" placeholder:"EFFECT" help:"${inject_flags_effect}"`
	Seed     *int64        `placeholder:"N" help:"Chooses which calls a rate affects; overrides the file's (default: 1)."`
}

// Help shows an example.
func (*injectRun) Help() string {
	return `Stands in front of an MCP server over HTTP or stdio, and makes calls fail as the fault file or the flags say; everything ` +
		`else passes byte for byte. When it ends, for example on Ctrl-C, it prints what reached the server.

Example:

    recourse inject --tool get_field --fault error-text --times 1 -- farmd
    recourse inject http://127.0.0.1:9101/mcp --tool order_create --fault hang --effect after --times 1`
}

// Run injects faults until ctx or the program ends.
func (c *injectRun) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	traffic, target, err := c.where(command)
	if err != nil {
		return term.Usage(err)
	}
	plan, err := c.plan(traffic)
	if err != nil {
		return err
	}
	injector := inject.New(plan)
	if c.Control != "" {
		stop, err := c.control(ctx, env, injector, traffic)
		if err != nil {
			return err
		}
		defer stop()
	}
	switch {
	case traffic == inject.Stdio:
		err = relay(ctx, env, command, func(p pipes) error {
			r := &inject.Relay{Injector: injector, FromClient: env.Stdin, ToClient: env.Stdout, FromServer: p.out, ToServer: p.in}
			r.Exit = p.kill
			return r.Run(ctx)
		})
	case c.Proxy:
		err = c.forward(ctx, env, inject.Forward(inject.NewTransport(injector, traffic, direct())), command)
	default:
		front := inject.Front(inject.NewTransport(injector, traffic, direct()), target)
		err = c.serve(ctx, env, front, target)
	}
	_ = injector.Ledger().WriteTable(env.Stderr) // errors do not matter if the terminal is gone
	return err
}

// where returns the kind of traffic, and the server's address.
func (c *injectRun) where(command term.ServerCommand) (inject.Traffic, *url.URL, error) {
	named := 0
	for _, given := range []bool{c.URL != "", c.API != "", c.Proxy, len(command) > 0 && !c.Proxy} {
		if given {
			named++
		}
	}
	if named != 1 {
		return 0, nil, term.Hint(
			errors.New("name exactly one server"), "write the URL of an MCP server, --api URL, --proxy, or -- COMMAND",
		)
	}
	switch {
	case c.Proxy:
		return inject.API, nil, nil
	case len(command) > 0:
		return inject.Stdio, nil, nil
	}
	traffic := inject.MCP
	if c.API != "" {
		traffic = inject.API
	}
	target, err := url.Parse(c.URL + c.API)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return 0, nil, term.Hint(fmt.Errorf("%q is not the URL of a server", c.URL+c.API), "write it as http://127.0.0.1:9101/mcp")
	}
	return traffic, target, nil
}

// plan returns the plan in the file or the flags.
func (c *injectRun) plan(traffic inject.Traffic) (*inject.Plan, error) {
	opts := inject.Options{Traffic: traffic, Contract: load.Contract}
	switch {
	case c.Faults != "" && c.injectFlags != (injectFlags{Seed: c.Seed}):
		return nil, term.Usage(errors.New("--faults already says what fails: leave out the flags for a single fault"))
	case c.Faults != "":
		plan, err := inject.Load(c.Faults, opts)
		if errors.Is(err, os.ErrNotExist) {
			return nil, term.Usage(err)
		}
		if c.Seed != nil && err == nil {
			plan.Seed = *c.Seed
		}
		return plan, err
	}
	name := c.Fault
	switch {
	case name == "" && c.Contract != "":
		name = "contract"
	case name == "" && c.Status != 0:
		name = "status"
	case name == "":
		return nil, term.Usage(term.Hint(
			errors.New("no fault given"), "name one with --fault, --status or --contract, or a file with --faults",
		))
	}
	if c.Times != nil && *c.Times < 1 || c.AtMost != nil && *c.AtMost < 1 {
		return nil, term.Usage(errors.New("--times and --at-most must be at least 1: leave them out for no limit"))
	}
	rule := inject.Rule{
		Times: or(c.Times, 0), Rate: or(c.Rate, 1), AtMost: or(c.AtMost, 0), Effect: c.Effect, Fault: inject.NewFault(name),
	}
	rule.Match.Tool, rule.Match.Method, rule.Match.Path = c.Tool, c.Method, c.Path
	rule.Fault.Status, rule.Fault.Contract = c.Status, c.Contract
	rule.Fault.SetCode(c.Code)
	plan, err := inject.Of(or(c.Seed, 1), rule, opts)
	if err != nil {
		return nil, term.Usage(err)
	}
	return plan, nil
}

// or returns the value of a flag, or otherwise if the flag is not given.
func or[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// direct returns a transport to the servers that uses no other proxy.
func direct() http.RoundTripper {
	return &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}
}

// serve serves the front until ctx ends.
func (c *injectRun) serve(ctx context.Context, env *term.Environment, front http.Handler, target *url.URL) error {
	at, stop, err := listenAt(ctx, c.Listen, front)
	if err != nil {
		return err
	}
	defer stop()
	path := target.Path
	if c.API != "" {
		path = ""
	}
	term.Printf(env.Stderr, "recourse: http://%s%s stands in front of %s\n", at, path, target.Redacted())
	<-ctx.Done()
	return nil
}

// control serves the control API.
func (c *injectRun) control(
	ctx context.Context, env *term.Environment, i *inject.Injector, traffic inject.Traffic,
) (stop func(), err error) {
	if _, _, err := net.SplitHostPort(c.Control); err != nil || !door.IsLoopback(c.Control) {
		return nil, term.Usage(term.Hint(errors.New("--control must be a loopback address"), "write it as 127.0.0.1:8789"))
	}
	at, stop, err := listenAt(ctx, c.Control, inject.Control(i, traffic))
	if err != nil {
		return nil, err
	}
	term.Printf(env.Stderr, "recourse: the control API is at http://%s\n", at)
	return stop, nil
}

// listenAt serves a handler until stop is called.
func listenAt(ctx context.Context, address string, handler http.Handler) (at string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, term.Hint(err, "choose another address")
	}
	ctx, cancel := context.WithCancel(ctx)
	server := inject.Server(handler)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is closed
	}()
	return listener.Addr().String(), func() {
		cancel()           // tunnels
		_ = server.Close() // calls that hang have to end, too
		<-served
	}, nil
}

// forward serves a forward proxy until ctx or the command ends.
func (c *injectRun) forward(ctx context.Context, env *term.Environment, proxy http.Handler, command term.ServerCommand) error {
	at, stop, err := listenAt(ctx, c.Listen, proxy)
	if err != nil {
		return err
	}
	defer stop()
	if len(command) == 0 {
		term.Printf(env.Stderr, "recourse: http://%s is a forward proxy\n", at)
		<-ctx.Done()
		return nil
	}
	cmd := child(ctx, env, command)
	cmd.Stdin, cmd.Stdout = env.Stdin, env.Stdout
	cmd.Env = append(cmd.Env, "HTTP_PROXY=http://"+at, "http_proxy=http://"+at, "HTTPS_PROXY=http://"+at, "https_proxy=http://"+at)
	return ended(ctx, command, cmd.Run())
}
