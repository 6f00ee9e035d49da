package limit

import (
	"context"
	"errors"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// nodes sends commands to a Redis, to the nodes of a cluster, or to the primary that Sentinels name. No command is repeated that
// a node may have run.
type nodes struct {
	place *place

	mu    sync.Mutex
	pools map[string]*pool  // by address
	slots map[uint16]string // which node has what, as far as the cluster has said
	turn  int               // whom to ask of the configured nodes
}

// A pool is the connections to a node.
type pool struct {
	redis.Pool

	connect func() (redis.Conn, error)
	end     func() // ends the making of connections
	late    chan lateConn

	mu     sync.Mutex
	failed time.Time // connections that were last used before then may be broken, too
	closed bool
}

// A lateConn was made when the call that needed it had gone. The next one takes it.
type lateConn struct {
	redis.Conn

	made time.Time
}

const (
	// redirects is how often a call follows a cluster from node to node.
	redirects = 4
	// quietFor is how long a connection may be unused until it is tried before it carries a call.
	quietFor = 10 * time.Second
	// idleFor is how long an unused connection is kept.
	idleFor = 5 * time.Minute
	// renewEvery is how long a connection lasts to a primary that Sentinels have named: they may have named another one since.
	renewEvery = 10 * time.Second
)

// do runs a command that concerns a key.
func (n *nodes) do(ctx context.Context, key, name string, args ...any) (any, error) {
	return n.run(ctx, key, func(c redis.Conn) (any, error) { return send(ctx, c, name, args...) })
}

// run runs a command that concerns a key on the node that has it.
func (n *nodes) run(ctx context.Context, key string, command func(redis.Conn) (any, error)) (reply any, err error) {
	s, asking := slot(key), false
	at := n.home(s)
	for range redirects {
		reply, err = n.runAt(ctx, at, asking, command)
		if !n.place.cluster() || ctx.Err() != nil {
			break
		}
		if refusal, ok := errors.AsType[redis.Error](err); ok {
			to := redirected(string(refusal), at)
			if to == "" {
				break
			}
			if at, asking = to, strings.HasPrefix(string(refusal), "ASK "); !asking {
				n.learn(s, at)
			}
			continue
		}
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			break
		}
		at, asking = n.home(s), false // another one
	}
	return reply, err
}

// runAt runs a command on a node.
func (n *nodes) runAt(ctx context.Context, at string, asking bool, command func(redis.Conn) (any, error)) (reply any, err error) {
	p := n.pool(at)
	c, err := p.GetContext(ctx)
	if err == nil && ctx.Err() != nil { // it was late
		_ = c.Close()
		err = ctx.Err()
	}
	if err != nil {
		n.forget(at)
		return nil, unsent(at, err)
	}
	defer c.Close()
	if asking {
		_, err = send(ctx, c, "ASKING")
	}
	if err == nil {
		reply, err = command(c)
	}
	switch {
	case err == nil:
	case strings.HasPrefix(err.Error(), "READONLY "): // it is no primary any more
		n.forget(at)
		n.drop(at, p)
	case c.Err() != nil:
		n.forget(at)
		p.fail()
	}
	return reply, err
}

// send sends a command, and waits for its answer as long as the context allows.
func send(ctx context.Context, c redis.Conn, name string, args ...any) (any, error) {
	until, _ := ctx.Deadline()
	return redis.DoWithTimeout(c, max(time.Until(until), time.Millisecond), name, args...)
}

// unsent is the error of a command for which there was no connection, whatever went wrong in making one.
func unsent(at string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: at, Err: err}
}

// home returns the node to ask about a slot.
func (n *nodes) home(slot uint16) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch at, known := n.slots[slot]; {
	case known:
		return at
	case n.place.cluster():
		return n.place.addresses[n.turn%len(n.place.addresses)]
	default:
		return "" // the pool knows
	}
}

func (n *nodes) learn(slot uint16, at string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slots[slot] = at
}

// forget makes the next call ask another node about what this one had.
func (n *nodes) forget(at string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.turn++
	for slot, has := range n.slots {
		if has == at {
			delete(n.slots, slot)
		}
	}
}

// drop has all connections to a node made anew.
func (n *nodes) drop(at string, p *pool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pools[at] == p {
		delete(n.pools, at)
	}
	_ = p.Close()
}

func (n *nodes) pool(at string) *pool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.pools[at]; p != nil {
		return p
	}
	used := slices.AppendSeq(slices.Clone(n.place.addresses), maps.Values(n.slots))
	for old, p := range n.pools { // a cluster's nodes come and go
		if !slices.Contains(used, old) {
			_ = p.Close()
			delete(n.pools, old)
		}
	}
	p, most := new(pool), 10*runtime.GOMAXPROCS(0)
	p.MaxActive, p.MaxIdle, p.Wait, p.IdleTimeout = most, most, true, idleFor
	if n.place.master != "" {
		p.MaxConnLifetime = renewEvery
	}
	p.TestOnBorrowContext = p.test
	life, end := context.WithCancel(context.Background())
	p.connect, p.end = func() (redis.Conn, error) { return n.place.dial(life, at) }, end
	p.DialContext, p.late = p.dial, make(chan lateConn, most)
	n.pools[at] = p
	return p
}

// dial returns a new connection. Making one takes several round trips, and may take longer than a call has.
func (p *pool) dial(ctx context.Context) (redis.Conn, error) {
	for len(p.late) > 0 {
		select {
		case c := <-p.late:
			if p.test(ctx, c, c.made) == nil {
				return c.Conn, nil
			}
			_ = c.Close()
		default: // another call has taken it
		}
	}
	made := make(chan redis.Conn)
	failed := make(chan error, 1)
	go func() {
		c, err := p.connect()
		if err != nil {
			failed <- err
			return
		}
		select {
		case made <- c:
		case <-ctx.Done():
			p.keep(c)
		}
	}()
	select {
	case c := <-made:
		return c, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// keep keeps a connection for a call to come.
func (p *pool) keep(c redis.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		select {
		case p.late <- lateConn{c, time.Now()}:
			return
		default:
		}
	}
	_ = c.Close()
}

// Close ends the connections.
func (p *pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.end()
	for len(p.late) > 0 {
		_ = (<-p.late).Close()
	}
	return p.Pool.Close()
}

// test finds out whether a connection can be used that was last used then.
func (p *pool) test(ctx context.Context, c redis.Conn, used time.Time) error {
	p.mu.Lock()
	doubtful := used.Before(p.failed)
	p.mu.Unlock()
	if !doubtful && time.Since(used) < quietFor {
		return nil
	}
	return greet(ctx, c)
}

// greet finds out whether a node answers, so that a call is not sent to one that hangs. A refusal is an answer.
func greet(ctx context.Context, c redis.Conn) error {
	_, _ = send(ctx, c, "PING")
	return c.Err()
}

// fail has all connections tried before they are used again.
func (p *pool) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = time.Now()
}

// Close ends the connections.
func (n *nodes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pools {
		_ = p.Close()
	}
	return nil
}

// redirected returns the node that a node of a cluster refers to, or "".
func redirected(refusal, from string) string {
	words := strings.Fields(refusal)
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return ""
	}
	if port, ok := strings.CutPrefix(words[2], ":"); ok { // on the same host
		host, _, _ := net.SplitHostPort(from)
		return net.JoinHostPort(host, port)
	}
	return words[2]
}

// slot returns which of a cluster's 16384 slots has a key.
func slot(key string) (sum uint16) {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	for _, b := range []byte(key) { // CRC-16, XMODEM
		sum ^= uint16(b) << 8
		for range 8 {
			carry := sum & 0x8000
			if sum <<= 1; carry != 0 {
				sum ^= 0x1021
			}
		}
	}
	return sum % 16384
}
