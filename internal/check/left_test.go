//go:build unix

package check_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// counted counts the connections that are open.
type counted struct {
	server.Server

	open atomic.Int32
}

func (c *counted) Open(ctx context.Context) (server.Conn, error) {
	conn, err := c.Server.Open(ctx)
	if err == nil {
		c.open.Add(1)
	}
	return &countedConn{Conn: conn, of: c}, err
}

type countedConn struct {
	server.Conn

	of     *counted
	closed atomic.Bool
}

func (c *countedConn) end() {
	if !c.closed.Swap(true) {
		c.of.open.Add(-1)
	}
}

func (c *countedConn) Close() bool { c.end(); return c.Conn.Close() }

func (c *countedConn) Break() { c.end(); c.Conn.Break() }

// No program is left running, also if it ends in a connection of its own.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, breaks := range []string{"", "survives", "survives-garbage", "starts"} {
		c := &counted{Server: &server.Program{
			Command: []string{self}, Env: append(os.Environ(), "FIXTURE_BREAKS="+breaks), Stderr: os.Stderr, Leave: 500 * time.Millisecond,
		}}
		check.Check(t.Context(), c, check.Options{Mode: check.Safe})
		if n := c.open.Load(); n != 0 {
			t.Errorf("%q: %d more were opened than closed", breaks, n)
		}
	}
}
