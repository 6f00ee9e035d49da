// Command dist builds a release: archives for six platforms, packages for Debian and Red Hat, an image, a
// formula for Homebrew, a bill of materials, and the checksums of all of them.
//
//	go run . -out ../../dist
//
// The same commit, built with the same version of Go, gives the same bytes: every file has the commit's time,
// and everything has a fixed order. SOURCE_DATE_EPOCH, in seconds since 1970, sets another time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	root := flag.String("root", "../..", "the `folder` of the module")
	out := flag.String("out", "../../dist", "the `folder` for what is built; what stands there is removed")
	only := flag.String("platforms", "", "a comma-separated `list` such as linux/amd64; empty: all six")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "dist: takes no arguments, and got %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *root, *out, *only)
	stop()
	if err == nil {
		err = list(os.Stdout, *out)
	}
	if err != nil {
		slog.Error("dist failed", slog.String("cause", err.Error()))
		os.Exit(1)
	}
}

// run builds the release of the module at root into out.
func run(ctx context.Context, root, out, only string) error {
	platforms, err := choose(only)
	if err != nil {
		return err
	}
	if err := prepare(out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "recourse-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r, err := build(ctx, root, work, platforms)
	if err != nil {
		return err
	}
	if err := each(r, out, archives, packages, image, materials); err != nil {
		return err
	}
	if err := formula(r, out); err != nil {
		return err
	}
	return checksums(r, out) // of everything that the others have written
}

// each runs all writers at the same time: most of the time goes into compression, which uses one processor
// each.
func each(r *release, out string, writers ...func(*release, string) error) error {
	errs := make([]error, len(writers))
	var work sync.WaitGroup
	for i, write := range writers {
		work.Go(func() { errs[i] = write(r, out) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// choose returns the platforms in a list, or all of them.
func choose(only string) ([]platform, error) {
	if only == "" {
		return all, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, p := range all {
			if found = p.String() == name; found {
				chosen = append(chosen, p)
				break
			}
		}
		if !found {
			return nil, fmt.Errorf("-platforms: %q is none of %v", name, all)
		}
	}
	return chosen, nil
}

// mark is a file in each folder that dist has made, and may therefore remove.
const mark = "SHA256SUMS"

// prepare makes an empty folder. A folder that dist has not made is left alone.
func prepare(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err), err == nil && len(entries) == 0:
	case err != nil:
		return err
	default:
		if _, err := os.Stat(filepath.Join(dir, mark)); err != nil {
			return fmt.Errorf("%s is not empty and has no %s: it was not made here; name another folder", dir, mark)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// save writes a file of the release.
func save(out, name string, body []byte) error {
	return os.WriteFile(filepath.Join(out, name), body, 0o644)
}

// list prints what has been built.
func list(w io.Writer, out string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%10d  %s\n", info.Size(), entry.Name()); err != nil {
			return err
		}
	}
	return nil
}
