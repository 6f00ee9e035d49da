package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	running "github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
)

// consoles are the console's pages, of a journal in SQLite and, if SCALE_POSTGRES is the URL of a database that may be emptied, in
// PostgreSQL.
var consoles = subject{
	name: "console", of: "rows of the journal", sizes: []int{10_000, 1_000_000}, most: 5_000_000,
	measure: measureConsole,
}

// databases calls do with the address of an empty store of each kind.
func databases(ctx context.Context, do func(kind, address string) error) error {
	dir, err := os.MkdirTemp("", "scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := do("SQLite", "sqlite:"+filepath.Join(dir, "recourse.db")); err != nil {
		return err
	}
	address := os.Getenv("SCALE_POSTGRES")
	if address == "" {
		return nil
	}
	if err := tell(ctx, address, "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
		return err
	}
	return do("PostgreSQL", address)
}

// tell runs a statement in PostgreSQL.
func tell(ctx context.Context, address, statement string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// ask reads a figure from PostgreSQL.
func ask(ctx context.Context, address, query string, to *float64) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	return errors.Join(db.QueryRowContext(ctx, query).Scan(to), db.Close())
}

func measureConsole(ctx context.Context, n int) (figures []figure, err error) {
	return figures, databases(ctx, func(kind, address string) error {
		s, err := store.Open(ctx, address)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := fill(ctx, s, n); err != nil {
			return err
		}
		for more := true; more; {
			if more, err = s.Journal().Count(ctx, time.Now()); err != nil { // as a gateway does each minute
				return err
			}
		}
		if kind == "PostgreSQL" {
			if err := tell(ctx, address, "VACUUM ANALYZE"); err != nil { // as it does by itself within a minute
				return err
			}
		}
		at, err := pagesOf(s)
		if err != nil {
			return err
		}
		for _, path := range pages(n) {
			took, err := visit(ctx, at, path)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", kind, path, err)
			}
			figures = append(figures, figure{kind + " " + strings.SplitN(path, "=0", 2)[0] + ", ms", took.Seconds() * 1000})
		}
		return nil
	})
}

// pages are the console's pages, those with a filter that is frequent, rare, and never, too.
func pages(n int) []string {
	return []string{
		"/failures", "/failures?since=1h", "/failures?since=24h", "/failures?server=server-1", "/failures?server=rare",
		"/failures?tool=tool-7", "/failures?kind=timeout", "/failures?origin=caller", "/failures?caller=caller-7", "/failures?caller=org-7",
		"/failures?caller=nobody", "/failures?server=server-1&tool=tool-7&kind=conflict",
		"/failures?server=server-1&kind=timeout&since=24h",
		"/failures?text=did+not", "/failures?text=no+such+text", "/failures?group=equal",
		fmt.Sprintf("/failures?before=0%d", time.Now().Add(-12*time.Hour).UnixMicro()<<11),
		"/calls/req-" + fmt.Sprintf("0%023d", n/2), "/servers", "/servers/server-1", "/servers/server-1?since=1h",
		"/servers/server-1?since=7d",
		"/contracts", "/contracts/recourse", "/contracts/recourse/codes/timeout", "/search?q=req-" + fmt.Sprintf("0%023d", n/3),
		"/search?q=it+did+not+answer", "/connections",
	}
}

// visit returns the median time that a page takes.
func visit(ctx context.Context, at http.Handler, path string) (time.Duration, error) {
	var all []time.Duration
	for range 5 {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, http.NoBody)
		w := httptest.NewRecorder()
		began := time.Now()
		at.ServeHTTP(w, r)
		all = append(all, time.Since(began))
		if w.Code >= http.StatusBadRequest {
			return 0, fmt.Errorf("HTTP %d", w.Code)
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// pagesOf returns the console of a gateway with that store.
func pagesOf(s *store.Store) (http.Handler, error) {
	set, quiet := contract.Builtin(), slog.New(slog.DiscardHandler)
	var text strings.Builder
	text.WriteString("servers:\n  rare: {url: 'http://127.0.0.1:1/mcp'}\n")
	for i := range servers {
		fmt.Fprintf(&text, "  server-%d: {url: 'http://127.0.0.1:1/mcp'}\n", i)
	}
	cfg, err := config.Parse("recourse.yaml", []byte(text.String()), config.Options{KnownContracts: set.Names()})
	if err != nil {
		return nil, err
	}
	g, err := running.New(cfg, set, quiet)
	if err != nil {
		return nil, err
	}
	return console.New(console.Sources{Journal: s.Journal(), Pins: s.Pins(), Gateway: g, Tally: console.NewTally()}, quiet).Handler(), nil
}

const servers = 5

// fill writes rows that ended in the last 24 hours. Nine of ten are failures, of 40 tools, 1,000 callers and 50 organisations.
func fill(ctx context.Context, s *store.Store, n int) error {
	return fillUntil(ctx, s, n, time.Now().Add(-24*time.Hour), 24*time.Hour)
}

// fillUntil writes n rows that ended in a time.
func fillUntil(ctx context.Context, s *store.Store, n int, began time.Time, length time.Duration) error {
	const batch = 5000
	j := s.Journal()
	for at := 0; at < n; at += batch {
		var rows []*store.Entry
		for i := at; i < min(at+batch, n); i++ {
			ended := began.Add(time.Duration(float64(i) / float64(n) * float64(length)))
			rows = append(rows, row(i, ended).Entry(ended.UnixMicro()<<11|int64(i&2047)))
		}
		if _, err := j.Append(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// row is the i-th call.
func row(i int, ended time.Time) *journal.Row {
	kinds := []*recourse.Error{
		recourse.Timeout("It", time.Second).WithOrigin(recourse.OriginServer), recourse.Unavailable("It").WithOrigin(recourse.OriginServer),
		recourse.NotFound("field", "F-1").WithOrigin(recourse.OriginServer),
		recourse.RateLimited(time.Second).WithOrigin(recourse.OriginGateway),
		recourse.Missing("orgId").WithOrigin(recourse.OriginCaller),
		recourse.New(recourse.KindConflict, "It did not fit.").WithOrigin(recourse.OriginProvider),
	}
	ms := func(n int) journal.Millis { return journal.Millis(time.Duration(n) * time.Millisecond) }
	h := i * 2654435761 >> 7 & 0xffffff // spread, and the same in each run
	c := &journal.Row{
		RequestID: fmt.Sprintf("req-%024d", i), TraceID: fmt.Sprintf("%032x", h), Began: ended.Add(-400 * time.Millisecond), Took: ms(400),
		Server: cmp.Or(map[bool]string{true: "rare"}[i%100_000 == 77], fmt.Sprint("server-", h%servers)), Contract: "recourse",
		Method: "tools/call",
		Tool:   fmt.Sprint("tool-", h/7%40), Nature: "reads", Arguments: json.RawMessage(`{"field_id":"F-1","from":"2026-01-01"}`),
		Access: "team",
		Caller: fmt.Sprint("caller-", h/11%1000), Org: fmt.Sprint("org-", h/11%50), Peer: "127.0.0.1:44974", Ending: "failure",
		Status: 200, Bytes: 853,
		Sent: 2, Final: "gave up after 2 attempts", Failure: kinds[h/13%len(kinds)],
		Cause: "dial tcp 127.0.0.1:9101: connect: connection refused",
		Attempts: []journal.Attempt{
			{After: ms(1), Took: ms(20), Failure: recourse.KindUnreachable, Reason: "the tool only reads"},
			{After: ms(120), Wait: ms(99), Took: ms(200), Status: 503, Failure: recourse.KindUnavailable},
		},
	}
	if i%10 == 0 {
		c.Failure = nil
	}
	return c
}
