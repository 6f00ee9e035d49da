package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A pipe is a process that speaks MCP over its standard input and output, for several callers at the same time.
type pipe struct {
	process *process
	late    *time.Timer // kills the process when an answer is overdue
	writing sync.Mutex
	reading chan struct{} // holds a token while one of the ends reads for all
	ends    []*pipeEnd
}

// A pipeEnd is one caller's end of a pipe. Its requests have ids that no other end uses, so that each answer finds its
// caller.
type pipeEnd struct {
	of      *pipe
	body    []byte        // of the last answer
	arrived chan struct{} // holds a token while body is new
}

var _ connection = (*pipeEnd)(nil)

// idsEach is how many ids an end has.
const idsEach = 10_000_000

// openPipe starts a program that is a server for n callers, or has child servers, in role r, and initializes it.
func openPipe(ctx context.Context, dir string, r role, n int, program string, args ...string) (*pipe, error) {
	p, err := launch(ctx, dir, r, program, args...)
	if err != nil {
		return nil, err
	}
	all := &pipe{process: p, reading: make(chan struct{}, 1)}
	all.late = time.AfterFunc(patience, func() { _ = p.command.Process.Kill() }) // it may have ended by itself
	for range n {
		all.ends = append(all.ends, &pipeEnd{of: all, arrived: make(chan struct{}, 1)})
	}
	if err := all.open(); err != nil {
		return nil, fmt.Errorf("%s: %w", r, errors.Join(err, all.stop()))
	}
	return all, nil
}

// stop ends the process and waits for its end.
func (p *pipe) stop() error {
	p.late.Stop()
	return p.process.stop()
}

func (p *pipe) open() error {
	if err := p.write([]byte(initialize + "\n")); err != nil {
		return err
	}
	line, err := p.process.out.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.Contains(line, []byte(`"result"`)) {
		return fmt.Errorf("initialize: %s", line)
	}
	return p.write([]byte(initialized + "\n"))
}

func (p *pipe) write(line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.process.in.Write(line)
	return err
}

// read reads one line and gives it to the end that has asked. Other messages are dropped.
func (p *pipe) read() error {
	line, err := p.process.out.ReadSlice('\n')
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(string(member(line, "id")), 10, 64)
	i := (id - firstID) / idsEach
	if err != nil || i < 0 || i >= int64(len(p.ends)) {
		return nil //nolint:nilerr // a message of another kind
	}
	end := p.ends[i]
	end.body = append(end.body[:0], bytes.TrimSuffix(line, []byte("\n"))...)
	end.arrived <- struct{}{}
	return nil
}

// do implements [connection]. One of the waiting callers reads for all of them until its own answer has come.
func (e *pipeEnd) do(request []byte) (answer, error) {
	if err := e.of.write(request); err != nil {
		return answer{}, err
	}
	select {
	case <-e.arrived:
	case e.of.reading <- struct{}{}:
		for len(e.arrived) == 0 {
			if err := e.of.read(); err != nil {
				<-e.of.reading
				return answer{}, err
			}
		}
		<-e.arrived
		<-e.of.reading
	}
	return answer{status: http.StatusOK, body: e.body}, nil
}

func (e *pipeEnd) expect(d time.Duration) error {
	e.of.late.Reset(d + patience)
	return nil
}

// close does nothing: the owner of the process stops it.
func (e *pipeEnd) close() {}

// callers prepares calls with text, one caller for each end.
func (p *pipe) callers(text string) callers {
	var all callers
	for i, end := range p.ends {
		first := firstID + int64(i)*idsEach
		all = append(all, prepare(end, first, text, func(message string) []byte { return []byte(message + "\n") }))
	}
	return all
}
