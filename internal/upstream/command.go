package upstream

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Share says which clients share a child.
type Share uint8

const (
	// ShareAll is one child for all clients. It is told of no client capabilities, so it never asks anything.
	ShareAll Share = iota
	// ShareClient is a child for each session, so that its questions reach the right client; in the modern
	// era, which has no sessions, it is one for each caller.
	ShareClient
)

// Command says how a stdio server is started, and how long it is kept.
type Command struct {
	// Path is the program: a name, looked up in this process's PATH, or a path, relative to Dir unless it is
	// absolute.
	Path string
	// Args are its arguments, without its name.
	Args []string
	// Env is the child's whole environment, as NAME=value. See [Environ].
	Env []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Share says who shares the child; the zero value is [ShareAll].
	Share Share
	// Idle is how long a child may go without a call before it is stopped. 0 means forever with [ShareAll],
	// where the next call starts another child, and half an hour with [ShareClient], where the session ends
	// with its child, unless the client keeps its stream open.
	Idle time.Duration
	// Local says that the caller has started this process too, and may see the last lines of a program that
	// dies at its start. Others are only told that it died.
	Local bool
	// Patience has the time limits for its processes; the zero value suits programs of strangers.
	Patience Patience
}

// find returns the absolute path of the program, if it can be started in Dir.
func (c *Command) find() (string, error) {
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			return "", fmt.Errorf("working directory: %w", err)
		} else if !info.IsDir() {
			return "", fmt.Errorf("working directory: %s: %w", c.Dir, syscall.ENOTDIR)
		}
	}
	if filepath.Base(c.Path) == c.Path {
		path, err := exec.LookPath(c.Path)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	path := c.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return exec.LookPath(path)
}

// onWindows are more variables without which programs cannot find their files there.
var onWindows = []string{
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Environ returns the environment of a child, sorted: PATH and HOME from lookup, which has the signature of
// os.LookupEnv, on Windows also the variables that every program needs, and env, which takes precedence.
func Environ(lookup func(string) (string, bool), env map[string]string) []string {
	names := []string{"PATH", "HOME"}
	if runtime.GOOS == "windows" {
		names = append(names, onWindows...)
	}
	values := map[string]string{}
	for _, name := range names {
		if value, ok := lookup(name); ok {
			values[name] = value
		}
	}
	for name, value := range env {
		if runtime.GOOS == "windows" { // names are case-insensitive there
			maps.DeleteFunc(values, func(other, _ string) bool { return strings.EqualFold(name, other) })
		}
		values[name] = value
	}
	environ := make([]string, 0, len(values))
	for name, value := range values {
		environ = append(environ, name+"="+value)
	}
	slices.Sort(environ)
	return environ
}
