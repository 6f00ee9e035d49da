package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// The program starts itself in other roles: in tests, that is this binary.
func TestMain(m *testing.M) {
	if os.Getenv(envRole) != "" {
		main()
		return
	}
	// By default the race detector waits a second before exit.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes and passes large results")
	}
	var out bytes.Buffer
	profiles := t.TempDir()
	err := run(t.Context(), []string{
		"-benchtime", "10ms", "-rounds", "1", "-run", "/1000/|start|growth|session|outage", "-profile", profiles,
	}, &out)
	if _, missed := errors.AsType[missedError](err); err != nil && !missed { // the time is too short for good results
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"one JSON text", "an event stream", "with BufferPool", "a child process", "takes 1 ms", "recourse wrap", "one at a time",
		"throughput, 1 KB, 32 callers", "added p50", "garbage a call", "50 MB", "idle session", "on a shared child", "start of wrap", "answers 503", "refuses",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the report", want)
		}
	}
	for _, name := range []string{"cpu.pprof", "allocs.pprof"} {
		if info, err := os.Stat(profiles + "/" + name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if t.Failed() {
		t.Logf("%s", &out)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-benchtime", "0s"}, {"-rounds", "0"}, {"-run", "("}, {"more"}, {"-profile"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("accepted %q", args)
		}
	}
}

func TestRolesRefuse(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	if p, err := start(ctx, dir, roleProxy); err == nil || !strings.Contains(err.Error(), "no role") {
		t.Errorf("a proxy without a server: %v, %v", p, err)
	}
	if p, err := start(ctx, dir, roleGateway, "", dir+"/none.yaml"); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a gateway without a configuration: %v, %v", p, err)
	}
}

// The caller accepts the right answer in every form, and notices a wrong one.
func TestEcho(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(new(mcpServer))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	for _, s := range settings() {
		if s.isChild() {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			c, err := newCaller(t.Context(), address, s.path, echoText(s.size))
			if err != nil {
				t.Fatal(err)
			}
			defer c.conn.close()
			for range 3 {
				if err := c.echo(); err != nil {
					t.Error(err)
				}
			}
			c.want[len(c.want)-5] ^= 1
			if err := c.echo(); err == nil {
				t.Error("accepted a wrong answer")
			}
		})
	}
}

// Several callers of one child get their own answers, immediate or delayed, in any order.
func TestPipe(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []role{roleChild, roleWaiting} {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			p, err := openPipe(t.Context(), t.TempDir(), r, 4, self)
			if err != nil {
				t.Fatal(err)
			}
			all := p.callers(echoText(100))
			if l, err := all.echo(t.Context(), 20*time.Millisecond); err != nil || l.calls < len(all) {
				t.Errorf("%d calls: %v", l.calls, err)
			}
			all[1].want[len(all[1].want)-5] ^= 1
			if err := all[1].echo(); err == nil {
				t.Error("accepted a wrong answer")
			}
			if err := p.stop(); err != nil {
				t.Error(err)
			}
			if err := all[0].echo(); err == nil {
				t.Error("got an answer from an ended child")
			}
		})
	}
}

// Callers that take turns are served one at a time: four calls of a millisecond take four milliseconds.
func TestTurns(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPipe(t.Context(), t.TempDir(), roleWaiting, 4, self)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}()
	all := p.callers(echoText(100))
	all.takeTurns()
	l, err := all.echo(t.Context(), 20*time.Millisecond)
	if most := float64(time.Second / childDelay); err != nil || l.rate > most {
		t.Errorf("%.0f calls a second, more than %.0f: %v", l.rate, most, err)
	}
}

func TestEchoOfAnotherServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newProxy("127.0.0.1:1", nil))
	defer server.Close()
	if _, err := newCallers(t.Context(), 2, server.Listener.Addr().String(), pathJSON, echoText(100)); err == nil {
		t.Error("opened a session without a server")
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(new(mcpServer))
	defer server.Close()
	all, err := newCallers(t.Context(), 4, server.Listener.Addr().String(), pathJSON, echoText(100))
	if err != nil {
		t.Fatal(err)
	}
	defer all.close()
	l, err := all.echo(t.Context(), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if l.calls < len(all) || l.rate <= 0 || l.p50 <= 0 || l.p99 < l.p50 {
		t.Errorf("got %+v", l)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all.echo(cancelled, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancelling: %v", err)
	}
}

func TestClientReads(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want answer
		err  bool
	}{
		"a length": {
			text: "HTTP/1.1 200 OK\r\nMcp-Session-Id: s\r\nContent-Length: 5\r\n\r\nhello",
			want: answer{status: 200, session: "s", body: []byte("hello")},
		},
		"no body": {
			text: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
			want: answer{status: 202},
		},
		"chunks": {
			text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
			want: answer{status: 200, body: []byte("hello")},
		},
		"a cut status line": {text: "HTTP/1.1 2", err: true},
		"invalid status":    {text: "HTTP/1.1 OK\r\n\r\n", err: true},
		"a cut header":      {text: "HTTP/1.1 200 OK\r\nContent-Le", err: true},
		"an invalid length": {text: "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", err: true},
		"a cut body":        {text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", err: true},
		"a cut chunk":       {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe", err: true},
		"no last chunk":     {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n", err: true},
		"a long chunk":      {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n0\r\n\r\n", err: true},
		"a negative size":   {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nh\r\n", err: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer theirs.Close()
				if _, err := io.ReadFull(theirs, make([]byte, 4)); err == nil {
					_, _ = io.WriteString(theirs, test.text)
				}
			}()
			c := &client{conn: ours, in: bufio.NewReader(ours)}
			got, err := c.do([]byte("GET\n"))
			c.close()
			<-done
			if (err != nil) != test.err {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(answer{})); diff != "" && !test.err {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMember(t *testing.T) {
	t.Parallel()
	const message = `{"id":17,"method":"a","params":{"message":"b \"c\" \\"},"last":"d}`
	for name, want := range map[string]string{
		"id": "17", "method": `"a"`, "message": `"b \"c\" \\"`, "none": "", "last": "",
	} {
		if got := string(member([]byte(message), name)); got != want {
			t.Errorf("member %s: got %q, want %q", name, got, want)
		}
	}
}

func TestEchoTextHasItsSize(t *testing.T) {
	t.Parallel()
	for _, s := range settings() {
		if n := len(echoText(s.size)); n != s.size {
			t.Errorf("%s: %d bytes", s, n)
		}
	}
}

// A ratio is the median of the rounds' ratios.
func TestComparison(t *testing.T) {
	t.Parallel()
	round := func(rates, micros [4]float64) (row []slice) {
		for v := range rates {
			row = append(row, slice{load{rate: rates[v], p50: time.Duration(micros[v]) * time.Microsecond}, 100 * rates[v], 1000 * rates[v]})
		}
		return row
	}
	c := &comparison{rounds: [][]slice{
		round([4]float64{9, 2, 4, 3}, [4]float64{10, 20, 15, 30}),
		round([4]float64{9, 4, 4, 2}, [4]float64{10, 30, 15, 20}),
		round([4]float64{9, 1, 4, 1}, [4]float64{20, 20, 15, 30}), // a bare proxy without overhead
	}}
	got := []float64{
		c.throughput(gated, bare), c.throughput(gated, pooled), c.added(gated), c.latency(gated, bare), c.garbage(gated), c.processor(gated),
	}
	if want := []float64{1, 0.5, 1e4, 2, 200, 2000}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		budget budget
		value  float64
		word   string
		missed bool
	}{
		"most, kept":     {budget{limit: 20}, 20, "kept", false},
		"most, missed":   {budget{limit: 20}, 21, "MISSED BY 5.0 %", true},
		"least, kept":    {budget{least: true, limit: 1, slack: noise}, 1.5, "kept", false},
		"least, noise":   {budget{least: true, limit: 1, slack: noise}, 0.9, "missed by 10.0 %, within 15 %", false},
		"least, missed":  {budget{least: true, limit: 1, slack: noise}, 0.8, "MISSED BY 20.0 %", true},
		"zero, kept":     {budget{}, 0, "kept", false},
		"zero, missed":   {budget{}, 1, "MISSED", true},
		"a slow machine": {budget{limit: 1, slack: machine}, 3, "missed by 200.0 % on this machine", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			word, missed := test.budget.verdict(test.value)
			if word != test.word || missed != test.missed {
				t.Errorf("got %q, %v; want %q, %v", word, missed, test.word, test.missed)
			}
		})
	}
}

func TestPrintBudgets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := nothingMeasured()
	if err := printBudgets(&out, r); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("with nothing measured: %v\n%s", err, &out)
	}
	r.session, r.refused = 30*kilobyte, 900
	err := printBudgets(&out, r)
	if missed, _ := errors.AsType[missedError](err); !slices.Equal(missed, missedError{"idle session"}) {
		t.Errorf("missed: %v", err)
	}
	if !strings.Contains(out.String(), "30.0 KB") || !strings.Contains(out.String(), "900") {
		t.Errorf("no values:\n%s", &out)
	}
}

func TestMicro(t *testing.T) {
	t.Parallel()
	if form, err := failedCall().MarshalJSON(); err != nil || math.Abs(float64(len(form)-1000)) > 100 {
		t.Errorf("the record has %d bytes: %v", len(form), err)
	}
}

// The trials that do not depend on the machine's speed. The others are run by make load, on a quiet machine and without
// the race detector, which needs memory itself.
func TestLimitsOfHarm(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("starts processes, and reads /proc")
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-load", "-run", "outage|breaker"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"live after", "a total outage, 1000 calls", "attempts reach the server"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the report:\n%s", want, &out)
		}
	}
}
