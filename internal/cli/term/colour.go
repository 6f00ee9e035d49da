package term

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// A Colour is the escape sequence that switches a terminal to it.
type Colour string

// The colours that text is shown in; Plain is the terminal's own.
const (
	Red   Colour = "\x1b[1;31m"
	Green Colour = "\x1b[32m"
	Cyan  Colour = "\x1b[36m"
	Dim   Colour = "\x1b[2m"
	Plain Colour = ""
)

// A Painter writes in colour to a terminal, and without colour elsewhere.
type Painter struct {
	w  io.Writer
	on bool
}

// Painter returns a painter for w: in colour if w is a capable terminal and NO_COLOR is not set
// (https://no-color.org). FORCE_COLOR forces colour elsewhere, too.
func (env *Environment) Painter(w io.Writer) Painter {
	set := func(name string) bool {
		if env.LookupEnv == nil {
			return false
		}
		value, _ := env.LookupEnv(name)
		return value != ""
	}
	switch {
	case set("NO_COLOR"):
		return Painter{w, false}
	case set("FORCE_COLOR"):
		return Painter{w, true}
	default:
		term, known := "", false
		if env.LookupEnv != nil {
			term, known = env.LookupEnv("TERM")
		}
		return Painter{w, IsTerminal(w) && (!known || term != "dumb")}
	}
}

// To returns a painter that writes to w, in colour if p does.
func (p Painter) To(w io.Writer) Painter { return Painter{w, p.on} }

// Printf prints text in a colour; it may contain output of a server.
func (p Painter) Printf(c Colour, format string, args ...any) {
	text := shown(fmt.Sprintf(format, args...))
	if p.on && c != Plain {
		body := strings.TrimRight(text, "\n")
		text = string(c) + body + "\x1b[0m" + text[len(body):]
	}
	_, _ = io.WriteString(p.w, text) // errors do not matter if the terminal is gone
}

// errorf prints the line with the error.
func (p Painter) errorf(format string, args ...any) {
	p.Printf(Red, "recourse: error:")
	p.Printf(Plain, " "+format+"\n", args...)
}

// hintf prints the line with the advice.
func (p Painter) hintf(format string, args ...any) {
	p.Printf(Cyan, "hint:")
	p.Printf(Plain, " "+format+"\n", args...)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
