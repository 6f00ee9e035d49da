package contract

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

// offered replaces the server's tool names by the client's in the hints and the verify call of e. Anything
// that names a tool that the client is not offered is left out.
func (c *Contract) offered(e *recourse.Error, call *Call) {
	if call.Offered == nil {
		return
	}
	advised := c.AdvisedTools()
	if e.Verify != nil {
		advised = append(advised, e.Verify.Tool)
	}
	hints := e.Hints
	e.Hints = nil
	for _, hint := range hints {
		if text, ok := call.offeredIn(hint, advised); ok {
			e.Hints = append(e.Hints, text)
		}
	}
	if e.Verify == nil {
		return
	}
	switch name, known := call.Offered(e.Verify.Tool); {
	case !known:
	case name == "":
		e.Verify = nil
	default:
		verify := *e.Verify
		verify.Tool = name
		e.Verify = &verify
	}
}

// offeredIn returns a text with the client's names for the tools in it: those that hints may name, and any
// other word that must be the name of a tool. It reports false if the text names a tool that the client is
// not offered.
func (call *Call) offeredIn(text string, advised []string) (string, bool) {
	called := map[string]bool{}
	for _, found := range calledInProse.FindAllStringSubmatch(text, -1) {
		called[found[1]] = true
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		n := strings.IndexFunc(rest, isWordRune)
		if n < 0 {
			n = len(rest)
		}
		out.WriteString(rest[:n])
		if rest = rest[n:]; rest == "" {
			break
		}
		n = strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) })
		if n < 0 {
			n = len(rest)
		}
		word := rest[:n]
		rest = rest[n:]
		if slices.Contains(advised, word) || looksLikeTool(word, called[word]) || strings.HasPrefix(rest, "(") {
			switch name, known := call.Offered(word); {
			case known && name == "":
				return "", false
			case known:
				word = name
			}
		}
		out.WriteString(word)
	}
	return out.String(), true
}
