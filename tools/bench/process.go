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
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/pause"
)

// roleMark begins the first argument of a process of this program that is not the one that measures.
const roleMark = "as:"

// What the program starts itself as. The first four listen at their next argument, and answer questions.
const (
	roleServer  = roleMark + "server"
	roleProxy   = roleMark + "proxy"   // a bare httputil.ReverseProxy
	rolePooled  = roleMark + "pooled"  // one with a BufferPool
	roleGateway = roleMark + "gateway" // `recourse serve`
	roleWrap    = roleMark + "wrap"    // `recourse wrap`
	roleChild   = roleMark + "child"   // an MCP server on standard input and output
	roleAwake   = roleMark + "awake"   // keeps a processor awake
)

// play does what a process that the program has started is for, until its standard input ends.
func play(role string, args []string) error {
	switch role {
	case roleServer:
		return serve(args[0], http.HandlerFunc(answerMessage))
	case roleProxy:
		return serve(args[0], newProxy(args[1], nil))
	case rolePooled:
		return serve(args[0], newProxy(args[1], new(bufferPool)))
	case roleGateway:
		ctx, end := context.WithCancel(context.Background())
		go func() {
			answerQuestions()
			end()
		}()
		return recourse(ctx, "serve", "-c", args[1])
	case roleWrap:
		return recourse(context.Background(), "wrap", "--", args[0], roleChild)
	case roleChild:
		return serveChild(os.Stdin, os.Stdout)
	case roleAwake:
		go func() {
			for { //nolint:revive,staticcheck // it does nothing, all the time
			}
		}()
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	default:
		return fmt.Errorf("nothing is called %s", role)
	}
}

// recourse runs the very code of the program.
func recourse(ctx context.Context, args ...string) error {
	code := cli.Run(ctx, cli.Environment{Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv})
	if code != cli.ExitOK {
		return fmt.Errorf("recourse %s: exit code %d", args[0], code)
	}
	return nil
}

func serve(address string, handler http.Handler) error {
	// The gateway's timeouts: each call pays for setting them.
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		answerQuestions()
		os.Exit(0)
	}()
	return server.ListenAndServe()
}

// usage is what a process has used so far.
type usage struct {
	allocated uint64 // bytes on the heap, from the start
	live      size   // bytes on the heap, including garbage that is not collected yet
	processor int64  // nanoseconds, user and system
}

// collect is a question, to be answered after a garbage collection.
const collect = "collect"

// answerQuestions answers each line of standard input with what Go's runtime knows of the usage.
func answerQuestions() {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() == collect {
			runtime.GC()
			runtime.GC() // contents of a sync.Pool survive one
		}
		metrics.Read(samples)
		fmt.Fprintln(os.Stdout, samples[0].Value.Uint64(), samples[1].Value.Uint64())
	}
}

// A process was started by the program. The answers to its callers go over HTTP if it has an address, and otherwise over its output.
type process struct {
	name    string
	address string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	foreign bool // not this program
	warm    bool // it has been under load
}

// processes are stopped together.
type processes []*process

// start starts this program in a role in which it listens.
func (all *processes) start(ctx context.Context, o *options, name, role string, args ...string) (*process, error) {
	address := freeAddress(ctx)
	return all.listen(ctx, o, name, address, o.self, slices.Concat([]string{role, address}, args)...)
}

// listen starts a program and waits until it listens at address.
func (all *processes) listen(ctx context.Context, o *options, name, address, program string, args ...string) (*process, error) {
	p, err := all.launch(ctx, o, name, program, args...)
	if err != nil {
		return nil, err
	}
	p.address = address
	waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(waiting, "tcp", address)
		if err == nil {
			return p, conn.Close()
		}
		if !pause.For(waiting, 10*time.Millisecond) {
			return nil, fmt.Errorf("%s does not start: %w", name, err)
		}
	}
}

func (all *processes) launch(ctx context.Context, o *options, name, program string, args ...string) (p *process, err error) {
	p = &process{name: name, foreign: !strings.HasPrefix(args[0], roleMark)}
	p.command = exec.CommandContext(ctx, program, args...)
	p.command.Stderr = o.log
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	*all = append(*all, p)
	return p, nil
}

// usage asks the process for its usage, and Linux for its processor time, which is known to a hundredth of a second.
func (p *process) usage(question string) (u usage, err error) {
	if p.address != "" && !p.foreign {
		if _, err := fmt.Fprintln(p.in, question); err != nil {
			return u, fmt.Errorf("%s: %w", p.name, err)
		}
		if _, err := fmt.Fscanln(p.out, &u.allocated, &u.live); err != nil {
			return u, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	const user, system, tick = 11, 12, 10 * time.Millisecond // of proc(5), after the name
	text, _ := os.ReadFile(p.proc("stat"))                   // other systems have none
	_, rest, _ := strings.Cut(string(text), ") ")
	if fields := strings.Fields(rest); len(fields) > system {
		for _, field := range []string{fields[user], fields[system]} {
			ticks, _ := strconv.ParseInt(field, 10, 64) // always a number
			u.processor += ticks * int64(tick)
		}
	}
	return u, nil
}

func (p *process) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.command.Process.Pid, file)
}

// do sends a message to a server on standard input and output, and returns the answer. What the server says otherwise is skipped.
func (p *process) do(request []byte) (response, error) {
	if _, err := p.in.Write(request); err != nil {
		return response{}, err
	}
	for {
		line, err := p.out.ReadSlice('\n')
		if err != nil || len(member(line, "id")) > 0 {
			return response{status: http.StatusOK, body: line[:max(len(line)-1, 0)]}, err
		}
	}
}

// stop ends the processes, the last one first, and waits for their ends.
func (all *processes) stop() (err error) {
	for _, p := range slices.Backward(*all) {
		_ = p.in.Close() // it may have ended by itself
		if p.foreign {
			_ = p.command.Process.Signal(os.Interrupt)
		}
		if failed := p.command.Wait(); failed != nil && !p.foreign {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, failed))
		}
	}
	return err
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
