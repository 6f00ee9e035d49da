package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// What stands between the callers and the server.
const (
	direct = iota // nothing
	bare
	pooled
	gated
	variants
)

var variantNames = [variants]string{"direct", "ReverseProxy", "with BufferPool", "recourse"}

// A setting is what is called, and by how many.
type setting struct {
	path    string
	size    int // of the echoed text, in bytes
	callers int
}

// settings are measured one after the other.
func settings() []setting {
	var all []setting
	for _, path := range []string{pathJSON, pathEvents} {
		for _, size := range []int{100, 1000, 10_000} {
			for _, callers := range []int{1, 32} {
				all = append(all, setting{path, size, callers})
			}
		}
	}
	return all
}

// String returns the setting as -run knows it, such as json/1000/32.
func (s setting) String() string {
	kind := "json"
	if s.path == pathEvents {
		kind = "events"
	}
	return fmt.Sprintf("%s/%d/%d", kind, s.size, s.callers)
}

// A slice is what one variant achieved in one round.
type slice struct {
	load

	garbage float64 // bytes that its process allocated on the heap for a call
}

// A comparison holds what all variants achieved, round by round.
type comparison struct {
	setting

	rounds [][variants]slice
}

// compare measures all variants in rounds, each of which begins with another one: a machine that gets slower or faster
// meanwhile does so for all.
func compare(ctx context.Context, s setting, processes [variants]*process, rounds int, benchtime time.Duration) (*comparison, error) {
	var all [variants]callers
	defer func() {
		for _, some := range all {
			some.close()
		}
	}()
	for v, p := range processes {
		var err error
		if all[v], err = newCallers(ctx, s.callers, p.address, s.path, echoText(s.size)); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s, variantNames[v], err)
		}
	}
	c := &comparison{setting: s}
	for round := range rounds {
		var row [variants]slice
		for i := range variants {
			v := (round + i) % variants
			var err error
			if row[v], err = measure(ctx, processes[v], all[v], benchtime); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s, variantNames[v], err)
			}
		}
		c.rounds = append(c.rounds, row)
	}
	return c, nil
}

func measure(ctx context.Context, p *process, all callers, benchtime time.Duration) (slice, error) {
	if _, err := all.echo(ctx, benchtime/5); err != nil { // to warm up
		return slice{}, err
	}
	before, err := p.usage(askUsage)
	if err != nil {
		return slice{}, err
	}
	done, err := all.echo(ctx, benchtime)
	if err != nil {
		return slice{}, err
	}
	after, err := p.usage(askUsage)
	if err != nil {
		return slice{}, err
	}
	return slice{done, float64(after.Allocated-before.Allocated) / float64(done.calls)}, nil
}

// median returns the median over the rounds of what f says of one.
func (c *comparison) median(f func(round [variants]slice) float64) float64 {
	var values []float64
	for _, round := range c.rounds {
		values = append(values, f(round))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// of returns the median of what f says of a variant.
func (c *comparison) of(v int, f func(slice) float64) float64 {
	return c.median(func(round [variants]slice) float64 { return f(round[v]) })
}

// throughput returns the median of v's calls a second as a multiple of base's in the same round.
func (c *comparison) throughput(v, base int) float64 {
	return c.median(func(round [variants]slice) float64 { return round[v].rate / round[base].rate })
}

// added returns the median of what v adds to the p50 of the direct call in the same round, in nanoseconds.
func (c *comparison) added(v int) float64 {
	return c.median(func(round [variants]slice) float64 { return float64(round[v].p50 - round[direct].p50) })
}

// latency returns what v adds to the p50 as a multiple of what base adds.
func (c *comparison) latency(v, base int) float64 {
	return c.median(func(round [variants]slice) float64 {
		return float64(round[v].p50-round[direct].p50) / float64(max(round[base].p50-round[direct].p50, 1))
	})
}

// garbage returns the median of what v's process allocates for a call, in bytes.
func (c *comparison) garbage(v int) float64 {
	return c.of(v, func(s slice) float64 { return s.garbage })
}
