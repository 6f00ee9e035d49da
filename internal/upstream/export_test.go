package upstream

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

// SetPatience changes how long s waits for a child. 0 leaves a duration as it is.
func (s *Stdio) SetPatience(start, stall, leave time.Duration) {
	for at, d := range map[*time.Duration]time.Duration{
		&s.patience.Start: start, &s.patience.Stall: stall, &s.patience.Leave: leave,
	} {
		if d > 0 {
			*at = d
		}
	}
}

// SetSilence changes how long s waits before it pings a silent child.
func (s *Stdio) SetSilence(silence time.Duration) { s.patience.Silence = silence }

// AwaitExits makes s wait a minute for the exit of a child that has closed its output.
func (s *Stdio) AwaitExits() { s.patience.Last = time.Minute }

// SetMost limits the number of children of s.
func (s *Stdio) SetMost(n int) { s.most = n }

// OnWrite makes h call f before each write to a connection.
func (h *HTTP) OnWrite(f func()) {
	dial := h.transport.DialContext
	h.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &watched{conn, f}, err
	}
}

type watched struct {
	net.Conn

	onWrite func()
}

func (c *watched) Write(p []byte) (int, error) {
	c.onWrite()
	return c.Conn.Write(p)
}

// SpoolMemory is how much of an answer is kept in memory.
const SpoolMemory = spool.Memory

// Receive returns the bodies of n calls after the child has written stdout and ended. The clients' ids
// are "c0", "c1", ..., the child's 1, 2, ....
func Receive(stdout io.Reader, n int) (bodies []io.ReadCloser) {
	return receive(stdout, n, `"method":"x","params":{"_meta":{"progressToken":"t%d"}}`, false)
}

// ReceiveModern is Receive for subscriptions to a child of the modern era.
func ReceiveModern(stdout io.Reader, n int) (bodies []io.ReadCloser) {
	return receive(stdout, n, `"method":"subscriptions/listen","params":{"_meta":{"progressToken":"t%d","io.modelcontextprotocol/logLevel":"info"}}`, true)
}

func receive(stdout io.Reader, n int, request string, modern bool) (bodies []io.ReadCloser) {
	s := &Stdio{
		name: "child", command: Command{Share: ShareClient}, log: slog.New(slog.DiscardHandler),
		mask: redact.New(redact.Secrets), patience: defaultPatience,
	}
	c := s.newChild(nil, "its client")
	c.modern.Store(modern)
	ctx := context.Background()
	var calls []*pending
	for i := range n {
		var m wire.Message
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d",`+request+`}`, i, i)
		if err := wire.Parse([]byte(text), &m); err != nil {
			return nil
		}
		call, err := c.accept(ctx.Done(), &m, nil, "")
		if err != nil {
			return nil
		}
		calls = append(calls, call)
	}
	c.batch++ // as after a write
	(&receiver{child: c}).read(stdout)
	c.fail(errOutputClosed)
	for _, call := range calls {
		said, err := call.next(ctx)
		if err != nil {
			bodies = append(bodies, http.NoBody)
			continue
		}
		bodies = append(bodies, answer(ctx, c, call, said))
	}
	return bodies
}

// Window is the length of the longest message that is kept in one piece.
const Window = messageWindow

// Backoff returns, for children that live as long as lived says, the pause after each of them and whether calls
// are refused during it.
func Backoff(ready bool, lived ...time.Duration) (pauses []time.Duration, refused []bool) {
	now := time.Now()
	var s starts
	for _, life := range lived {
		now = now.Add(life)
		s.died(defaultPatience.Restart, now, life, ready, errStalled)
		pauses = append(pauses, s.wait(now))
		refused = append(refused, s.refuses(now) != nil)
		now = now.Add(s.wait(now))
		if s.refuses(now) != nil {
			return nil, nil // calls must not be refused after the pause
		}
	}
	return pauses, refused
}

// Trust makes h accept any certificate, such as those of test servers.
func (h *HTTP) Trust() { h.transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} }

// OnRead makes h pass each read error of a connection to f, with the number of bytes read so far, and replace
// it by the error that f returns.
func (h *HTTP) OnRead(f func(read int, err error) error) {
	dial := h.transport.DialContext
	h.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &failingConn{Conn: conn, onError: f}, err
	}
}

type failingConn struct {
	net.Conn

	read    int
	onError func(read int, err error) error
}

func (c *failingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.read += n; err != nil {
		err = c.onError(c.read, err)
	}
	return n, err
}
