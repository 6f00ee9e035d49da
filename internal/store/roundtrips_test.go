package store_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// A call that is made once takes two round trips to PostgreSQL: one before it is sent, one after its answer.
func TestOnceRoundTrips(t *testing.T) {
	t.Parallel()
	address, trips := countTrips(t, service.Postgres(t))
	ledger := once.New(open(t, address).Once(), once.Times{Lease: time.Hour}, slog.New(slog.DiscardHandler))
	t.Cleanup(ledger.Close)
	call := func(reference string) {
		row, _ := once.RowOf([]byte(`{"reference":"`+reference+`"}`), nil, "", []string{"me"})
		claim, err := ledger.Claim(t.Context(), &once.Ask{Row: row, Keep: time.Hour, Until: time.Now()})
		if err != nil || claim.Verdict != once.First {
			t.Fatalf("got %+v, %v", claim, err)
		}
		claim.Answered("answer", 6, true, false, "answered")
	}
	call("A-1") // prepares the statements, and notes that the process lives
	before := trips.Load()
	call("A-2")
	if got := trips.Load() - before; got != 2 {
		t.Errorf("a call takes %d round trips", got)
	}
}

// countTrips returns the address of a proxy of a PostgreSQL database, and how often a client has asked it for answers.
func countTrips(t *testing.T, address string) (string, *atomic.Int64) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	network, database := pgconn.NetworkAddress(config.Host, config.Port)
	var trips atomic.Int64
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, database)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
			go func() { copyMessages(server, client, &trips); _ = server.Close() }()
		}
	}()
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", config.User, ln.Addr(), config.Database), &trips
}

// copyMessages copies what a client sends, and counts the messages after which it waits: Sync and Query.
func copyMessages(server io.Writer, client io.Reader, trips *atomic.Int64) {
	for head := make([]byte, 4); ; head = make([]byte, 5) { // the first message has no type
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		if head[0] == 'S' || head[0] == 'Q' {
			trips.Add(1)
		}
		size := int64(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		if _, err := server.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(server, client, size); err != nil {
			return
		}
	}
}
