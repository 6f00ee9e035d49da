package cli

import (
	"fmt"
	"io"
	"strings"
)

// A colour is the escape sequence that switches a terminal to it.
type colour string

const (
	red   colour = "\x1b[1;31m"
	green colour = "\x1b[32m"
	cyan  colour = "\x1b[36m"
	dim   colour = "\x1b[2m"
	plain colour = ""
)

// A painter writes in colour to a terminal, and without colour elsewhere.
type painter struct {
	w  io.Writer
	on bool
}

// painter returns a painter for w: in colour if w is a capable terminal and NO_COLOR is not set
// (https://no-color.org). FORCE_COLOR forces colour elsewhere, too.
func (env *Environment) painter(w io.Writer) painter {
	set := func(name string) bool {
		if env.LookupEnv == nil {
			return false
		}
		value, _ := env.LookupEnv(name)
		return value != ""
	}
	switch {
	case set("NO_COLOR"):
		return painter{w, false}
	case set("FORCE_COLOR"):
		return painter{w, true}
	default:
		term, known := "", false
		if env.LookupEnv != nil {
			term, known = env.LookupEnv("TERM")
		}
		return painter{w, isTerminal(w) && (!known || term != "dumb")}
	}
}

// printf prints text in a colour; it may contain output of a server.
func (p painter) printf(c colour, format string, args ...any) {
	text := shown(fmt.Sprintf(format, args...))
	if p.on && c != plain {
		body := strings.TrimRight(text, "\n")
		text = string(c) + body + "\x1b[0m" + text[len(body):]
	}
	_, _ = io.WriteString(p.w, text) // errors do not matter if the terminal is gone
}

// errorf prints the line with the error.
func (p painter) errorf(format string, args ...any) {
	p.printf(red, "recourse: error:")
	p.printf(plain, " "+format+"\n", args...)
}

// hintf prints the line with the advice.
func (p painter) hintf(format string, args ...any) {
	p.printf(cyan, "hint:")
	p.printf(plain, " "+format+"\n", args...)
}
