// Package oncestore keeps the calls that a server makes once in an SQLite file, or in a PostgreSQL database that the server's replicas
// share:
//
//	store, err := oncestore.Open(ctx, "sqlite:once.db", "shop", nil)
//	...
//	defer store.Close()
//	mcptool.Use(server, c, mcptool.WithOnceStore(store), mcptool.WithTool("order_create", mcptool.WithOnce(mcptool.Once{})))
//
// It is a package of its own because it brings the drivers of both databases.
package oncestore

import (
	"context"
	"errors"
	"log/slog"

	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
)

// Open opens the store at address, "sqlite:FILE" or "postgres://...", for the calls of the server of that name, and creates it if need
// be. Replicas of a server give the same name, different servers in one database different ones. What cannot be written is logged to log;
// nil is [slog.Default]. Close the store after the server has ended.
//
// It is a store as the gateway has it: recourse once ls, show and settle work on it. Answers are kept as they are, so that the database
// deserves the protection that they do.
func Open(ctx context.Context, address, server string, log *slog.Logger) (mcptool.OnceStore, error) {
	if server == "" {
		return nil, errors.New("oncestore: the server has no name")
	}
	if log == nil {
		log = slog.Default()
	}
	s, err := store.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return handler.NewCalls(s.Once(), server, log, s.Close), nil
}
