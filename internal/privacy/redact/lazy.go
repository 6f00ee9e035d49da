package redact

import (
	"regexp"
	"sync"
)

// lazily returns a function that compiles an expression on first use. All expressions together take some milliseconds
// and 2.5 MB, which a program should not spend before there is something to mask.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
