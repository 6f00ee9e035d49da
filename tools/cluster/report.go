//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// rest waits until everything works again, and ends the gateways, so that their journal is complete.
func (c *cluster) rest(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	for _, n := range c.gateways {
		n.again(ctx, syscall.SIGTERM)
	}
	return c.ready(ctx)
}

var lostCalls = regexp.MustCompile(`"lost":(\d+)`)

// lost returns how many calls the gateways' logs say are missing from the journal.
func (c *cluster) lost() (lost int) {
	for _, n := range c.gateways {
		text, _ := os.ReadFile(filepath.Join(c.dir, n.name+".log")) // one that cannot be read has none
		for _, found := range lostCalls.FindAllSubmatch(text, -1) {
			more, _ := strconv.Atoi(string(found[1])) // always a number
			lost += more
		}
	}
	return lost
}

// report prints what came of everything. It is an error if something is not as promised.
func report(ctx context.Context, out io.Writer, c *cluster, l *load, took time.Duration) error {
	rows, err := c.sql(ctx, "SELECT request_id FROM journal")
	if err != nil {
		return err
	}
	kept := make(map[string]bool, len(rows))
	for _, id := range rows {
		kept[id] = true
	}
	missing, all := map[string]int{}, 0
	for id, during := range l.answered {
		if !kept[id] {
			missing[during]++
			all++
		}
	}
	doubled, wrong, writes := l.judge()
	least, most := l.limits(c.limit)
	falseNone := len(l.found) - l.lost
	ahead := "not, for lack of a C compiler"
	if c.clock != "" {
		ahead = "by 30 s"
	}
	fmt.Fprintf(out, "%d faults in %.0f s; a slow link: %s; Redis's clock jumps: %s\n", c.faults, took.Seconds(), c.slow, ahead)
	fmt.Fprintf(out, "%8d calls, %d without an answer of a gateway\n", len(l.answered)+l.unanswered, l.unanswered)
	for _, kind := range slices.Sorted(maps.Keys(l.failures)) {
		fmt.Fprintf(out, "%8d   %s\n", l.failures[kind], kind)
	}
	fmt.Fprintf(out, "%8d writes; %d orders were repeated for long\n", writes, l.repeated)
	fmt.Fprintf(out, "%8d doubled\n%8d failures with effect none that were written\n", doubled, falseNone)
	fmt.Fprintf(out, "%8d successes that were not written\n%8d orders that never succeeded\n", wrong, l.untold)
	fmt.Fprintf(out, "%8d sessions, %d lost\n", l.sessions, l.lost)
	fmt.Fprintf(out, "%8d calls of a caller in an hour: %d to %d passed\n", c.limit, least, most)
	fmt.Fprintf(out, "%8d calls missing from the journal, %d counted as lost\n", all, c.lost())
	for _, during := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(out, "%8d   while %s\n", missing[during], during)
	}
	for _, each := range l.found[:min(len(l.found), 20)] {
		fmt.Fprintln(os.Stderr, each)
	}
	within := max(int(c.limit)/100, 1)
	switch {
	case doubled+falseNone+wrong+l.untold+l.lost > 0, most > int(c.limit)+within, least < int(c.limit)-within, all > c.lost():
		return errors.New("not all is as promised")
	}
	return nil
}

// judge compares what clients were told with what the server did.
func (l *load) judge() (doubled, wrong, writes int) {
	for reference, times := range l.server.written {
		writes += times
		if times > 1 {
			doubled++
			fmt.Fprintln(os.Stderr, "doubled:", reference, times)
		}
		if said, ok := l.none[reference]; ok {
			l.found = append(l.found, "false none: "+reference+" "+said)
		}
	}
	for _, reference := range l.told {
		if l.server.written[reference] == 0 {
			wrong++
			fmt.Fprintln(os.Stderr, "not written:", reference)
		}
	}
	return doubled, wrong, writes
}

// limits returns how many calls passed of the callers of whom the fewest and the most did, of those who made more than enough.
func (l *load) limits(limit int64) (least, most int) {
	least = int(limit)
	for caller, asked := range l.asked {
		passed := len(l.server.metered[caller])
		if float64(asked) > 1.05*float64(limit) {
			least = min(least, passed)
		}
		most = max(most, passed)
	}
	return least, most
}
