package serve

import (
	"fmt"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/cli/load"
)

// clientTimeout is how long the clients of most SDKs wait for an answer, unless told otherwise.
const clientTimeout = time.Minute

// warningsOfTimeouts returns which calls may last longer than their clients wait.
func warningsOfTimeouts(r *load.Loaded) (warnings []string) {
	warn := func(whose string, timeout time.Duration) {
		if timeout >= clientTimeout {
			warnings = append(warnings, fmt.Sprintf("%s: its `timeout` of %s is longer than most clients wait (60 s): "+
				"one that has given up never learns what became of the call", whose, recourse.FormatWait(timeout)))
		}
	}
	for _, s := range r.Config.Servers {
		warn("server "+s.Name, s.Timeout)
		for _, tool := range s.Tools {
			warn("server "+s.Name+", tool "+tool.Key, tool.Value.Timeout)
		}
	}
	return warnings
}
