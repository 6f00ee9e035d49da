// Package term is what a command and its user have between them: standard input and output, the environment, and how text,
// errors and advice are shown.
package term

import (
	"io"
	"maps"
	"strings"
	"time"
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

// Variables returns the environment that a host has chosen for its server, plus the variables of the
// server's entry.
func (env *Environment) Variables(own map[string]string) map[string]string {
	all := make(map[string]string, len(env.Environ)+len(own))
	for _, variable := range env.Environ {
		if name, value, ok := strings.Cut(variable, "="); ok && name != "" { // Windows has some without a name
			all[name] = value
		}
	}
	maps.Copy(all, own)
	return all
}

// A ServerCommand is the command and arguments of a server, behind --.
type ServerCommand []string
