package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/recoursehq/recourse/internal/hosts"
	"github.com/recoursehq/recourse/internal/redact"
)

// installCommand puts the wrapper into a hosts file.
type installCommand struct {
	File   string `arg:"" help:"File in which a host lists its MCP servers, such as claude_desktop_config.json or .mcp.json."`
	DryRun bool   `help:"Show the difference, and write nothing."`
	Undo   bool   `help:"Put the copy back that was kept."`
}

// Help shows an example.
func (*installCommand) Help() string {
	return `Puts "recourse wrap" in front of every server in the file that is a program, shows the difference, and keeps a copy ` +
		`beside the file, FILE.recourse-backup. Servers with a URL and servers that are wrapped already stay as they are. Restart the ` +
		`host afterwards.

Example:

    recourse install mcp.json`
}

// Run rewrites the file.
func (c *installCommand) Run(env *Environment) error {
	if c.Undo {
		return c.undo(env)
	}
	file, err := loadHosts(c.File)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	text, wrapped := file.Wrap(filepath.ToSlash(program))
	if len(wrapped) == 0 {
		printf(env.Stdout, "%s: nothing to do, every server that is a program is wrapped already\n", c.File)
		return nil
	}
	showDifference(env, c.File, file.Text(), text)
	if c.DryRun {
		return nil
	}
	err = hosts.Install(c.File, text)
	if errors.Is(err, fs.ErrExist) {
		return &hintedError{err, "the copy is from an earlier time: move it elsewhere, or put it back with `recourse install --undo`, " +
			"which loses what was changed since"}
	}
	if err != nil {
		return err
	}
	printf(env.Stdout, "\nwrapped: %s; the file as it was is %s\n%s\n", strings.Join(wrapped, ", "), hosts.Backup(c.File), restart)
	return nil
}

// undo puts the copy back.
func (c *installCommand) undo(env *Environment) error {
	before, err := hosts.ReadBackup(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return &hintedError{
			fmt.Errorf("there is no copy of %s to put back", c.File),
			"`recourse install` keeps one as " + hosts.Backup(c.File),
		}
	}
	if err != nil {
		return err
	}
	now, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the hosts file: %w", err)
	}
	if !bytes.Equal(now, before) {
		showDifference(env, c.File, now, before)
	}
	if c.DryRun {
		return nil
	}
	if err := hosts.Undo(c.File); err != nil {
		return err
	}
	printf(env.Stdout, "\n%s is as it was before. %s\n", c.File, restart)
	return nil
}

// showDifference shows what changes in a file, and not the secrets near it.
func showDifference(env *Environment, name string, from, to []byte) {
	printf(env.Stdout, "%s", redact.Log(string(diff.Diff(name, from, name, to))))
}

// restart is what is left to do.
const restart = "Restart the host, so that it starts its servers anew."

// loadHosts reads a hosts file.
func loadHosts(path string) (*hosts.File, error) {
	file, err := hosts.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &usageError{&hintedError{err, "name the file in which your host lists its MCP servers"}}
	}
	return file, err
}
