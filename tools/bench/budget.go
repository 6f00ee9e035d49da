package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// A promise is a limit for a value.
type promise struct {
	what    string
	least   bool // it is a lower limit
	limit   float64
	unit    string
	slack   float64 // the part of limit by which the value may miss it
	measure float64 // NaN: it was left out
}

const (
	noise       = 0.15 // the slack of times: no machine is quiet
	kilobyte    = 1 << 10
	megabyte    = 1 << 20
	microsecond = 1e3
)

// budgets are what the gateway promises.
func budgets(measured map[setting]*comparison) []promise {
	one, many, child := measured[setting{pathJSON, 1000, 1}], measured[setting{pathJSON, 1000, 32}], measured[setting{pathChild, 1000, 1}]
	large, events := measured[setting{pathJSON, 10_000, 32}], measured[setting{pathEvents, 1000, 32}]
	return []promise{
		{"throughput, 1 KB, 1 caller, against a ReverseProxy with a BufferPool", true, 1, "x", noise, one.throughput(gated, pooled)},
		{"throughput, 1 KB, 32 callers, against the same", true, 1, "x", noise, many.throughput(gated, pooled)},
		{"throughput, 1 KB, 32 callers, with most turned on", true, 1, "x", noise, many.throughput(most, pooled)},
		{"child, 1 KB, 1 caller, added p50 through serve", false, 150, "us", noise, child.added(gated)},
		{"child, 1 KB, 1 caller, added p50 through wrap", false, 150, "us", noise, child.added(wrapped)},
		{"garbage a call, 1 KB, 1 caller", false, 8, "KB", 0, one.garbage(gated)},
		{"garbage a call, 1 KB, 32 callers", false, 8, "KB", 0, many.garbage(gated)},
		{"garbage a call, 1 KB, 32 callers, with most turned on", false, 8, "KB", noise, many.garbage(most)},
		{"garbage a call, 10 KB, 32 callers", false, 20, "KB", 0, large.garbage(gated)},
		{"garbage a call, an event stream of 1 KB, 32 callers", false, 20, "KB", 0, events.garbage(gated)},
	}
}

// verdict says in a word whether the budget is kept, and whether it is missed by more than its slack.
func (b *promise) verdict() (word string, missed bool) {
	over := b.measure/b.limit - 1
	if b.least {
		over = -over
	}
	switch {
	case over <= 0:
		return "kept", false
	case over <= b.slack:
		return fmt.Sprintf("missed by %.1f %%, within %.0f %%", 100*over, 100*b.slack), false
	default:
		return fmt.Sprintf("MISSED BY %.1f %%", 100*over), true
	}
}

// A missedError has the names of the budgets that were missed.
type missedError []string

func (e missedError) Error() string { return "missed: " + strings.Join(e, "; ") }

// printBudgets prints every budget with what was measured. The error is a missedError if any is missed.
func printBudgets(out io.Writer, all []promise) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "budget\tlimit\tmeasured\t\n")
	var missed missedError
	for _, b := range all {
		if math.IsNaN(b.measure) {
			continue
		}
		word, isMissed := b.verdict()
		if isMissed {
			missed = append(missed, b.what)
		}
		fmt.Fprintf(table, "%s\t%g %s\t%.2f %s\t%s\n", b.what, b.limit, b.unit, b.measure, b.unit, word)
	}
	if err := table.Flush(); err != nil || missed == nil {
		return err
	}
	return missed
}
