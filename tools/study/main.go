// Command study checks public MCP servers, bare and behind the gateway, and counts the findings. `make study` writes docs/study.md
// with it.
//
//	go run . [-env DIR] [-only NAMES] [-again] [-write FILE]
//
//	servers.txt -- install --> recourse check --json -- SERVER                     --> NAME/bare.json
//	                           recourse check --json -- recourse wrap -- SERVER    --> NAME/behind.json --> the page: counts
//
// Reports are kept in DIR, and a server that has both is not checked again. The page names the servers and no one's result.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := study(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "study: error:", err)
		os.Exit(1)
	}
}

// study installs and checks the servers, and writes the page.
func study(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("study", flag.ContinueOnError)
	env := flags.String("env", "../../.tools/study", "the `folder` for the servers and their reports")
	only := flags.String("only", "", "the `names` of the packages to check, with commas; all by default")
	again := flags.Bool("again", false, "check servers that have been checked")
	write := flags.String("write", "", "the `file` to write the page to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := filepath.Abs(*env)
	if err != nil {
		return err
	}
	recourse := filepath.Join(dir, "recourse")
	if err := run(ctx, "../..", nil, "go", "build", "-o", recourse, "./cmd/recourse"); err != nil {
		return err
	}
	servers, err := readServers(dir)
	if err != nil {
		return err
	}
	chosen := slices.Clone(servers)
	if *only != "" {
		chosen = slices.DeleteFunc(chosen, func(s *published) bool { return !slices.Contains(strings.Split(*only, ","), s.pkg) })
	}
	if err := checkAll(ctx, recourse, chosen, *again); err != nil || *write == "" {
		return err
	}
	return writePage(*write, servers)
}

// jobs is how many servers are installed and checked at once.
const jobs = 2

// checkAll checks servers. One that cannot be checked does not keep the others from it.
func checkAll(ctx context.Context, recourse string, servers []*published, again bool) error {
	queue := make(chan *published)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range jobs {
		workers.Go(func() {
			for s := range queue {
				if err := s.check(ctx, recourse, again); err != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", s.pkg, err)
					mu.Lock()
					errs = append(errs, fmt.Errorf("%s: %w", s.pkg, err))
					mu.Unlock()
				}
			}
		})
	}
	for _, s := range servers {
		queue <- s
	}
	close(queue)
	workers.Wait()
	return errors.Join(errs...)
}
