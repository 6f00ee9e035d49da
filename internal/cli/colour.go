package cli

import (
	"fmt"
	"io"
	"strings"
)

// A colour is what makes a terminal show a text in it.
type colour string

const (
	red   colour = "\x1b[1;31m"
	green colour = "\x1b[32m"
	cyan  colour = "\x1b[36m"
	dim   colour = "\x1b[2m"
	plain colour = ""
)

// A painter writes to a terminal in colour, and elsewhere without.
type painter struct {
	w  io.Writer
	on bool
}

// painter returns what writes to w in colour: on a terminal that can, unless NO_COLOR is
// set (https://no-color.org). FORCE_COLOR asks for it elsewhere, too.
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

// printf prints what may hold the words of a server, in a colour.
func (p painter) printf(c colour, format string, args ...any) {
	text := shown(fmt.Sprintf(format, args...))
	if p.on && c != plain {
		body := strings.TrimRight(text, "\n")
		text = string(c) + body + "\x1b[0m" + text[len(body):]
	}
	_, _ = io.WriteString(p.w, text) // a terminal that is gone needs no answer
}

// errorf prints the line that says what is wrong.
func (p painter) errorf(format string, args ...any) {
	p.printf(red, "recourse: error:")
	p.printf(plain, " "+format+"\n", args...)
}

// hintf prints the line that says what to do.
func (p painter) hintf(format string, args ...any) {
	p.printf(cyan, "hint:")
	p.printf(plain, " "+format+"\n", args...)
}
