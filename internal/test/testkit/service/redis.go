package service

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// maxRedisDatabases limits how often a package's tests can use a database of their own.
const maxRedisDatabases = 1024

var (
	commonRedis    = sync.OnceValues(starting(makeRedis))
	redisDatabases atomic.Int64
)

// Redis returns the URL of an empty database on a real redis-server, which all tests of the process share.
// Without a redis-server, it skips the test; with CI=true that is a failure instead.
func Redis(tb testing.TB) string {
	tb.Helper()
	p := installed(tb, commonRedis)
	n := redisDatabases.Add(1) - 1
	if n >= maxRedisDatabases {
		tb.Fatalf("testkit: more than %d databases of Redis", maxRedisDatabases)
	}
	return strings.TrimSuffix(p.URL, "0") + strconv.FormatInt(n, 10)
}

// NewRedis starts a redis-server for one test, which the test may stop, with more options. Without a
// redis-server, it skips the test like [Redis]. A stop loses its data unless the options prevent that.
func NewRedis(tb testing.TB, options ...string) *Process {
	tb.Helper()
	return own(tb, func() (*Process, error) {
		p, err := makeRedis()
		if err == nil {
			p.start = append(p.start, options...)
		}
		return p, err
	})
}

// NewReplica starts a replica of a redis-server for one test.
func NewReplica(tb testing.TB, of *Process) *Process {
	tb.Helper()
	host, port := of.redisAddress()
	return NewRedis(tb, "--replicaof", host, port)
}

// NewSentinel starts a Sentinel for one test. It knows a redis-server by a name, and replaces it alone.
func NewSentinel(tb testing.TB, name string, primary *Process) *Process {
	tb.Helper()
	return own(tb, func() (*Process, error) {
		p, err := makeRedis()
		if err != nil {
			return nil, err
		}
		host, port := primary.redisAddress()
		_, own := p.redisAddress()
		file := filepath.Join(p.dir, "sentinel.conf")
		text := fmt.Sprintf("bind 127.0.0.1\nport %[1]s\nsentinel monitor %[2]s %[3]s %[4]s 1\n"+
			"sentinel down-after-milliseconds %[2]s 100\nsentinel failover-timeout %[2]s 1000\n", own, name, host, port)
		p.start = []string{p.start[0], file, "--sentinel"}
		return p, errors.Join(os.WriteFile(file, []byte(text), 0o600), giveAway(file))
	})
}

// RedisAddress is where a redis-server listens, as host:port.
func (p *Process) RedisAddress() string {
	return strings.TrimSuffix(strings.TrimPrefix(p.URL, "redis://"), "/0")
}

func (p *Process) redisAddress() (host, port string) {
	host, port, _ = strings.Cut(p.RedisAddress(), ":")
	return host, port
}

func makeRedis() (*Process, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server is %w", errNotInstalled)
	}
	address, err := testkit.FreeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(address, ":")
	p, err := newProcess("redis")
	if err != nil {
		return nil, err
	}
	p.start = []string{
		program, "--bind", "127.0.0.1", "--port", port, "--dir", p.dir, "--save", "", "--appendonly", "no",
		"--databases", strconv.Itoa(maxRedisDatabases),
	}
	p.URL = "redis://127.0.0.1:" + port + "/0"
	p.ready = func(*Process) error { return pingRedis("127.0.0.1:" + port) }
	return p, nil
}

var errNoPong = errors.New("no answer to PING")

func pingRedis(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return fmt.Errorf("reach redis-server: %w", err)
	}
	defer conn.Close()
	answer := make([]byte, len("+PONG"))
	if err = conn.SetDeadline(time.Now().Add(time.Second)); err == nil {
		_, err = conn.Write([]byte("PING\r\n"))
	}
	if err == nil {
		_, err = conn.Read(answer)
	}
	if err != nil || string(answer) != "+PONG" {
		return errors.Join(errNoPong, err)
	}
	return nil
}
