package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/pause"
)

// roleGateway is the first argument of the process that is the gateway, and roleBare that of one with net/http's server alone.
const (
	roleGateway = "as:gateway"
	roleBare    = "as:bare"
)

// playGateway is `recourse serve`. It ends with its input.
func playGateway(file string) (code int) {
	args := []string{"serve", "-c", file}
	return cli.Run(answering(), cli.Environment{Args: args, Stdin: nil, Stdout: io.Discard, Stderr: os.Stderr, LookupEnv: os.LookupEnv})
}

// playBare serves streams at an address, until its input ends.
func playBare(address string) (code int) {
	server := http.Server{Addr: address, Handler: http.HandlerFunc(serveModern)}
	context.AfterFunc(answering(), func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// answering has the process say, for each line of its input, what it holds: bytes of the heap that are in use, and of stacks, and
// goroutines. The context ends with the input.
func answering() context.Context {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		defer end()
		samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			runtime.GC()
			runtime.GC() // contents of a sync.Pool survive one
			metrics.Read(samples)
			fmt.Fprintln(os.Stdout, samples[0].Value.Uint64(), samples[1].Value.Uint64(), runtime.NumGoroutine())
		}
	}()
	return ctx
}

// A gatewayProcess is a process of its own.
type gatewayProcess struct {
	address string
	command *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	dir     string // with its configuration, and for what is kept
}

// startGateway starts one and waits until it listens. The configuration lacks the line `listen`; %s in it is a directory.
func startGateway(ctx context.Context, configuration func(dir string) string) (*gatewayProcess, error) {
	var err error
	g := &gatewayProcess{address: freeAddress(ctx)}
	if g.dir, err = os.MkdirTemp("", "scale-"); err != nil {
		return nil, err
	}
	file := filepath.Join(g.dir, "recourse.yaml")
	text := "listen: " + g.address + "\nlog_level: error\n" + configuration(g.dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	err = g.begin(ctx)
	return g, err
}

// begin starts its process.
func (g *gatewayProcess) begin(ctx context.Context) error {
	return g.play(ctx, roleGateway, filepath.Join(g.dir, "recourse.yaml"))
}

// startBare starts net/http's server alone, and waits until it listens.
func startBare(ctx context.Context) (*gatewayProcess, error) {
	g := &gatewayProcess{address: freeAddress(ctx)}
	err := g.play(ctx, roleBare, g.address)
	return g, err
}

// play starts a process in a role, and waits until it listens.
func (g *gatewayProcess) play(ctx context.Context, role, of string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g.command = exec.CommandContext(ctx, self, role, of)
	g.command.Stderr = os.Stderr
	var noIn, noOut error
	g.in, noIn = g.command.StdinPipe()
	g.out, noOut = g.command.StdoutPipe()
	if err := errors.Join(noIn, noOut, g.command.Start()); err != nil {
		return err
	}
	for range 500 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", g.address)
		if err == nil {
			return conn.Close()
		}
		pause.For(ctx, 20*time.Millisecond)
	}
	return errors.Join(errors.New("the gateway does not start"), g.stop())
}

// held is what a gateway holds.
type held struct{ heap, stacks, goroutines float64 }

// holds asks for that, after a garbage collection.
func (g *gatewayProcess) holds() (h held, err error) {
	if _, err = fmt.Fprintln(g.in); err == nil {
		_, err = fmt.Fscanln(g.out, &h.heap, &h.stacks, &h.goroutines)
	}
	return h, err
}

// processor returns its user and system time so far, to a hundredth of a second. Only Linux says it.
func (g *gatewayProcess) processor() time.Duration {
	const user, system, tick = 11, 12, 10 * time.Millisecond // of proc(5), after the name
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.command.Process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks int
	if fields := strings.Fields(rest); len(fields) > system {
		for _, field := range []string{fields[user], fields[system]} {
			n, _ := strconv.Atoi(field) // always a number
			ticks += n
		}
	}
	return time.Duration(ticks) * tick
}

// stop ends it and waits for its end.
func (g *gatewayProcess) stop() error {
	_ = g.in.Close() // it may have ended by itself
	return errors.Join(g.command.Wait(), os.RemoveAll(g.dir))
}

// freeAddress returns a loopback address that was free a moment ago. If there is none, nothing will listen there.
func freeAddress(ctx context.Context) string {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return ""
	}
	defer ln.Close()
	return ln.Addr().String()
}
