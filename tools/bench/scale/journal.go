package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// journals are full ones, at rates of calls that are kept: as many become due as come, and the process that writes is killed at last.
var journals = subject{name: "journal", of: "kept calls a second", sizes: []int{100, 1000}, most: 5000, measure: measureJournal}

const (
	roleJournal = "as:journal"
	runs        = 20 * time.Second
	backlog     = 5 * time.Second // of due rows at the beginning
	keep        = time.Hour
	others      = 200_000 // rows that do not become due by their age
)

// playJournal keeps that many calls a second until it is killed, and writes a byte for each.
func playJournal(args []string) error {
	rate, _ := strconv.Atoi(args[1])
	size, _ := strconv.Atoi(args[2])
	s, err := store.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	j := journal.New(s.Journal(), journalSettings(size), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err := j.CountKilled(args[3]); err != nil {
		return err
	}
	began := time.Now()
	for n := 0; ; pause.For(context.Background(), 5*time.Millisecond) {
		for ; n < int(time.Since(began).Seconds()*float64(rate)); n++ {
			j.Ended(outcome(n))
			if _, err := os.Stdout.Write([]byte{'.'}); err != nil {
				return err
			}
		}
	}
}

func journalSettings(size int) *config.Journal {
	return &config.Journal{Failures: true, Successes: 1, Keep: keep, MaxSize: strictyaml.Size(size), Arguments: config.ArgumentsMasked}
}

// outcome is the n-th call, about as large as its row in [fill].
func outcome(n int) *observe.Outcome {
	now := time.Now()
	return &observe.Outcome{
		ID: fmt.Sprintf("req-%024x", uint64(n)*2654435761), Server: fmt.Sprint("server-", n%servers), Tool: fmt.Sprint("tool-", n%40),
		Name: fmt.Sprint("tool-", n%40), Contract: "recourse", Method: "tools/call", End: observe.Failed, Began: now.Add(-time.Second),
		Took:   time.Second,
		Record: recourse.Timeout("It", time.Second).WithOrigin(recourse.OriginServer), Status: 200, Bytes: 853, Sent: 2,
		Peer:   "127.0.0.1:44974",
		Reason: "gave up after 2 attempts", Attempts: []observe.Attempt{
			{Began: now.Add(-time.Second), Took: 20 * time.Millisecond, Failure: recourse.KindUnreachable, Reason: "the tool only reads"},
			{Began: now.Add(-time.Second / 2), Took: 200 * time.Millisecond, Status: 503, Failure: recourse.KindUnavailable},
		},
	}
}

func measureJournal(ctx context.Context, n int) (figures []figure, err error) {
	return figures, databases(ctx, func(kind, address string) error {
		s, err := store.Open(ctx, address)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := fillUntil(ctx, s, int((runs+backlog).Seconds())*n, time.Now().Add(-keep-backlog), runs+backlog); err != nil {
			return err
		}
		if err := fillUntil(ctx, s, others, time.Now().Add(-keep/2), keep/2); err != nil {
			return err
		}
		full, err := s.Journal().Size(ctx)
		if err != nil {
			return err
		}
		w, err := watch(ctx, s, address, n, int(full))
		if err != nil {
			return err
		}
		for _, f := range []figure{
			{"due rows at the beginning", w.first},
			{"due rows at the end", w.due},
			{"processor, ms a second", w.processor},
			{"file, times max_size", w.file / float64(full)},
			{"rows lost to kill -9, in ms", w.lost / float64(n) * 1000},
			{"of which counted afterwards", w.counted / float64(n) * 1000},
		} {
			figures = append(figures, figure{kind + ": " + f.name, f.value})
		}
		return nil
	})
}

// watched is what was seen of a journal.
type watched struct{ first, due, processor, file, lost, counted float64 }

// watch lets a process keep calls for a while, and kills it.
func watch(ctx context.Context, s *store.Store, address string, rate, size int) (w watched, err error) {
	self, err := os.Executable()
	if err != nil {
		return w, err
	}
	dir, err := os.MkdirTemp("", "scale-")
	if err != nil {
		return w, err
	}
	defer os.RemoveAll(dir)
	prefix := filepath.Join(dir, "unwritten-")
	last, err := s.Journal().Last(ctx)
	if err != nil {
		return w, err
	}
	child := exec.CommandContext(ctx, self, roleJournal, address, strconv.Itoa(rate), strconv.Itoa(size), prefix)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return w, err
	}
	w.first = float64(due(ctx, s))
	if err := child.Start(); err != nil {
		return w, err
	}
	handed := make(chan int)
	go func() {
		n, buffered := 0, bufio.NewReader(out)
		for ; ; n++ {
			if _, err := buffered.ReadByte(); err != nil {
				handed <- n
				return
			}
		}
	}()
	pause.For(ctx, runs)
	w.due, w.processor = float64(due(ctx, s)), float64((&gatewayProcess{command: child}).processor())/float64(runs)*1000
	w.file = fileSize(ctx, s, address)
	if err := child.Process.Kill(); err != nil {
		return w, err
	}
	all := <-handed
	_ = child.Wait() // it was killed
	written, err := s.Journal().Find(ctx, &store.Filter{After: last, Limit: 1 << 30})
	w.lost = float64(all - len(written))
	if err != nil {
		return w, err
	}
	after := journal.New(s.Journal(), journalSettings(size), slog.New(slog.DiscardHandler))
	err = after.CountKilled(prefix)
	w.counted = float64(after.Stats().Lost)
	after.Close(ctx)
	return w, err
}

// due returns how many rows should have gone.
func due(ctx context.Context, s *store.Store) int {
	rows, _ := s.Journal().Find(ctx, &store.Filter{Until: time.Now().Add(-keep), Limit: 1 << 30})
	return len(rows)
}

func fileSize(ctx context.Context, _ *store.Store, address string) float64 {
	if path, is := strings.CutPrefix(address, "sqlite:"); is {
		info, err := os.Stat(filepath.Clean(path))
		if err != nil {
			return 0
		}
		return float64(info.Size())
	}
	var size float64
	_ = ask(ctx, address, "SELECT pg_total_relation_size('journal')", &size)
	return size
}
