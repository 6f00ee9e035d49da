package store

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// maxPostgres limits the connections of one process.
	maxPostgres     = 8
	postgresIdle    = 4
	postgresLife    = 30 * time.Minute
	postgresConnect = 5 * time.Second
	// schemaLock is the advisory lock for updating the schema: "recourse" in ASCII.
	schemaLock = 0x7265636f75727365
	// maxRows is how many rows one statement inserts, since each statement takes a round trip. It may have 65,535 parameters.
	maxRows = 100
)

// openPostgres opens the database at a URL.
func openPostgres(address string) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err) // without the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = postgresConnect
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "recourse"
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(maxPostgres)
	db.SetMaxIdleConns(postgresIdle)
	db.SetConnMaxLifetime(postgresLife)
	s := &Store{name: fmt.Sprintf("postgres://%s/%s", placeOf(config), config.Database), writes: db, reads: db, rows: maxRows}
	s.lock = func(ctx context.Context) (func(bool), error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, fmt.Errorf("lock the schema: %w", err)
		}
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(schemaLock)); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("lock the schema: %w", err)
		}
		return func(bool) {
			// The connection returns to the pool, so the lock must be released, too.
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(schemaLock))
			_ = conn.Close()
		}, nil
	}
	return s, nil
}

// placeOf returns where the database is, as people write it.
func placeOf(config *pgx.ConnConfig) string {
	const usual = 5432
	if config.Port == usual || config.Port == 0 {
		return config.Host
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}
