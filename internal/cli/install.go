package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config/hosts"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// installCommand puts the wrapper into hosts files.
type installCommand struct {
	File    string `arg:"" optional:"" help:"${install_file}"`
	Host    string `placeholder:"NAME" help:"Find the files of a host: ${hosts}."`
	DryRun  bool   `help:"Show the diff, and write nothing."`
	Undo    bool   `help:"Remove the wrapper again."`
	Journal bool   `help:"Keep what becomes of calls, where recourse failures finds it without a flag."`
	Status  bool   `help:"Say which servers are wrapped, and start each to see whether it answers."`
}

// Help shows examples.
func (*installCommand) Help() string {
	return `Puts "recourse wrap" in front of every stdio server in the file, shows the diff, and keeps the original as ` +
		`FILE.recourse-backup. Comments, order and formatting of everything else stay. It leaves alone what it cannot wrap, and says ` +
		`why. Run it again after adding servers. Restart the host afterwards.

Example:

    recourse install mcp.json
    recourse install --host cursor --journal
    recourse install --status`
}

// Run rewrites the files, or reports their status.
func (c *installCommand) Run(ctx context.Context, env *term.Environment) error {
	paths, err := c.paths(env)
	if err != nil {
		return err
	}
	if c.Status {
		return c.status(ctx, env, paths)
	}
	var files []*hosts.File
	for _, path := range paths {
		file, err := load.Hosts(path, hosts.LoadSome)
		if _, mistaken := errors.AsType[strictyaml.Errors](err); mistaken && c.Undo && load.IsThere(hosts.Backup(path)) {
			term.Printf(env.Stderr, "recourse: the original without the wrapper is kept as %s\n", hosts.Backup(path))
		}
		if err == nil && c.File != "" {
			err = file.Listed()
		}
		if err != nil {
			return err // before anything is written
		}
		files = append(files, file)
	}
	act := c.install
	if c.Undo {
		act = c.undo
	}
	for i, path := range paths {
		if err := act(env, path, files[i]); err != nil {
			return err
		}
	}
	return nil
}

// paths returns the files to work on.
func (c *installCommand) paths(env *term.Environment) ([]string, error) {
	place := hosts.Environment{GOOS: runtime.GOOS, Lookup: env.LookupEnv, Folder: "."}
	switch {
	case c.Status && (c.Undo || c.DryRun || c.Journal):
		return nil, term.Usage(errors.New("--status writes nothing: leave out --undo, --dry-run and --journal"))
	case c.Undo && c.Journal:
		return nil, term.Usage(errors.New("--undo removes the wrapper with all its flags: leave out --journal"))
	case c.File != "" && c.Host != "":
		return nil, term.Usage(errors.New("--host finds the file itself: leave out FILE"))
	case c.Host != "" && !slices.Contains(hosts.Names(), c.Host):
		return nil, term.Usage(term.Hint(
			fmt.Errorf("there is no host %q", c.Host),
			"the known ones are "+strings.Join(hosts.Names(), ", ")+"; for another one, give its FILE",
		))
	case c.File != "":
		return []string{c.File}, nil
	case c.Host != "":
		if found := place.Found(c.Host); len(found) > 0 {
			return found, nil
		}
		return nil, term.Usage(term.Hint(
			fmt.Errorf("%s has no file here", c.Host),
			"looked for "+strings.Join(place.Files(c.Host), ", ")+"; for another file, give FILE",
		))
	case !c.Status:
		return nil, term.Usage(term.Hint(
			errors.New("no hosts file given"), "give FILE, or --host NAME: "+strings.Join(hosts.Names(), ", "),
		))
	}
	var all []string
	for _, name := range hosts.Names() {
		all = append(all, place.Found(name)...)
	}
	if len(all) == 0 {
		return nil, term.Usage(term.Hint(errors.New("no host has a file here"), "give FILE"))
	}
	return all, nil
}

// install puts the wrapper into a file.
func (c *installCommand) install(env *term.Environment, path string, file *hosts.File) error {
	program, err := thisProgram()
	if err != nil {
		return err
	}
	var flags []string
	if c.Journal {
		flags = []string{"--journal"}
	}
	text, wrapped := file.Wrap(program, flags...)
	if len(file.Servers) == 0 {
		term.Printf(env.Stdout, "%s: nothing to do, it lists no server\n", path)
		return nil
	}
	if len(wrapped) == 0 {
		term.Printf(env.Stdout, "%s: nothing to do; every server that can be wrapped already is\n", path)
		sayLeft(env, file)
		return nil
	}
	showDifference(env, path, file, text)
	if !c.DryRun {
		before, _ := withoutWrapper(path, file)
		if err := hosts.Install(path, text, before); err != nil {
			return err
		}
		term.Printf(env.Stdout, "\nwrapped: %s; the original is %s\n", strings.Join(wrapped, ", "), hosts.Backup(path))
	}
	sayLeft(env, file)
	if !c.DryRun {
		term.Printf(env.Stdout, "%s\n", restart)
	}
	return nil
}

// sayLeft reports which servers are left alone.
func sayLeft(env *term.Environment, file *hosts.File) {
	for _, left := range file.Left() {
		term.Printf(env.Stdout, "left alone: %s: %s\n", left.Name, left.Why)
	}
}

// thisProgram returns the path for hosts to start. A path in a build cache is refused: it is gone once
// the cache is cleaned.
func thisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	inCache := func(folder string) bool { return strings.HasPrefix(folder, "go-build") }
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(filepath.Dir(program)), "/"), inCache) {
		return "", term.Usage(term.Hint(
			errors.New("this program runs from Go's build cache, which is not kept"),
			"install it first: go install ./cmd/recourse",
		))
	}
	return filepath.ToSlash(program), nil
}

// withoutWrapper returns the file without the wrapper, and the names of the servers that had it. The
// backup, if there is one, decides how entries are written.
func withoutWrapper(path string, file *hosts.File) (text []byte, unwrapped []string) {
	kept, err := hosts.ReadBackup(path)
	if err != nil {
		return file.Unwrap(nil)
	}
	before, err := hosts.ParseSome(path, kept)
	if err != nil {
		return file.Unwrap(nil)
	}
	return file.Unwrap(before)
}

// undo removes the wrapper from a file.
func (c *installCommand) undo(env *term.Environment, path string, file *hosts.File) error {
	if _, err := hosts.ReadBackup(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, unwrapped := withoutWrapper(path, file)
	if len(unwrapped) == 0 {
		term.Printf(env.Stdout, "%s: nothing to do; no server is wrapped\n", path)
		return nil
	}
	showDifference(env, path, file, text)
	if c.DryRun {
		return nil
	}
	if err := hosts.Undo(path, text); err != nil {
		return err
	}
	term.Printf(env.Stdout, "\nno longer wrapped: %s. %s\n", strings.Join(unwrapped, ", "), restart)
	return nil
}

// showDifference shows what changes in a file, without the secrets near it.
func showDifference(env *term.Environment, name string, from *hosts.File, to []byte) {
	if !bytes.Equal(from.Text(), to) {
		_, changes, _ := strings.Cut(string(diff.Diff(name, from.Text(), name, to)), "\n") // without the line that names both
		for _, value := range from.Private() {
			changes = strings.ReplaceAll(changes, value, "[private]")
			changes = strings.ReplaceAll(changes, strings.Trim(strconv.Quote(value), `"`), "[private]")
		}
		out := env.Painter(env.Stdout)
		for line := range strings.Lines(redact.Log(changes)) {
			c := term.Plain
			switch line[0] {
			case '+':
				c = term.Green
			case '-':
				c = term.Red
			}
			out.Printf(c, "%s", line)
		}
	}
}

// restart says what is left to do.
const restart = "Restart the host to apply the change."
