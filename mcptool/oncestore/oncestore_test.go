package oncestore_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/mcptool/oncestore"
)

var quiet = slog.New(slog.DiscardHandler)

func open(t *testing.T, file, server string) mcptool.OnceStore {
	t.Helper()
	s, err := oncestore.Open(t.Context(), "sqlite:"+file, server, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts a server with the tool pay, which is made once, and returns a client of it.
func serve(t *testing.T, s mcptool.OnceStore, pay func() error) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		if err := pay(); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil, nil
	})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(quiet), mcptool.WithOnceStore(s),
		mcptool.WithTool("pay", mcptool.WithOnce(mcptool.Once{})))
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// call pays, and returns the answer in a few words.
func call(t *testing.T, c *mcp.ClientSession) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: map[string]any{"amount": 5}})
	if err != nil {
		t.Error(err)
		return ""
	}
	if _, replayed := r.Meta["io.github.recoursehq/once"]; replayed {
		return "replayed"
	}
	if !r.IsError {
		return "paid"
	}
	raw, _ := json.Marshal(r.Meta["io.github.recoursehq/error"])
	var e recourse.Error
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Error(err)
	}
	return e.Code + ", effect " + string(e.Effect)
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// What has happened, and what nobody knows of, outlives the server; servers of other names have nothing to do with it.
func TestRestart(t *testing.T) {
	t.Parallel()
	for outcome, expected := range map[string][2]string{
		"paid":    {"paid", "replayed"},
		"unknown": {"internal, effect unknown", "outcome_unknown, effect unknown"},
		"refused": {"conflict, effect none", "conflict, effect none"},
	} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "once.db")
			var paid atomic.Int64
			pay := func() error {
				paid.Add(1)
				switch outcome {
				case "unknown":
					return errors.New("the bank has gone")
				case "refused":
					return recourse.Conflict("The account is closed.")
				}
				return nil
			}
			for _, server := range []string{"shop", "shop", "other"} {
				s := open(t, file, server)
				c := serve(t, s, pay)
				before := paid.Load()
				got := call(t, c)
				switch {
				case before == 1 && server == "shop":
					want(t, "again", got, expected[1])
				default:
					want(t, "the first call of "+server, got, expected[0])
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			made := int64(2) // one for each name
			if outcome == "refused" {
				made = 3
			}
			if paid.Load() != made {
				t.Errorf("the handler has run %d times, want %d", paid.Load(), made)
			}
		})
	}
}

// Of two replicas that get the same call at once, one makes it.
func TestReplicas(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "once.db")
	var paid atomic.Int64
	var work sync.WaitGroup
	answers := make(chan string, 8)
	for range cap(answers) {
		s := open(t, file, "shop")
		t.Cleanup(func() { _ = s.Close() })
		c := serve(t, s, func() error { paid.Add(1); return nil })
		work.Go(func() { answers <- call(t, c) })
	}
	work.Wait()
	close(answers)
	replayed := 0
	for a := range answers {
		if a == "replayed" {
			replayed++
		}
	}
	if paid.Load() != 1 || replayed != cap(answers)-1 {
		t.Errorf("the handler has run %d times, and %d of %d answers are replayed", paid.Load(), replayed, cap(answers))
	}
}

// A call that cannot be written is not made.
func TestNoStore(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "once.db"), "shop")
	c := serve(t, s, func() error { t.Error("the handler has run"); return nil })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "without a store", call(t, c), "unavailable, effect none")
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"sqlite:" + filepath.Join(t.TempDir(), "once.db"), "", "has no name"},
		{"mysql://localhost", "shop", "has to begin with `sqlite:` or `postgres:`"},
		{"sqlite:" + filepath.Join(t.TempDir(), "none", "once.db"), "shop", "open the store"},
	} {
		if s, err := oncestore.Open(t.Context(), c[0], c[1], nil); err == nil || !strings.Contains(err.Error(), c[2]) || s != nil {
			t.Errorf("%s, %q: got %v, want %q", c[0], c[1], err, c[2])
		}
	}
}
