package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// results are what was measured. What was left out is nil, or not a number.
type results struct {
	comparisons  []*comparison
	features     *comparison
	growth       float64 // bytes
	session      float64 // bytes
	childSession float64 // bytes
	start        float64 // nanoseconds
	unavailable  float64 // attempts
	refused      float64 // attempts
	translation  cost
	classify     cost
	masking      cost
}

func nothingMeasured() *results {
	none := math.NaN()
	return &results{
		growth: none, session: none, childSession: none, start: none, unavailable: none, refused: none,
		translation: cost{none, none, none}, classify: cost{none, none, none},
		masking: cost{none, none, none},
	}
}

// at returns f of the comparison in a setting, or NaN if that was left out.
func (r *results) at(s setting, f func(*comparison) float64) float64 {
	for _, c := range r.comparisons {
		if c.setting == s {
			return f(c)
		}
	}
	return math.NaN()
}

// most returns the largest f of all comparisons, or NaN if there are none.
func (r *results) most(f func(*comparison) float64) float64 {
	value := math.NaN()
	for _, c := range r.comparisons {
		if now := f(c); math.IsNaN(value) || now > value {
			value = now
		}
	}
	return value
}

// A budget is an upper or lower limit for a value.
type budget struct {
	what    string
	least   bool
	limit   float64 // in unit
	unit    string
	slack   float64 // the part of limit by which the value may miss it
	measure func(*results) float64
}

const (
	// noise is the slack of a ratio of times, or of a difference: no machine is quiet.
	noise = 0.15
	// exactly is the slack of what is counted.
	exactly = 0
)

// machine is the slack of a time that depends on the machine: it is only shown.
var machine = math.Inf(1)

const (
	kilobyte    = 1 << 10
	megabyte    = 1 << 20
	microsecond = 1e3
	millisecond = 1e6
)

var (
	one  = setting{pathJSON, 1000, 1}
	many = setting{pathJSON, 1000, 32}
)

func throughput(s setting, v, base int) func(*results) float64 {
	return func(r *results) float64 {
		return r.at(s, func(c *comparison) float64 { return c.throughput(v, base) })
	}
}

func added(s setting, v int) func(*results) float64 {
	return func(r *results) float64 {
		return r.at(s, func(c *comparison) float64 { return c.added(v) / microsecond })
	}
}

func garbage(s setting, v int) func(*results) float64 {
	return func(r *results) float64 {
		return r.at(s, func(c *comparison) float64 { return c.garbage(v) / kilobyte })
	}
}

// withMost returns f of a gateway with most of the features, or NaN if that was left out.
func withMost(f func(c *comparison, v int) float64) func(*results) float64 {
	return func(r *results) float64 {
		if r.features == nil {
			return math.NaN()
		}
		return f(r.features, slices.Index(r.features.names, mostFeatures))
	}
}

// budgets are what the gateway promises.
var budgets = []budget{
	{"throughput, 1 KB, 1 caller, against a ReverseProxy", true, 1, "x", noise, throughput(one, gated, bare)},
	{"throughput, 1 KB, 32 callers, against a ReverseProxy", true, 1, "x", noise, throughput(many, gated, bare)},
	{"throughput, 1 KB, 1 caller, against one with a BufferPool", true, 1, "x", noise, throughput(one, gated, pooled)},
	{"throughput, 1 KB, 32 callers, against one with a BufferPool", true, 1, "x", noise, throughput(many, gated, pooled)},
	{"added p50, 1 KB, 1 caller, against a ReverseProxy", false, 1, "x", noise, func(r *results) float64 {
		return r.at(one, func(c *comparison) float64 { return c.latency(gated, bare) })
	}},
	{"child, 1 KB, 1 caller, added p50 through serve", false, 150, "us", noise, added(childAlone, served)},
	{"child, 1 KB, 1 caller, added p50 through wrap", false, 150, "us", noise, added(childAlone, wrapped)},
	{"child of 1 ms, 16 callers, serve against one call at a time", true, 3, "x", noise, throughput(childWaiting, served, single)},
	{"child of 1 ms, 16 callers, wrap against one call at a time", true, 3, "x", noise, throughput(childWaiting, wrapped, single)},
	{"start of wrap, beyond the child's own", false, 50, "ms", noise, func(r *results) float64 { return r.start / millisecond }},
	{"garbage a call, 1 KB, 1 caller", false, 8, "KB", exactly, garbage(one, gated)},
	{"garbage a call, 1 KB, 32 callers", false, 8, "KB", exactly, garbage(many, gated)},
	{"throughput, 1 KB, 32 callers, with most turned on", true, 1, "x", noise, withMost(func(c *comparison, v int) float64 {
		return c.throughput(v, bare)
	})},
	{"garbage a call, 1 KB, 32 callers, with most turned on", false, 8, "KB", noise, withMost(func(c *comparison, v int) float64 {
		return c.garbage(v) / kilobyte
	})},
	{"garbage a call, most of all settings", false, 20, "KB", exactly, func(r *results) float64 {
		return r.most(func(c *comparison) float64 { return c.garbage(c.through()) }) / kilobyte
	}},
	{"result of 50 MB, growth of memory", false, 8, "MB", exactly, func(r *results) float64 { return r.growth / megabyte }},
	{"idle session", false, 2, "KB", exactly, func(r *results) float64 { return r.session / kilobyte }},
	{"idle session on a shared child", false, 2, "KB", exactly, func(r *results) float64 { return r.childSession / kilobyte }},
	{"server answers 503, attempts of 1000 calls", false, 1.2*outageCalls + 10, "", exactly, func(r *results) float64 {
		return r.unavailable
	}},
	{"server refuses, attempts of 1000 calls", false, 1.2*outageCalls + 10, "", exactly, func(r *results) float64 { return r.refused }},
	{"failure written or read", false, 20, "us", machine, func(r *results) float64 { return r.translation.time / microsecond }},
	{"failure written or read, garbage", false, 10, "KB", exactly, func(r *results) float64 { return r.translation.bytes / kilobyte }},
	{"failing text of 1 MB masked", false, 10, "ms", machine, func(r *results) float64 { return r.masking.time / millisecond }},
	{"success of 1 KB classified", false, 1, "us", machine, func(r *results) float64 { return r.classify.time / microsecond }},
	{"success of 1 KB classified, allocations", false, 0, "", exactly, func(r *results) float64 { return r.classify.allocs }},
}

// verdict says in a word whether value is within the budget, and whether it misses it by more than its slack.
func (b *budget) verdict(value float64) (word string, missed bool) {
	over := value - b.limit
	if b.least {
		over = -over
	}
	if over <= 0 {
		return "kept", false
	}
	word = "missed"
	if b.limit > 0 {
		word = fmt.Sprintf("missed by %.1f %%", 100*over/b.limit)
	}
	switch {
	case over > b.slack*b.limit:
		return strings.ToUpper(word), true
	case b.slack == machine:
		return word + " on this machine", false
	default:
		return fmt.Sprintf("%s, within %.0f %%", word, 100*b.slack), false
	}
}

// A missedError has the names of the budgets that were missed.
type missedError []string

func (e missedError) Error() string { return "missed: " + strings.Join(e, "; ") }

// printBudgets prints every budget with what was measured. The error is a missedError if any is missed.
func printBudgets(out io.Writer, r *results) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "budget\tlimit\tmeasured\t\n")
	var missed missedError
	for _, b := range budgets {
		value := b.measure(r)
		if math.IsNaN(value) {
			continue
		}
		word, isMissed := b.verdict(value)
		if isMissed {
			missed = append(missed, b.what)
		}
		bound := "at most"
		if b.least {
			bound = "at least"
		}
		fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\n", b.what, bound, quantity(b.limit, b.unit), quantity(value, b.unit), word)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(missed) > 0 {
		return missed
	}
	return nil
}

func quantity(value float64, unit string) string {
	switch unit {
	case "x":
		return fmt.Sprintf("%.2f x", value)
	case "":
		return fmt.Sprintf("%.0f", value)
	default:
		return fmt.Sprintf("%.1f %s", value, unit)
	}
}
