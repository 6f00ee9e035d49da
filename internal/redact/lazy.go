package redact

import (
	"regexp"
	"sync"
)

// lazily returns what compiles an expression when it is first asked for. All of them
// together take some milliseconds and 2.5 MB, which a program does not spend at its
// start, and not at all as long as there is nothing to mask.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
