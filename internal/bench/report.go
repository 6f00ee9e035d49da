package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// printComparisons prints a table for each way of answering.
func printComparisons(out io.Writer, all []*comparison) error {
	for _, answers := range []struct{ path, title, columns string }{
		{pathJSON, "echo over a session, answered with one JSON text", "x ReverseProxy\tx BufferPool"},
		{pathEvents, "echo over a session, answered with an event stream", "x ReverseProxy\tx BufferPool"},
		{pathChild, "echo of a child process", "x direct\tx one at a time"},
		{pathWaiting, "echo of a child process that takes 1 ms for each call", "x direct\tx one at a time"},
	} {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		rows := 0
		for _, c := range all {
			if c.path != answers.path {
				continue
			}
			if rows == 0 {
				fmt.Fprintln(out, answers.title)
				const heads = "size\tcallers\tthrough\tcalls/s\tp50\tp99\tadded p50\t%s\tgarbage/call\tprocessor/call\t\n"
				fmt.Fprintf(table, heads, answers.columns)
			}
			rows++
			for v := range c.names {
				printVariant(table, c, v)
			}
			fmt.Fprint(table, "\t\t\t\t\t\t\t\t\t\t\t\n")
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func printVariant(table io.Writer, c *comparison, v int) {
	rate := c.of(v, func(s slice) float64 { return s.rate })
	p50 := c.of(v, func(s slice) float64 { return float64(s.p50) })
	p99 := c.of(v, func(s slice) float64 { return float64(s.p99) })
	added, garbage, processor := "", "", ""
	if v != direct { // the server's garbage is not the gateway's
		added = micros(c.added(v))
	}
	if bytes := c.garbage(v); v != direct && bytes > 0 {
		garbage = fmt.Sprintf("%.1f KB", bytes/kilobyte)
	}
	if took := c.processor(v); v != direct && took > 0 {
		processor = micros(took)
	}
	bases := [2]int{bare, pooled}
	if c.isChild() {
		bases = [2]int{direct, single}
	}
	fmt.Fprintf(table, "%d B\t%d\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.size, c.callers, c.names[v],
		rate, micros(p50), micros(p99), added, c.multiple(v, bases[0]), c.multiple(v, bases[1]), garbage, processor)
}

// multiple returns v's throughput as a multiple of base's, if there is one.
func (c *comparison) multiple(v, base int) string {
	if base >= len(c.names) {
		return ""
	}
	return fmt.Sprintf("%.2f", c.throughput(v, base))
}

// micros returns nanoseconds as microseconds, with the unit.
func micros(nanoseconds float64) string {
	return fmt.Sprintf("%.0f us", nanoseconds/float64(time.Microsecond))
}
