package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
)

// initCommand writes a first configuration.
type initCommand struct {
	Output   string `short:"o" default:"recourse.yaml" placeholder:"FILE" help:"${init_output}"`
	URL      string `placeholder:"URL" help:"${init_url}"`
	Name     string `placeholder:"NAME" help:"Name of the server: lower-case letters, digits, - and _."`
	Contract string `placeholder:"NAME" help:"Contract in which failures reach clients (default: recourse)."`
	TokenEnv string `placeholder:"VARIABLE" help:"Environment variable with the bearer token that the server needs."`
}

// Help shows examples.
func (*initCommand) Help() string {
	return `Writes a commented configuration, and next to it the schema that editors check it with. It starts or reaches the server ` +
		`once, and notes what that says of itself, which profile fits, and which tools say nothing. Without a server it asks for what it ` +
		`needs. It never replaces an existing file.

Example:

    recourse init --url http://127.0.0.1:9101/mcp --name farm
    recourse init --name files -- npx -y @modelcontextprotocol/server-filesystem .`
}

// schemaFile is the name of the schema beside a configuration.
const schemaFile = "recourse.schema.json"

// Run writes the files.
func (c *initCommand) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	if load.IsThere(c.Output) {
		return term.Usage(term.Hint(
			fmt.Errorf("%s already exists", c.Output), "nothing was written; choose another file with -o, or remove that one",
		))
	}
	if len(command) == 1 && c.URL == "" && load.HostOf(command[0]) != "" {
		c.URL, command = command[0], nil
	}
	if c.URL != "" && len(command) > 0 {
		return term.Usage(errors.New("--url and a command name two servers: give only one"))
	}
	if c.URL == "" && len(command) == 0 {
		var err error
		if command, err = c.ask(env); err != nil {
			return err
		}
	}
	text, err := c.write(command)
	if err != nil {
		return err
	}
	if seen := c.look(ctx, env, command); seen != "" {
		text, _, _ = bytes.Cut(text, []byte("    # tools:"))
		text = append(text, seen...)
	}
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	if err := writeNew(c.Output, text); err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(c.Output), schemaFile)
	if err := os.WriteFile(beside, schema, 0o644); err != nil { //nolint:gosec // everybody may read what is public
		return fmt.Errorf("write the schema: %w", err)
	}
	term.Printf(env.Stdout, "wrote %s, and %s for editors\n\nServe it:\n\n    recourse serve -c %s\n", c.Output, beside, c.Output)
	return nil
}

// writeNew writes a file that does not exist yet.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // a token may be added
	if errors.Is(err, fs.ErrNotExist) {
		return term.Usage(term.Hint(
			fmt.Errorf("the folder %s does not exist", filepath.Dir(path)), "create it, or choose another file with -o",
		))
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// ask asks for what the flags do not specify.
func (c *initCommand) ask(env *term.Environment) (command term.ServerCommand, err error) {
	in := bufio.NewScanner(env.Stdin)
	question := func(text, otherwise string) (string, error) {
		if otherwise != "" {
			text += " [" + otherwise + "]"
		}
		term.Printf(env.Stderr, "%s: ", text)
		if !in.Scan() {
			term.Printf(env.Stderr, "\n")
			return "", term.Usage(term.Hint(
				errors.New("no server given"), "answer the questions, or give --url URL or a command after --",
			))
		}
		if answer := strings.TrimSpace(in.Text()); answer != "" {
			return answer, nil
		}
		return otherwise, nil
	}
	where, err := question("URL of the MCP server, or the command that starts it", "")
	if err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(where, "://"):
		c.URL = where
	case strings.ContainsAny(where, "\"'"):
		return nil, term.Usage(term.Hint(
			errors.New("a command with quotes is not understood here"), "give it after --, as in: recourse init -- COMMAND",
		))
	default:
		command = strings.Fields(where)
	}
	if c.Name == "" {
		if c.Name, err = question("What to call it", c.suggestName(command)); err != nil {
			return nil, err
		}
	}
	if c.Contract == "" {
		text := "Contract in which failures reach clients (" + strings.Join(contract.Builtin().Names(), ", ") + ")"
		if c.Contract, err = question(text, contract.Default); err != nil {
			return nil, err
		}
	}
	if c.URL != "" && c.TokenEnv == "" {
		c.TokenEnv, err = question("Environment variable with a bearer token for it, empty for none", "")
	}
	return command, err
}

// suggestName suggests a name for the server.
func (c *initCommand) suggestName(command term.ServerCommand) string {
	if len(command) > 0 {
		return load.ServerName(programOf(command))
	}
	host, _, _ := strings.Cut(load.HostOf(c.URL), ":")
	if host == "localhost" || net.ParseIP(host) != nil {
		return "server"
	}
	return load.ServerName(strings.TrimPrefix(host, "mcp."))
}

// programOf returns the word of a command that names the server: if the program runs another one, the
// word for that one.
func programOf(command term.ServerCommand) string {
	runners := []string{"npx", "bunx", "uvx", "pipx", "node", "bun", "deno", "python", "python3", "uv", "go", "docker", "podman"}
	if slices.Contains(runners, load.ServerName(command[0])) {
		for _, word := range command[1:] {
			if !strings.HasPrefix(word, "-") && word != "run" && word != "dlx" {
				return word
			}
		}
	}
	return command[0]
}

// inNames matches valid names of servers, and inVariables those of variables.
var (
	inNames     = regexp.MustCompile(`^[a-z0-9_-]+$`)
	inVariables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// write returns the configuration. If it cannot be served, the error says why.
func (c *initCommand) write(command term.ServerCommand) ([]byte, error) {
	if c.Name == "" {
		c.Name = c.suggestName(command)
	}
	if c.Contract == "" {
		c.Contract = contract.Default
	}
	_, known := contract.Builtin().Get(c.Contract)
	switch {
	case len(command) == 0 && load.HostOf(c.URL) == "":
		return nil, term.Usage(term.Hint(errors.New("this is not the URL of an MCP server"), "write it as http://127.0.0.1:9101/mcp"))
	case strings.Contains(c.URL, "@"):
		return nil, term.Usage(term.Hint(
			errors.New("the URL holds credentials"), "leave them out, and name a variable with a bearer token with --token-env",
		))
	case !inNames.MatchString(c.Name):
		return nil, term.Usage(term.Hint(
			fmt.Errorf("%q is not a valid server name", c.Name), "use lower-case letters, digits, - and _",
		))
	case !known:
		return nil, term.Usage(term.Hint(
			fmt.Errorf("there is no contract %q", c.Contract), "the built-in ones are "+strings.Join(contract.Builtin().Names(), ", "),
		))
	case c.TokenEnv != "" && !inVariables.MatchString(c.TokenEnv):
		return nil, term.Usage(term.Hint(
			errors.New("--token-env is not the name of an environment variable"),
			"write it as FARM_TOKEN; the token itself stays out of the file",
		))
	case c.TokenEnv != "" && len(command) > 0:
		return nil, term.Usage(errors.New("--token-env is for a server with a URL: a program gets its variables from `env`"))
	}
	text := []byte(c.text(command))
	_, err := config.Parse(c.Output, text, config.Options{
		KnownContracts: contract.Builtin().Names(), LookupEnv: func(string) (string, bool) { return "token", true },
	})
	return text, err
}

// text returns the text of the configuration.
func (c *initCommand) text(command term.ServerCommand) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# yaml-language-server: $schema=%s
#
# The configuration of Recourse.
#
#   recourse serve --check -c %[2]s   finds mistakes
#   recourse serve -c %[2]s           serves it; changes of this file are followed

listen: 127.0.0.1:8787

servers:
  %[3]s: # clients reach it at http://127.0.0.1:8787/%[3]s/mcp
`, schemaFile, filepath.Base(c.Output), c.Name)
	if len(command) > 0 {
		quoted := make([]string, len(command))
		for i, word := range command {
			quoted[i] = strconv.Quote(strings.ReplaceAll(word, "${", "$${"))
		}
		fmt.Fprintf(&b, "    command: [%s]\n", strings.Join(quoted, ", "))
		b.WriteString("    # env: {TOKEN: \"${TOKEN}\"} # the program gets PATH, HOME and what stands here\n")
	} else {
		fmt.Fprintf(&b, "    url: %s\n", strconv.Quote(strings.ReplaceAll(c.URL, "${", "$${")))
		if c.TokenEnv != "" {
			fmt.Fprintf(&b, "    headers:\n      Authorization: \"Bearer ${%s}\" # from the environment\n", c.TokenEnv)
		} else {
			b.WriteString("    # headers: {Authorization: \"Bearer ${TOKEN}\"} # from the environment\n")
			b.WriteString("    # forward: [authorization] # or each client's own\n")
		}
	}
	fmt.Fprintf(&b, `    contract: %s # built in: %s
    # mode: observe # passes failures on as they came, and logs what it would have done
    # timeout: 45s # without a sign of life; clients of most SDKs wait 60 s
    # tools: # what the server does not say itself
    #   get_*: {read_only: true}
    #   order_create: {verify: {tool: order_get, from: {reference: /reference}}}
`, c.Contract, strings.Join(contract.Builtin().Names(), ", "))
	return b.String()
}
