// Package cli is the program recourse: its command line, and its commands. Those that have something in common are in
// packages of their own:
//
//	serve     runs a gateway: serve, wrap, demo
//	client    talks to an MCP server: call, tools
//	storage   looks into the store of a gateway: failures, explain, actions, key, connections
//
// The others are here. All of them use package load, which reads the files that they are given, and package term, which shows
// what they say.
//
// Each command is a struct in its own file, with its flags and arguments as fields and a Run method.
// Run starts a command, so tests can start the real program without a process.
package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/demo"
	"github.com/recoursehq/recourse/internal/cli/serve"
	"github.com/recoursehq/recourse/internal/cli/storage"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config/hosts"
)

// Environment is the input and output of a command.
type Environment = term.Environment

// commands is the command line.
type commands struct {
	Init    initCommand       `cmd:"" group:"front" help:"Write a first, commented configuration."`
	Serve   serve.Command     `cmd:"" group:"front" help:"Run the gateway in front of MCP servers."`
	Wrap    serve.WrapCommand `cmd:"" group:"front" help:"Run a stdio MCP server behind Recourse, for a desktop host."`
	Install installCommand    `cmd:"" group:"front" help:"Wrap the MCP servers listed in a desktop host's file."`
	Doctor  doctorCommand     `cmd:"" group:"front" help:"Look for what will go wrong with a configuration."`
	Import  importCommand     `cmd:"" group:"front" help:"Draft a configuration from the description of an HTTP API."`

	Call  client.CallCommand  `cmd:"" group:"call" help:"${commands_call}"`
	Tools client.ToolsCommand `cmd:"" group:"call" help:"List the tools of an MCP server."`
	Check checkCommand        `cmd:"" group:"call" help:"Grade how an MCP server fails, with the line that mends each finding."`

	Failures    storage.FailuresCommand    `cmd:"" group:"look" help:"List the calls that failed, from a gateway's journal."`
	Explain     storage.ExplainCommand     `cmd:"" group:"look" help:"Show how a server's answer is read, or what happened to a request."`
	Actions     storage.ActionsCommand     `cmd:"" group:"look" help:"List what operators have done."`
	Once        storage.OnceCommand        `cmd:"" group:"look" help:"List the calls that are made once, and settle unknown ones."`
	Pin         storage.PinCommand         `cmd:"" group:"look" help:"Show and accept what servers have changed in their tools."`
	Connections storage.ConnectionsCommand `cmd:"" group:"look" help:"List the accounts that callers have connected, and remove them."`
	Key         storage.KeyCommand         `cmd:"" group:"look" help:"Make, list and revoke API keys of callers."`

	Config   configCommand   `cmd:"" group:"write" help:"Show what a configuration says, with the origin of each value."`
	Contract contractCommand `cmd:"" group:"write" help:"List, show and check contracts."`
	Schema   schemaCommand   `cmd:"" group:"write" help:"Print the JSON Schema of a kind of file, for editors."`

	Demo   serve.DemoCommand `cmd:"" group:"fail" help:"Show a failing server with and without the gateway."`
	Inject injectCommand     `cmd:"" group:"fail" help:"Make calls fail on purpose, between a client and a server."`
	Record recordCommand     `cmd:"" group:"fail" help:"Keep a session between a client and a server, without credentials."`
	Replay replayCommand     `cmd:"" group:"fail" help:"Play the server's side of a recorded session."`

	Completion completionCommand `cmd:"" group:"other" help:"Print a shell script that completes commands, flags and names."`
	Version    versionCommand    `cmd:"" group:"other" help:"Print the version."`

	Complete completeCommand `cmd:"" hidden:""`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// groups are the headings under which recourse --help lists the commands, in their order.
var groups = []kong.Group{
	{Key: "front", Title: "In front of servers:"},
	{Key: "call", Title: "At a server:"},
	{Key: "look", Title: "In a gateway's store:"},
	{Key: "write", Title: "Contracts and files:"},
	{Key: "fail", Title: "Failures on purpose:"},
	{Key: "other", Title: "Other:"},
	{Key: "files", Title: "Files:"}, // of recourse check
}

// description follows the usage line of recourse --help.
const description = `Recourse puts a contract on the failures of MCP servers: what happened, whose fault it is, ` +
	`whether anything was changed, and what to do next.`

// Main runs the program in the process's own environment and returns its exit code. SIGTERM or Ctrl-C
// stops it gracefully, a second one immediately; so does the end of its terminal, SIGHUP.
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
		kong.PostBuild(putHelpTexts),
		kong.Vars{"systems": strings.Join(demo.Systems(), ", "), "version": versionLine(), "hosts": strings.Join(hosts.Names(), ", ")},
		kong.Writers(env.Stdout, env.Stderr), kong.Exit(func(code int) { exited = code }),
		kong.ExplicitGroups(groups), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(&env, command),
	)
	if err != nil {
		return fail(&env, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	chosen, err := parser.Parse(args)
	if exited >= 0 { // --help has been printed
		return exited
	}
	if err != nil {
		return fail(&env, parseError(err))
	}
	if chosen.Selected().Path() != "serve" && !signal.Ignored(syscall.SIGHUP) { // serve reads its configuration again
		hungUp, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
		context.AfterFunc(hungUp, stop)
		chosen.BindTo(hungUp, (*context.Context)(nil))
	}
	if err := chosen.Run(); err != nil {
		return fail(&env, explained(err, chosen.Selected().Path()))
	}
	return ExitOK
}

// fail prints an error, and returns its exit code.
func fail(env *Environment, err error) (code int) {
	term.Report(env.Painter(env.Stderr), err)
	return exitCode(err)
}

// explained adds the command's help as the hint to an error, if it is a command-line mistake without a
// hint.
func explained(err error, command string) error {
	if !term.IsUsage(err) || term.HasHint(err) {
		return err
	}
	return term.Hint(err, "`recourse "+command+" --help` explains it, with an example")
}

// choiceError matches kong's message about a value that is not in a list.
var choiceError = regexp.MustCompile(`^(\S+) must be one of (.+) but got (".*")$`)

// gone are the commands that the program once had, with what there is instead.
var gone = map[string]string{
	"simulate": "docs/simulation.md has its figures; in a checkout of the source, `make simulate` takes them anew",
}

// parseError returns a command-line mistake, with the help that explains it.
func parseError(err error) error {
	text, command := err.Error(), "COMMAND"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil && parse.Context.Selected() != nil {
		command = parse.Context.Selected().Path()
		if strings.HasPrefix(text, "expected one of ") {
			text = "missing: one of " + strings.Join(namesOf(parse.Context.Selected().Children), ", ")
		}
	} else if name, ok := strings.CutPrefix(text, "unexpected argument "); ok {
		name = strings.Trim(name, `"`)
		text = "there is no command " + name
		if instead, was := gone[name]; was {
			return term.Hint(term.Usage(errors.New(text+" any more")), instead)
		}
	}
	if missing, ok := strings.CutPrefix(text, "expected \"<"); ok {
		text = "missing: <" + strings.TrimSuffix(strings.ReplaceAll(missing, `"`, ""), " ...")
	}
	if m := choiceError.FindStringSubmatch(text); m != nil {
		text = m[1] + " must be one of " + strings.ReplaceAll(strings.ReplaceAll(m[2], `"`, ""), ",", ", ") + "; not " + m[3]
	}
	if before, _, isDuration := strings.Cut(text, ": time: "); isDuration {
		text = strings.Replace(before, "expected duration", "expected a duration such as 30s", 1)
	}
	if command == "COMMAND" {
		return term.Usage(errors.New(text))
	}
	return explained(term.Usage(errors.New(text)), command)
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

// splitArgs separates the program's own arguments from a server's command, which kong cannot
// distinguish from a list of files. For wrap and complete, all arguments are that command.
func splitArgs(args []string) (own []string, command term.ServerCommand) {
	at := slices.Index(args, "--")
	if at < 0 || args[0] == "wrap" || args[0] == "complete" {
		return args, nil
	}
	return args[:at], args[at+1:]
}
