// Command scale measures what grows with a size: how much a figure is at each size, and the power of the size by which it grows. An
// exponent of 0 says that size does not matter, 1 that twice as much takes twice as long.
//
//	go run ./scale SUBJECT [-n SIZE,SIZE...] [-for 5m]
//
// Without a subject, it lists them. Each has a file of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A subject is something that can be measured at several sizes.
type subject struct {
	name, of string // of says what a size counts
	sizes    []int  // by default
	most     int    // larger sizes are refused
	measure  func(ctx context.Context, n int) ([]figure, error)
}

// A figure is one that was measured: the same ones at each size.
type figure struct {
	name  string // with its unit
	value float64
}

var subjects = []subject{
	streams,
	listens,
	lists,
	limits,
	consoles,
	journals,
	restarts,
	scrapes,
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == roleGateway {
		os.Exit(playGateway(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == roleBare {
		os.Exit(playBare(os.Args[2]))
	}
	if len(os.Args) > 5 && os.Args[1] == roleJournal {
		fmt.Fprintln(os.Stderr, playJournal(os.Args[2:]))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scale: error:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	i := slices.IndexFunc(subjects, func(s subject) bool { return len(args) > 0 && s.name == args[0] })
	if i < 0 {
		for _, s := range subjects {
			fmt.Fprintf(out, "%s -n %s (%s, at most %d)\n", s.name, list(s.sizes), s.of, s.most)
		}
		return errors.New("name one of these subjects")
	}
	s := subjects[i]
	flags := flag.NewFlagSet(s.name, flag.ContinueOnError)
	sizes := flags.String("n", list(s.sizes), "sizes: "+s.of)
	within := flags.Duration("for", 5*time.Minute, "how long it may take in all")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var ns []int
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > s.most {
			return fmt.Errorf("%q is no size from 1 to %d", text, s.most)
		}
		ns = append(ns, n)
	}
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	var all [][]figure
	for _, n := range ns {
		figures, err := s.measure(ctx, n)
		if err != nil {
			return fmt.Errorf("%s, %d: %w", s.name, n, err)
		}
		all = append(all, figures)
	}
	return report(out, s, ns, all)
}

func list(ns []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]") }

// report prints a row for each figure: its values by size, and its exponent.
func report(out io.Writer, s subject, ns []int, all [][]figure) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s\t%s\texponent\t\n", s.of, strings.ReplaceAll(list(ns), ",", "\t"))
	for row, first := range all[0] {
		fmt.Fprint(table, first.name)
		values := make([]float64, len(all))
		for i, figures := range all {
			values[i] = figures[row].value
			fmt.Fprintf(table, "\t%.4g", values[i])
		}
		fmt.Fprintf(table, "\t%.2f\t\n", exponent(ns, values))
	}
	return table.Flush()
}

// exponent returns the slope of the straight line through the points when both axes are logarithmic; NaN: there is none.
func exponent(ns []int, values []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i, v := range values {
		x, y := math.Log(float64(ns[i])), math.Log(v)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
