// Package cli holds the commands of the program recourse.
//
// Each command is a struct in its own file, with its flags and arguments as fields and a Run method.
// Run starts a command, so tests can start the real program without a process.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/recoursehq/recourse/internal/demo"
	"github.com/recoursehq/recourse/internal/hosts"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// Environment is the input and output of a command.
type Environment struct {
	Args      []string // without the program's name
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(name string) (string, bool)
	Environ   []string      // all of it, as NAME=value; the child of wrap gets it
	Poll      time.Duration // how often serve checks its files for changes; 0: 2 s
}

// Exit codes. They are stable.
const (
	ExitOK      = 0 // done; for serve: stopped by a signal, with all calls answered
	ExitFailure = 1 // a failure that is reported on standard error
	ExitUsage   = 2 // wrong usage, or a mistake in a configuration or contract file; for call: wrong arguments

	// The codes of a tool call that failed.

	ExitAuth      = 3 // credentials or permission
	ExitNotFound  = 4 // what the call is about does not exist
	ExitTransient = 5 // may succeed later
)

// commands is the command line.
type commands struct {
	Init     initCommand     `cmd:"" help:"Write a first, commented configuration."`
	Serve    serveCommand    `cmd:"" help:"Run the gateway in front of MCP servers."`
	Wrap     wrapCommand     `cmd:"" help:"Run a stdio MCP server behind Recourse, for a desktop host."`
	Install  installCommand  `cmd:"" help:"Wrap the MCP servers listed in a desktop host's file."`
	Call     callCommand     `cmd:"" help:"Call a tool of an MCP server, with an exit code for each sort of failure."`
	Tools    toolsCommand    `cmd:"" help:"List the tools of an MCP server."`
	Failures failuresCommand `cmd:"" help:"List the calls that failed, from a gateway's journal."`
	Explain  explainCommand  `cmd:"" help:"Show how an MCP server's answer is read, or what happened to a request."`
	Import   importCommand   `cmd:"" help:"Draft a configuration from the description of an HTTP API."`
	Contract contractCommand `cmd:"" help:"List, show and check contracts."`
	Key      keyCommand      `cmd:"" help:"Make, list and revoke API keys of callers."`
	Inject   injectCommand   `cmd:"" help:"Make calls fail on purpose, between a client and a server."`
	Demo     demoCommand     `cmd:"" help:"Show a failing server with and without the gateway."`
	Simulate simulateCommand `cmd:"" help:"Run scripted agents against a failing server in virtual time, and count the results."`
	Schema   schemaCommand   `cmd:"" help:"Print the JSON Schema of a kind of file, for editors."`
	Version  versionCommand  `cmd:"" help:"Print the version."`

	Connections connectionsCommand `cmd:"" help:"List the accounts that callers have connected, and remove them."`

	Completion completionCommand `cmd:"" help:"Print a shell script that completes commands, flags and names."`
	Complete   completeCommand   `cmd:"" hidden:""`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// description follows the usage line of recourse --help.
const description = `Recourse puts a contract on the failures of MCP servers: what happened, whose fault it is, ` +
	`whether anything was changed, and what to do next.`

// Main runs the program in the process's own environment and returns its exit code. SIGTERM or Ctrl-C
// stops it gracefully, a second one immediately.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, Environment{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Environ: os.Environ(),
	})
}

// Run runs the command in the arguments until it is done or ctx ends, and returns the program's exit
// code.
func Run(ctx context.Context, env Environment) (code int) {
	var c commands
	exited := -1
	args, command := splitArgs(env.Args)
	parser, err := kong.New(&c,
		kong.Name("recourse"), kong.Description(description),
		kong.Vars{"systems": strings.Join(demo.Systems(), ", "), "version": versionLine(), "hosts": strings.Join(hosts.Names(), ", ")},
		kong.Writers(env.Stdout, env.Stderr), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(&env, command),
	)
	if err != nil {
		return report(env.painter(env.Stderr), err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	chosen, err := parser.Parse(args)
	if exited >= 0 { // --help has been printed
		return exited
	}
	if err != nil {
		return report(env.painter(env.Stderr), parseError(err))
	}
	if err := chosen.Run(); err != nil {
		return report(env.painter(env.Stderr), explained(err, chosen.Selected().Path()))
	}
	return ExitOK
}

// explained adds the command's help as the hint to an error, if it is a command-line mistake without a
// hint.
func explained(err error, command string) error {
	_, isUsage := errors.AsType[*usageError](err)
	if _, isHinted := errors.AsType[*hintedError](err); !isUsage || isHinted {
		return err
	}
	return &hintedError{err, "`recourse " + command + " --help` explains it, with an example"}
}

// notOneOf matches kong's message about a value that is not in a list.
var notOneOf = regexp.MustCompile(`^(\S+) must be one of (.+) but got (".*")$`)

// parseError returns a command-line mistake, with the help that explains it.
func parseError(err error) error {
	text, command := err.Error(), "COMMAND"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil && parse.Context.Selected() != nil {
		command = parse.Context.Selected().Path()
		if strings.HasPrefix(text, "expected one of ") {
			text = "missing: one of " + strings.Join(namesOf(parse.Context.Selected().Children), ", ")
		}
	} else if name, ok := strings.CutPrefix(text, "unexpected argument "); ok {
		text = "there is no command " + strings.Trim(name, `"`)
	}
	if missing, ok := strings.CutPrefix(text, "expected \"<"); ok {
		text = "missing: <" + strings.TrimSuffix(strings.ReplaceAll(missing, `"`, ""), " ...")
	}
	if m := notOneOf.FindStringSubmatch(text); m != nil {
		text = m[1] + " must be one of " + strings.ReplaceAll(strings.ReplaceAll(m[2], `"`, ""), ",", ", ") + "; not " + m[3]
	}
	if before, _, isDuration := strings.Cut(text, ": time: "); isDuration {
		text = strings.Replace(before, "expected duration", "expected a duration such as 30s", 1)
	}
	if command == "COMMAND" {
		return &usageError{errors.New(text)}
	}
	return explained(&usageError{errors.New(text)}, command)
}

// namesOf returns the names of the visible commands.
func namesOf(commands []*kong.Node) []string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// A serverCommand is the command and arguments of a server, behind --.
type serverCommand []string

// splitArgs separates the program's own arguments from a server's command, which kong cannot
// distinguish from a list of files. For wrap and complete, all arguments are that command.
func splitArgs(args []string) (own []string, command serverCommand) {
	at := slices.Index(args, "--")
	if at < 0 || args[0] == "wrap" || args[0] == "complete" {
		return args, nil
	}
	return args[:at], args[at+1:]
}

// A usageError is a command-line mistake.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// A hintedError is an error with advice.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// report prints an error and its hint, and returns its exit code.
func report(out painter, err error) int {
	if mistakes, ok := errors.AsType[strictyaml.Errors](err); ok {
		noun := "problems"
		if len(mistakes) == 1 {
			noun = "problem"
		}
		out.printf(plain, "%s\n", mistakes)
		out.errorf("found %d %s", len(mistakes), noun)
		out.hintf("fix the %s marked above", noun)
		return ExitUsage
	}
	if failed, ok := errors.AsType[*callError](err); ok {
		return failed.print(out)
	}
	out.errorf("%s", strings.TrimSuffix(err.Error(), "."))
	_, usage := errors.AsType[*usageError](err)
	hinted, ok := errors.AsType[*hintedError](err)
	switch {
	case ok:
		out.hintf("%s", hinted.hint)
	case usage:
		out.hintf("recourse --help lists the commands, recourse COMMAND --help explains one")
	}
	if usage {
		return ExitUsage
	}
	return ExitFailure
}

// printf prints text that may contain output of a server.
func printf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, shown(fmt.Sprintf(format, args...))) // errors do not matter if the terminal is gone
}

// shown escapes the control characters in text the way JSON does: a terminal would obey them, and a
// server must not overwrite what is said about it. JSON is unchanged.
func shown(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	isObeyed := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if !strings.ContainsFunc(text, isObeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isObeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
