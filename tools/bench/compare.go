package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The names of those variants, of ways to the server, that others are compared with, or that have budgets.
const (
	direct  = "direct"
	bare    = "ReverseProxy"
	pooled  = "with BufferPool"
	gated   = "recourse"
	most    = "with most turned on"
	wrapped = "recourse wrap"
)

// A setting is what is called, and by how many.
type setting struct {
	path    string
	size    int // of the echoed text, in bytes
	callers int
}

var settings = []setting{
	{pathJSON, 1000, 1},
	{pathJSON, 1000, 32},
	{pathJSON, 10_000, 32},
	{pathEvents, 1000, 1},
	{pathEvents, 1000, 32},
	{pathChild, 1000, 1},
}

// String returns the setting in the form of -run, such as json/1000/32.
func (s setting) String() string {
	return fmt.Sprintf("%s/%d/%d", strings.Split(s.path, "/")[1], s.size, s.callers)
}

// A sample is what a variant achieved in one round: of the processor and the heap, what its process used for a call.
type sample struct {
	rate               float64 // calls a second
	p50, p99           float64 // nanoseconds
	garbage, processor float64 // bytes, nanoseconds
}

// A comparison has what all variants achieved, round by round.
type comparison struct {
	setting

	names  []string // of the variants
	rounds []map[string]sample
}

// compareAll measures the settings that are asked for.
func compareAll(ctx context.Context, o *options) (measured map[setting]*comparison, err error) {
	var overHTTP, pipes processes
	defer func() { err = errors.Join(err, pipes.stop(), overHTTP.stop()) }()
	if err := overHTTP.startAll(ctx, o); err != nil {
		return nil, err
	}
	for _, way := range [][2]string{{direct, roleChild}, {wrapped, roleWrap}} {
		p, err := pipes.launch(ctx, o, way[0], o.self, way[1], o.self)
		if err != nil {
			return nil, err
		}
		if a, err := p.do([]byte(initialize + "\n" + initialized + "\n")); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", p.name, err, a.body)
		}
	}
	gateway := overHTTP[slices.IndexFunc(overHTTP, func(p *process) bool { return p.name == gated })]
	measured = map[setting]*comparison{}
	for _, s := range settings {
		variants := overHTTP
		if s.path == pathChild {
			variants = append(slices.Clone(pipes), gateway)
		}
		if !o.wants(s.String()) {
			continue
		}
		if measured[s], err = compare(ctx, o, s, variants); err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return measured, nil
}

// startAll starts the server, and everything that is in front of it.
func (all *processes) startAll(ctx context.Context, o *options) error {
	server, err := all.start(ctx, o, direct, roleServer)
	if err != nil {
		return err
	}
	_, failedBare := all.start(ctx, o, bare, roleProxy, server.address)
	_, failedPooled := all.start(ctx, o, pooled, rolePooled, server.address)
	_, failed := all.gateway(ctx, o, gated, o.self, server, feature{})
	_, failedMost := all.gateway(ctx, o, most, o.self, server, mostFeatures)
	if o.against != "" {
		_, err = all.gateway(ctx, o, "recourse, of "+o.against, o.against, server, feature{})
	}
	return errors.Join(err, failedBare, failedPooled, failed, failedMost,
		all.installed(ctx, o, server, "haproxy", haproxyConfig, "-db", "-f"),
		all.installed(ctx, o, server, "nginx", nginxConfig, "-p", o.dir, "-c"))
}

// compare measures all variants in rounds, each of which begins with another one, so that a machine that becomes slower or faster affects
// all of them.
func compare(ctx context.Context, o *options, s setting, all processes) (c *comparison, err error) {
	var awake processes
	defer func() { err = errors.Join(err, awake.stop()) }()
	if chrt, failed := exec.LookPath("chrt"); failed == nil && s.callers == 1 {
		for range runtime.NumCPU() {
			if _, err := awake.launch(ctx, o, "awake", chrt, "--idle", "0", o.self, roleAwake); err != nil {
				return nil, err
			}
		}
	}
	c = &comparison{setting: s}
	connected := make([]callers, len(all))
	defer func() {
		for _, callers := range connected {
			callers.close()
		}
	}()
	for i, p := range all {
		c.names = append(c.names, p.name)
		if connected[i], err = p.connect(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if !p.warm { // until its first garbage collection, most memory is new to the system, page by page
			if _, _, err := connected[i].echo(ctx, 3*o.benchtime); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
		p.warm = true
	}
	for round := range o.rounds {
		row := map[string]sample{}
		for i := range all {
			at := (round + i) % len(all)
			if row[c.names[at]], err = all[at].measure(ctx, connected[at], o.benchtime); err != nil {
				return nil, fmt.Errorf("%s: %w", c.names[at], err)
			}
		}
		c.rounds = append(c.rounds, row)
	}
	return c, nil
}

func (p *process) connect(ctx context.Context, s setting) (callers, error) {
	switch {
	case p.address == "":
		return callers{prepare(p.do, echoText(s.size), func(message string) []byte { return []byte(message + "\n") })}, nil
	case p.name == most:
		return newCallers(ctx, s.callers, p.address, s.path, echoText(s.size), "Authorization: Bearer "+apiKey)
	default:
		return newCallers(ctx, s.callers, p.address, s.path, echoText(s.size))
	}
}

// measure lets all call for about d, after a warm-up.
func (p *process) measure(ctx context.Context, all callers, d time.Duration) (s sample, err error) {
	if _, _, err := all.echo(ctx, d/5); err != nil {
		return s, err
	}
	before, err := p.usage("")
	if err != nil {
		return s, err
	}
	s, calls, err := all.echo(ctx, d)
	if err != nil {
		return s, err
	}
	after, err := p.usage("")
	s.garbage = float64(after.allocated-before.allocated) / float64(calls)
	s.processor = float64(after.processor-before.processor) / float64(calls)
	return s, err
}

// median returns the median of f over the rounds, or NaN if there are none.
func (c *comparison) median(f func(round map[string]sample) float64) float64 {
	if c == nil {
		return math.NaN()
	}
	var values []float64
	for _, round := range c.rounds {
		values = append(values, f(round))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// throughput returns the calls per second of a variant as a multiple of base's in the same round.
func (c *comparison) throughput(name, base string) float64 {
	return c.median(func(round map[string]sample) float64 { return round[name].rate / round[base].rate })
}

// added returns what a variant adds to the p50 of the direct call in the same round, in microseconds.
func (c *comparison) added(name string) float64 {
	return c.median(func(round map[string]sample) float64 { return (round[name].p50 - round[direct].p50) / microsecond })
}

// garbage returns what the variant's process allocates per call, in kilobytes.
func (c *comparison) garbage(name string) float64 {
	return c.median(func(round map[string]sample) float64 { return round[name].garbage / kilobyte })
}

// print prints a table.
func (c *comparison) print(out io.Writer) error {
	fmt.Fprintf(out, "%s: an echo of %d B, of %d callers\n", c.setting, c.size, c.callers)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "through\tcalls/s\tp50\tp99\tadded p50\tx %s\tx BufferPool\tgarbage/call\tprocessor/call\t\n", bare)
	for _, name := range c.names {
		of := func(unit float64, f func(sample) float64) float64 {
			return c.median(func(round map[string]sample) float64 { return f(round[name]) / unit })
		}
		cells := []string{
			name,
			cell("%.0f", of(1, func(s sample) float64 { return s.rate })),
			cell("%.0f us", of(microsecond, func(s sample) float64 { return s.p50 })),
			cell("%.0f us", of(microsecond, func(s sample) float64 { return s.p99 })),
			cell("%.0f us", c.added(name)),
			cell("%.2f", c.throughput(name, bare)),
			cell("%.2f", c.throughput(name, pooled)),
			cell("%.1f KB", c.garbage(name)),
			cell("%.0f us", of(microsecond, func(s sample) float64 { return s.processor })),
		}
		fmt.Fprintln(table, strings.Join(cells, "\t")+"\t")
	}
	fmt.Fprintln(table)
	return table.Flush()
}

// cell returns a figure, unless there is none.
func cell(format string, value float64) string {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return ""
	}
	return fmt.Sprintf(format, value)
}
