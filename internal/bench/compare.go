package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A variant is a way to the server.
type variant struct {
	name    string
	process *process // between the callers and the server; nil: its usage is not known
	callers callers  // nil: they are made, and reach the process over HTTP
	turns   bool     // they call one at a time
	fields  []string // added to the header of each of their requests
}

// The variants in front of a server over HTTP, followed by those of startOthers, and in front of a child.
const (
	direct = 0

	bare   = 1
	pooled = 2
	gated  = 3

	wrapped = 1
	served  = 2
	single  = 3 // as served, one call at a time
)

// A setting is what is called, and by how many.
type setting struct {
	path    string
	size    int // of the echoed text, in bytes
	callers int
}

// settings returns the settings that are asked for, of children or of the others. They are measured one after the
// other.
func (o *options) settings(children bool) []setting {
	return slices.DeleteFunc(settings(), func(s setting) bool { return s.isChild() != children || !o.wants(s.String()) })
}

func settings() []setting {
	var all []setting
	for _, path := range []string{pathJSON, pathEvents} {
		for _, size := range []int{100, 1000, 10_000} {
			for _, callers := range []int{1, 32} {
				all = append(all, setting{path, size, callers})
			}
		}
	}
	return append(all, childAlone, childBusy, childWaiting)
}

// through returns the variant that is the gateway over HTTP.
func (s setting) through() int {
	if s.isChild() {
		return served
	}
	return gated
}

// isChild reports whether the server is a child process, which speaks over its standard input and output.
func (s setting) isChild() bool { return s.path == pathChild || s.path == pathWaiting }

// String returns the setting in the form of -run, such as json/1000/32.
func (s setting) String() string {
	kind, _, _ := strings.Cut(s.path[1:], "/")
	return fmt.Sprintf("%s/%d/%d", kind, s.size, s.callers)
}

// A slice is what one variant achieved in one round.
type slice struct {
	load

	garbage   float64 // bytes that its process allocated on the heap per call
	processor float64 // nanoseconds of processor time that its process used per call
}

// A comparison has what all variants achieved, round by round.
type comparison struct {
	setting

	names  []string  // of the variants
	rounds [][]slice // of all variants
}

// compareHTTP measures the settings of servers over HTTP.
func (r *results) compareHTTP(ctx context.Context, o *options, dir string, server, gateway *process) (err error) {
	proxy, err := start(ctx, dir, roleProxy, server.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.stop()) }()
	withPool, err := start(ctx, dir, rolePooled, server.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, withPool.stop()) }()
	others, err := startOthers(ctx, dir, server.address)
	defer func() { err = errors.Join(err, stopAll(others)) }()
	if err != nil {
		return err
	}
	for _, s := range o.settings(false) {
		all := []variant{
			direct: {name: "direct", process: server},
			bare:   {name: "ReverseProxy", process: proxy},
			pooled: {name: "with BufferPool", process: withPool},
			gated:  {name: "recourse", process: gateway},
		}
		for _, p := range others {
			all = append(all, variant{name: string(p.role), process: p})
		}
		c, err := compare(ctx, o, dir, s, all)
		if err != nil {
			return err
		}
		r.comparisons = append(r.comparisons, c)
	}
	return nil
}

// connect makes the callers if there are none.
func (v *variant) connect(ctx context.Context, s setting) (err error) {
	if v.callers == nil {
		v.callers, err = newCallers(ctx, s.callers, v.process.address, s.path, echoText(s.size), v.fields...)
	}
	if v.turns {
		v.callers.takeTurns()
	}
	return err
}

// compare measures all variants in rounds, each of which begins with another one, so that a machine that becomes slower
// or faster affects all of them.
func compare(ctx context.Context, o *options, dir string, s setting, all []variant) (c *comparison, err error) {
	defer func() {
		for _, v := range all {
			v.callers.close()
		}
	}()
	if s.callers == 1 && o.awake {
		awake, failed := start(ctx, dir, roleAwake)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, awake.stop()) }() // err is the result
	}
	c = &comparison{setting: s}
	for v := range all {
		if err := all[v].connect(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s, all[v].name, err)
		}
		if err := all[v].warm(ctx, o.benchtime); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s, all[v].name, err)
		}
		c.names = append(c.names, all[v].name)
	}
	for round := range o.rounds {
		row := make([]slice, len(all))
		for i := range all {
			v := (round + i) % len(all)
			var err error
			if row[v], err = all[v].measure(ctx, o.benchtime); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s, all[v].name, err)
			}
		}
		c.rounds = append(c.rounds, row)
	}
	return c, nil
}

// warm makes a new process use the memory that it will keep using. Until its first garbage collection, most memory is
// new to the system, page by page.
func (v *variant) warm(ctx context.Context, benchtime time.Duration) error {
	if p := v.process; p != nil { // otherwise it is as new as its callers
		if p.warm {
			return nil
		}
		p.warm = true
	}
	_, err := v.callers.echo(ctx, 3*benchtime)
	return err
}

func (v *variant) measure(ctx context.Context, benchtime time.Duration) (slice, error) {
	if _, err := v.callers.echo(ctx, benchtime/5); err != nil { // a warm-up
		return slice{}, err
	}
	before, err := v.usage()
	if err != nil {
		return slice{}, err
	}
	done, err := v.callers.echo(ctx, benchtime)
	if err != nil {
		return slice{}, err
	}
	after, err := v.usage()
	if err != nil {
		return slice{}, err
	}
	calls := float64(done.calls)
	return slice{done, float64(after.Allocated-before.Allocated) / calls, float64(after.Processor-before.Processor) / calls}, nil
}

// usage returns what the variant's process has used, or nothing if that is not known.
func (v *variant) usage() (usage, error) {
	if v.process == nil {
		return usage{}, nil
	}
	return v.process.usage(askUsage)
}

// median returns the median of f over the rounds.
func (c *comparison) median(f func(round []slice) float64) float64 {
	var values []float64
	for _, round := range c.rounds {
		values = append(values, f(round))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// of returns the median of f of a variant.
func (c *comparison) of(v int, f func(slice) float64) float64 {
	return c.median(func(round []slice) float64 { return f(round[v]) })
}

// throughput returns the median of v's calls per second as a multiple of base's in the same round.
func (c *comparison) throughput(v, base int) float64 {
	return c.median(func(round []slice) float64 { return round[v].rate / round[base].rate })
}

// added returns the median of what v adds to the p50 of the direct call in the same round, in nanoseconds.
func (c *comparison) added(v int) float64 {
	return c.median(func(round []slice) float64 { return float64(round[v].p50 - round[direct].p50) })
}

// latency returns what v adds to the p50 as a multiple of what base adds.
func (c *comparison) latency(v, base int) float64 {
	return c.median(func(round []slice) float64 {
		return float64(round[v].p50-round[direct].p50) / float64(max(round[base].p50-round[direct].p50, 1))
	})
}

// garbage returns the median of what v's process allocates per call, in bytes.
func (c *comparison) garbage(v int) float64 {
	return c.of(v, func(s slice) float64 { return s.garbage })
}

// processor returns the median processor time of v's process per call, in nanoseconds.
func (c *comparison) processor(v int) float64 {
	return c.of(v, func(s slice) float64 { return s.processor })
}
