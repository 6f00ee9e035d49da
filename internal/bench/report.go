package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// printComparisons prints a table for each way of answering.
func printComparisons(out io.Writer, all []*comparison) error {
	for _, answers := range []struct{ path, title string }{
		{pathJSON, "echo over a session, answered with one JSON text"},
		{pathEvents, "echo over a session, answered with an event stream"},
	} {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		rows := 0
		for _, c := range all {
			if c.path != answers.path {
				continue
			}
			if rows == 0 {
				fmt.Fprintln(out, answers.title)
				fmt.Fprint(table, "size\tcallers\tthrough\tcalls/s\tp50\tp99\tadded p50\tx ReverseProxy\tx BufferPool\tgarbage/call\t\n")
			}
			rows++
			for v := range variants {
				printVariant(table, c, v)
			}
			fmt.Fprint(table, "\t\t\t\t\t\t\t\t\t\t\n")
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
	added, garbage := "", ""
	if v != direct { // the server's own garbage says nothing
		added, garbage = micros(c.added(v)), fmt.Sprintf("%.1f KB", c.garbage(v)/kilobyte)
	}
	fmt.Fprintf(table, "%d B\t%d\t%s\t%.0f\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t\n", c.size, c.callers, variantNames[v],
		rate, micros(p50), micros(p99), added, c.throughput(v, bare), c.throughput(v, pooled), garbage)
}

// micros returns nanoseconds as microseconds, with the unit.
func micros(nanoseconds float64) string {
	return fmt.Sprintf("%.0f us", nanoseconds/float64(time.Microsecond))
}
