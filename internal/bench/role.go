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
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A role is what a process of the benchmark is. The program starts itself once for each.
type role string

// The roles, other than that of the program itself, which calls and measures.
const (
	roleServer    role = "server"
	roleProxy     role = "proxy"     // a bare httputil.ReverseProxy
	rolePooled    role = "pooled"    // one with a BufferPool
	roleGateway   role = "gateway"   // what `recourse serve` runs
	roleCollector role = "collector" // accepts traces
	roleChild     role = "child"     // an MCP server on standard input and output
	roleWaiting   role = "waiting"   // one that takes childDelay for each call
	roleAwake     role = "awake"     // keeps the processors awake
)

// envRole has the role of a process that the program has started.
const envRole = "RECOURSE_BENCH_ROLE"

// runRole does what a process that the program has started is for.
func runRole(r role, args []string) error {
	switch {
	case r == roleServer && len(args) == 0:
		server := new(mcpServer)
		return serve(server, server.calls.Load)
	case r == roleProxy && len(args) == 1:
		return serve(newProxy(args[0], nil), none)
	case r == rolePooled && len(args) == 1:
		return serve(newProxy(args[0], new(bufferPool)), none)
	case r == roleGateway && len(args) == 2:
		return serveGateway(args[0], args[1])
	case r == roleCollector && len(args) == 0:
		return serve(http.HandlerFunc(discard), none)
	case r == roleChild && len(args) == 0:
		return serveChild(os.Stdin, os.Stdout, 0)
	case r == roleWaiting && len(args) == 0:
		return serveChild(os.Stdin, os.Stdout, childDelay)
	case r == roleAwake && len(args) == 0:
		return keepAwake()
	default:
		return fmt.Errorf("no role: %s %q", r, args)
	}
}

// none counts no requests: only the server's own process can.
func none() int64 { return 0 }

// serve serves handler on a free port of the loopback interface until standard input ends. Its address is the first
// line of standard output.
func serve(handler http.Handler, calls func() int64) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// The gateway's timeouts: each call pays for setting them.
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	_, err = fmt.Fprintln(os.Stdout, listener.Addr())
	if err == nil {
		err = answerQuestions(os.Stdin, os.Stdout, calls)
	}
	err = errors.Join(err, server.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// A question is a line on a process's standard input. The answer is a line of usage.
type question string

const (
	askUsage   question = "usage"   // as it is
	askCollect question = "collect" // after a garbage collection
)

// usage is what a process has used so far.
type usage struct {
	Allocated uint64 `json:"allocated"` // bytes on the heap, from the start
	Live      uint64 `json:"live"`      // bytes on the heap, including garbage that is not collected yet
	Held      uint64 `json:"held"`      // bytes of the system's memory that the runtime holds
	Processor int64  `json:"processor"` // nanoseconds, user and system
	Calls     int64  `json:"calls"`     // requests of callers that reached the server
}

// answerQuestions answers the program's questions until there are no more.
func answerQuestions(in io.Reader, out io.Writer, calls func() int64) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if question(lines.Text()) == askCollect {
			runtime.GC()
			runtime.GC() // contents of a sync.Pool survive one
		}
		text, err := json.Marshal(usageNow(calls()))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
			return err
		}
	}
	return lines.Err()
}

func usageNow(calls int64) usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return usage{
		Allocated: samples[0].Value.Uint64(),
		Live:      samples[1].Value.Uint64(),
		Held:      samples[2].Value.Uint64() - samples[3].Value.Uint64(),
		Processor: int64(processorTime()),
		Calls:     calls,
	}
}
