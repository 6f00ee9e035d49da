package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/provider"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// checkCommand grades how a server fails.
type checkCommand struct {
	URL      string        `arg:"" optional:"" help:"${check_url}"`
	Header   []string      `placeholder:"HEADER" sep:"none" help:"Header for that server, as 'Name: value'."`
	Mode     string        `enum:"static,safe,owner,wired" default:"safe" help:"How far to go (safe); docs/checks.md."`
	Writes   string        `placeholder:"FILE" help:"Calls that the modes owner and wired may make, in a sandbox."`
	Provider string        `placeholder:"FILE" help:"Recording of what the server's services answer; made if it is not there."`
	Seed     int           `default:"1" placeholder:"NUMBER" help:"Another one for each run in the same sandbox (1)."`
	Contract string        `placeholder:"NAME" help:"Contract that the server promises: a built-in one, or a file."`
	ReadOnly []string      `placeholder:"TOOL" help:"${check_read_only}"`
	Timeout  time.Duration `default:"10s" placeholder:"DURATION" help:"How long an answer may take (10s)."`
	FailOn   string        `enum:"write,hides,leaks,unhelpful,protocol,none" default:"hides" help:"${check_fail_on}"`
	DryRun   bool          `help:"Print what would be called, and call no tool."`
	JSON     bool          `help:"Print the report as JSON."`

	Files checkFiles `embed:""`
}

// Help shows examples.
func (*checkCommand) Help() string {
	return `Grades how an MCP server fails: whether a failure is marked as one, says what to do, and leaves the server alive. ` +
		`Prints each finding with its evidence, and the line of configuration with which the gateway mends it. docs/checks.md explains ` +
		`the rules and the grade. Tools that say that they destroy something are never called. Several files may be asked for at once; ` +
		`- stands for standard output.

Example:

    recourse check -- farmd
    recourse check http://127.0.0.1:9101/mcp --json`
}

// Run checks the server.
func (c *checkCommand) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	to, err := c.server(env, command)
	if err != nil {
		return err
	}
	stdout, err := c.Files.onStdout(c.JSON)
	if err != nil {
		return err
	}
	options, err := c.options()
	if err != nil {
		return err
	}
	if options.Mode == check.Wired && !c.DryRun {
		if options.Provider, err = wire(to, c.Provider); err != nil {
			return err
		}
		defer options.Provider.Close()
	}
	known, err := c.Files.baseline()
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.printPlan(ctx, env, to, options)
	}
	progress := term.NewStatusLine(env.Stderr)
	if progress != nil {
		options.Progress = progress
	}
	report := check.Check(ctx, to, options)
	if progress != nil {
		progress.Clear()
	}
	report.FailOn, report.Target = check.Harm(c.FailOn), c.target(command)
	report.Reach = c.reach(command)
	if known != nil {
		report.Know(known)
	}
	if err := c.Files.write(env, report); err != nil {
		return err
	}
	if !report.Started && !c.JSON {
		return c.cannot(report.Stopped)
	}
	switch {
	case c.JSON:
		text, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
		term.Printf(env.Stdout, "%s\n", text)
	case stdout == "":
		printReport(env, report)
	}
	switch {
	case ctx.Err() != nil: // by its user
		return errors.New("the check was ended before it was done")
	case !report.Checked():
		return c.cannot(report.Stopped)
	case c.Files.WriteBaseline != "": // all of them are known now
		return nil
	default:
		return verdict(report)
	}
}

// target names the server for `recourse call`.
func (c *checkCommand) target(command term.ServerCommand) string {
	mask := redact.New(redact.Secrets)
	if c.URL != "" {
		return "--server " + check.ShellWord(mask.String(c.URL))
	}
	words := []string{"--"}
	for _, word := range command {
		words = append(words, check.ShellWord(mask.String(word)))
	}
	return strings.Join(words, " ")
}

// cannot returns the error for a server that did not begin a session.
func (c *checkCommand) cannot(why string) error {
	err := errors.New("the server cannot be checked: " + why)
	if c.URL != "" && (strings.Contains(why, "401") || strings.Contains(strings.ToLower(why), "credentials")) {
		return term.Hint(err, "it asks for credentials: give them with --header 'Authorization: Bearer TOKEN', or as it expects them")
	}
	return err
}

// wire starts what answers for the services that a program calls, and has the program find it; tape is the file of a recording, or "".
func wire(to server.Server, tape string) (*provider.Proxy, error) {
	program, ok := to.(*server.Program)
	if !ok {
		return nil, term.Usage(errors.New("--mode wired starts the server itself, with a proxy in its environment: give a command"))
	}
	proxy := &provider.Proxy{}
	if tape != "" {
		var err error
		if proxy.Tape, err = provider.OpenTape(tape); err != nil {
			return nil, term.Usage(fmt.Errorf("open the recording of the provider: %w", err))
		}
	}
	if err := proxy.Start(); err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	program.Env = append(slices.Clone(program.Env), proxy.Env()...)
	return proxy, nil
}

// options returns how the server is checked.
func (c *checkCommand) options() (check.Options, error) {
	options := check.Options{Mode: check.Mode(c.Mode), Reads: c.ReadOnly, Seed: c.Seed, Timeout: c.Timeout}
	named := options.Mode == check.Owner || options.Mode == check.Wired
	switch {
	case named && c.Writes == "":
		return options, term.Usage(errors.New("--mode " + c.Mode + " makes the calls of a file: name it with --writes"))
	case !named && c.Writes != "":
		return options, term.Usage(errors.New("--writes goes with --mode owner and --mode wired"))
	case c.Provider != "" && options.Mode != check.Wired:
		return options, term.Usage(errors.New("--provider goes with --mode wired"))
	case c.Writes != "":
		src, err := os.ReadFile(filepath.Clean(c.Writes))
		if err != nil {
			return options, term.Usage(fmt.Errorf("read the writes: %w", err))
		}
		if options.Writes, err = check.ReadWrites(c.Writes, src); err != nil {
			return options, err
		}
	}
	if c.Contract != "" {
		promised, err := load.Contract(c.Contract)
		if err != nil {
			return options, err
		}
		options.Contract = promised
	}
	return options, nil
}

// reach returns the key of a configuration that reaches the server.
func (c *checkCommand) reach(command term.ServerCommand) string {
	mask := redact.New(redact.Secrets)
	if c.URL != "" {
		return "url: " + check.YAMLWord(mask.String(c.URL))
	}
	words := make([]string, 0, len(command))
	for _, word := range command {
		words = append(words, check.YAMLWord(mask.String(word)))
	}
	return "command: [" + strings.Join(words, ", ") + "]"
}

// verdict returns the error for a report with findings that matter.
func verdict(report *check.Report) error {
	if n := report.Failing(); n > 0 {
		return fmt.Errorf("%d of the findings can do harm (--fail-on %s)", n, report.FailOn)
	}
	if n := len(report.Mended); n > 0 {
		err := fmt.Errorf("%d of the findings in the baseline are mended", n)
		return term.Hint(err, "take them out of it, or write it anew with --write-baseline")
	}
	return nil
}

// server returns the server of the command line.
func (c *checkCommand) server(env *term.Environment, command term.ServerCommand) (server.Server, error) {
	switch {
	case c.URL != "" && len(command) > 0:
		return nil, term.Usage(errors.New("a URL and a command name two servers: give only one"))
	case len(command) > 0:
		if err := client.CheckProgram(command); err != nil {
			return nil, term.Usage(err)
		}
		return &server.Program{Command: command, Env: env.Environ, Stderr: client.Stderr(env)}, nil
	case c.URL == "":
		return nil, term.Usage(errors.New("no server given: give its URL, or a command after --"))
	case load.HostOf(c.URL) == "":
		return nil, term.Usage(errors.New("this is not the URL of an MCP server: write it as http://127.0.0.1:8787/farm/mcp"))
	}
	header, err := client.Headers(c.Header)
	if err != nil {
		return nil, term.Usage(err)
	}
	return &server.Endpoint{URL: c.URL, Header: header}, nil
}

// printPlan prints what would be called.
func (c *checkCommand) printPlan(ctx context.Context, env *term.Environment, to server.Server, options check.Options) error {
	steps, err := check.Plan(ctx, to, options)
	if err != nil {
		return err
	}
	for _, step := range steps {
		term.Printf(env.Stdout, "%s\n", step)
	}
	for i := range options.Writes {
		w := &options.Writes[i]
		term.Printf(env.Stdout, "%s %s: %s\n", w.Tool, w.Args, w.What(options.Mode))
	}
	return nil
}
