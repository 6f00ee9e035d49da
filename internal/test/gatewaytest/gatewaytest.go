// Package gatewaytest starts gateways for the tests of several packages: with a configuration in YAML, served as the program
// serves it, with a log that can be read.
package gatewaytest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

// Deadline is the timeout of calls in tests that wait for it. They configure it with UntilDeadline.
const (
	Deadline      = time.Second
	UntilDeadline = "timeout: 1s"
)

// A Front is an endpoint of a gateway.
type Front struct {
	URL     string
	Gateway *gateway.Gateway
	Log     *Log
}

// Start starts a gateway in front of one server, called farm. entry has lines of the server's entry. The gateway is in memory
// if the server is.
func Start(tb testing.TB, serverURL string, entry ...string) *Front {
	tb.Helper()
	lines := slices.Clone(entry)
	reach := Impatient
	if serverURL != "" {
		lines, reach = append(lines, "url: "+serverURL), gateway.Reach{}
	}
	g, log := NewReaching(tb, reach, "servers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n")
	return &Front{Open(tb, g, testkit.IsInMemory(serverURL)) + Path, g, log}
}

// StartClient starts a gateway in front of srv, and returns it with a client.
func StartClient(tb testing.TB, srv *testkit.Server, era testkit.Era, entry ...string) (*gateway.Gateway, *testkit.Client) {
	tb.Helper()
	f := Start(tb, srv.URL(), entry...)
	return f.Gateway, f.Client(tb, era)
}

// StartProgram is [Start] with a program as server.
func StartProgram(tb testing.TB, program *child.Program, entry ...string) *Front {
	tb.Helper()
	return Start(tb, "", append(Command(tb, program), entry...)...)
}

// Command returns the lines of a server's entry for a program.
func Command(tb testing.TB, program *child.Program, args ...string) []string {
	tb.Helper()
	line, err := json.Marshal(program.Command(args...))
	if err != nil {
		tb.Fatal(err)
	}
	return []string{"command: " + string(line)}
}

// CommandFor is [Command] for a program of that era.
func CommandFor(tb testing.TB, program *child.Program, era testkit.Era) []string {
	tb.Helper()
	if era == testkit.Modern {
		return Command(tb, program, "modern")
	}
	return Command(tb, program)
}

// StartAt starts a gateway in memory, and returns its endpoint at path.
func StartAt(tb testing.TB, path, yaml string) *Front {
	tb.Helper()
	g, log := New(tb, yaml)
	return &Front{Open(tb, g, true) + path, g, log}
}

// Open serves a gateway as the program does, and returns its URL.
func Open(tb testing.TB, g *gateway.Gateway, inMemory bool) string {
	tb.Helper()
	listen := func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	if inMemory {
		listen = testkit.ListenInMemory
	}
	ln, err := listen()
	if err != nil {
		tb.Fatal(err)
	}
	url, end := serve(g, ln)
	tb.Cleanup(end)
	return url
}

// Serve serves a gateway on loopback until end is called, which breaks its calls off.
func Serve(tb testing.TB, g *gateway.Gateway) (url string, end func()) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return serve(g, ln)
}

func serve(g *gateway.Gateway, ln net.Listener) (url string, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.Serve(ctx, ln, 0)
	}()
	return "http://" + ln.Addr().String(), func() {
		cancel()
		<-ended
	}
}

// Silent is a log that nobody reads.
var Silent = slog.New(slog.DiscardHandler)

// Impatient makes a gateway wait only briefly for processes.
var Impatient = gateway.Reach{
	Patience: upstream.Patience{Leave: 50 * time.Millisecond, Restart: time.Millisecond},
	Pause:    time.Millisecond,
}

// New returns a gateway that is closed when the test ends, and its log. contracts are texts of contracts beside the built-in ones.
func New(tb testing.TB, yaml string, contracts ...string) (*gateway.Gateway, *Log) {
	tb.Helper()
	return NewReaching(tb, gateway.Reach{}, yaml, contracts...)
}

// OpenStore opens a store that is closed with the test.
func OpenStore(tb testing.TB, address string) *store.Store {
	tb.Helper()
	s, err := store.Open(context.Background(), address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// NewReaching is [New] with other ways to what is outside the gateway. It reaches what is in memory.
func NewReaching(tb testing.TB, reach gateway.Reach, yaml string, contracts ...string) (*gateway.Gateway, *Log) {
	tb.Helper()
	cfg, set := Parse(tb, yaml, contracts...)
	log := &Log{}
	reach.Dial = testkit.Dial
	g, err := gateway.NewReaching(reach, cfg, set, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	return g, log
}

// Parse returns a configuration, and the set of the built-in contracts and these ones.
func Parse(tb testing.TB, yaml string, contracts ...string) (*config.Config, *contract.Set) {
	tb.Helper()
	set := contract.Builtin()
	for _, text := range contracts {
		if _, err := set.Load("own.yaml", []byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	cfg, err := config.Parse("recourse.yaml", []byte(yaml), config.Options{KnownContracts: set.Names()})
	if err != nil {
		tb.Fatal(err)
	}
	return cfg, set
}

// Reload gives a gateway another configuration.
func Reload(tb testing.TB, g *gateway.Gateway, yaml string, contracts ...string) {
	tb.Helper()
	if err := g.Reload(Parse(tb, yaml, contracts...)); err != nil {
		tb.Fatal(err)
	}
}

// Client returns a client of the endpoint, with an open session in the legacy era.
func (f *Front) Client(tb testing.TB, era testkit.Era) *testkit.Client {
	tb.Helper()
	c := testkit.NewClient(tb, f.URL, era)
	if era == testkit.Legacy {
		c.MustInitialize(tb)
	}
	return c
}

// As returns a client of the endpoint with these headers. In the legacy era it has no session yet.
func (f *Front) As(tb testing.TB, era testkit.Era, header ...string) *testkit.Client {
	tb.Helper()
	c := testkit.NewClient(tb, f.URL, era)
	c.Header = http.Header{}
	for i := 0; i < len(header); i += 2 {
		c.Header.Add(header[i], header[i+1])
	}
	return c
}

// Await waits until cond accepts the lines of the log about failures.
func (f *Front) Await(tb testing.TB, cond func(lines []LogLine) bool) {
	tb.Helper()
	if !f.Log.Until(func(string) bool { return cond(f.Log.Failures(tb)) }) {
		tb.Fatalf("got log %s", f.Log)
	}
}
