package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Relay passes messages between a client and a server's program on standard input and output.
type Relay struct {
	Injector *Injector

	FromClient io.Reader
	ToClient   io.Writer
	FromServer io.Reader
	ToServer   io.WriteCloser
	// Exit ends the server's program.
	Exit func()

	write   sync.Mutex // of ToClient
	mu      sync.Mutex
	waiting []waiting
	caller  string // the name of the client, of the legacy era
}

// waiting is a call whose answer is changed or held back.
type waiting struct {
	call *intercept
	todo treatment
	held bool // its client waits in vain, until it cancels the call
}

// maxLine limits the size of a message.
const maxLine = 64 << 20

// maxWaiting limits the calls that wait. Others pass unchanged.
const maxWaiting = 10_000

// Run passes messages on until the server ends. When the client does, it closes the server's standard input. ctx ends
// pauses.
func (r *Relay) Run(ctx context.Context) error {
	go func() {
		_ = eachLine(r.FromClient, r.fromClient) // the server sees how it ends
		_ = r.ToServer.Close()                   // it may have ended already
	}()
	err := eachLine(r.FromServer, func(line []byte) error { return r.fromServer(ctx, line) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting {
		w.todo.end()
	}
	r.waiting = nil
	return err
}

// eachLine passes on every line of a stream, until one is refused.
func eachLine(from io.Reader, to func(line []byte) error) error {
	lines := wire.NewLineReader(from, maxLine+len("\r\n"))
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a line: %w", err)
		case line.Cut():
			return fmt.Errorf("a line is longer than %d MiB", maxLine>>20)
		}
		if err := to(line.Text); err != nil {
			return err
		}
	}
}

// errExited stops messages after an exit from reaching a program that may need a moment to end.
var errExited = errors.New("the program has ended")

// fromClient takes a line of the client.
func (r *Relay) fromClient(line []byte) error {
	c := ofMessage(line)
	if c == nil {
		r.cancelled(line)
		return r.send(line)
	}
	if c.method == wire.MethodInitialize {
		r.caller = c.caller
	}
	if c.caller == "" {
		c.caller = r.caller
	}
	todo := r.Injector.take(c)
	if todo.fault != nil && todo.effect == Before {
		switch todo.fault.Name {
		case hang:
			r.wait(waiting{c, todo, true})
		case exit:
			r.Exit()
			return errExited
		default:
			defer todo.end()
			return r.answer(todo.instead(c).body)
		}
		return nil
	}
	if todo.fault != nil || todo.remembers {
		r.wait(waiting{c, todo, false})
	}
	r.Injector.reached(c, 1) // before its answer comes
	err := r.send(line)
	if err != nil {
		r.Injector.reached(c, -1)
	}
	return err
}

func (r *Relay) wait(w waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == maxWaiting {
		w.todo.end()
		return
	}
	r.waiting = append(r.waiting, w)
}

// cancelled ends a hang that the client no longer waits for.
func (r *Relay) cancelled(line []byte) {
	var m wire.Message
	if wire.Parse(line, &m) != nil || m.Method != wire.MethodCancelled {
		return
	}
	if w, ok := r.taken(func(w waiting) bool { return w.held && w.call.id.Equal(m.RequestID) }); ok {
		w.todo.end()
	}
}

// taken removes and returns the waiting call.
func (r *Relay) taken(is func(waiting) bool) (waiting, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, w := range r.waiting {
		if is(w) {
			r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
			return w, true
		}
	}
	return waiting{}, false
}

// fromServer takes a line of the server.
func (r *Relay) fromServer(ctx context.Context, line []byte) error {
	signs, ok := signsOf(line)
	if !ok || signs.Message() != wire.Response {
		return r.answer(line)
	}
	w, ok := r.taken(func(w waiting) bool { return !w.held && w.call.id.Equal(signs.ID) })
	if !ok {
		return r.answer(line)
	}
	name := ""
	if w.todo.fault != nil {
		name = w.todo.fault.Name
	}
	switch name {
	case hang:
		w.held = true
		r.wait(w)
		return nil
	case exit:
		r.Exit()
		return nil
	}
	defer w.todo.end()
	switch name {
	case inContract, errorText:
		return r.answer(w.todo.instead(w.call).body)
	case truncate:
		return r.answer(line[:len(line)/2])
	case drip:
		return r.drip(ctx, line, &w.todo)
	}
	return r.answer(r.Injector.change(&w.todo, w.call, line)...)
}

// send writes a line to the server.
func (r *Relay) send(line []byte) error {
	_, err := r.ToServer.Write(append(line, '\n'))
	return err
}

// answer writes lines to the client.
func (r *Relay) answer(lines ...[]byte) error {
	r.write.Lock()
	defer r.write.Unlock()
	for _, line := range lines {
		if _, err := r.ToClient.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// drip writes a line byte by byte. Nothing else can be written meanwhile.
func (r *Relay) drip(ctx context.Context, line []byte, todo *treatment) error {
	r.write.Lock()
	defer r.write.Unlock()
	for i, b := range append(line, '\n') {
		if i > 0 && !pause.For(ctx, todo.fault.Gap) {
			return context.Cause(ctx)
		}
		if _, err := r.ToClient.Write([]byte{b}); err != nil {
			return err
		}
	}
	return nil
}
