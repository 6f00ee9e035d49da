package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/upstream/process"
)

// A Program is a server on stdio.
type Program struct {
	Command []string
	Env     []string
	Stderr  io.Writer
	Leave   time.Duration // how long it may take to leave once its input has ended; 0 means 5 s
}

// Stdio reports that it is one.
func (*Program) Stdio() bool { return true }

// pause is how long the writer waits in the middle of a message that is sent in two pieces.
const pause = 50 * time.Millisecond

// Open starts the program.
func (p *Program) Open(ctx context.Context) (Conn, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.Command[0], p.Command[1:]...)
	cmd.Env, cmd.Stderr = p.Env, p.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &child{ledger: newLedger(), in: in, ended: make(chan struct{}), left: make(chan struct{}), leave: p.Leave}
	if c.leave == 0 {
		c.leave = 5 * time.Second
	}
	if err := c.group.Start(cmd); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", p.Command[0], err)
	}
	go func() {
		c.read(out)
		close(c.ended)
		_ = cmd.Wait() // how it ended does not matter
		close(c.left)
	}()
	return c, nil
}

// child is a running program.
type child struct {
	*ledger

	group process.Group
	leave time.Duration

	writing sync.Mutex
	in      io.WriteCloser

	ended chan struct{} // its output has ended
	left  chan struct{} // it is gone
}

// read reads what the program says, line by line, until it ends.
func (c *child) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 64<<10)
	var line []byte
	long := false // it is longer than is kept
	for {
		piece, err := lines.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(piece) > MaxMessage:
			line, long = nil, true
			c.tooLong()
		default:
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if reply := c.take(text); reply != nil {
				_ = c.write(reply, 0) // if it has ended, the reader notices
			}
		}
		if err != nil {
			return
		}
		line, long = nil, false
	}
}

// write writes a line. A program that does not read holds up its writer no longer than the connection lasts.
func (c *child) write(text []byte, cut int) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	line := append(bytes.Clone(text), '\n')
	if cut > 0 && cut < len(line) {
		if _, err := c.in.Write(line[:cut]); err != nil {
			return err
		}
		<-time.After(pause)
		line = line[cut:]
	}
	_, err := c.in.Write(line)
	return err
}

// Send writes the message and waits for its answer.
func (c *child) Send(ctx context.Context, m Message) Reply {
	var answer <-chan []byte
	if m.ID != "" {
		answer = c.expect(m.ID)
	}
	for _, id := range m.Also {
		c.expect(id)
	}
	written := make(chan error, 1)
	go func() { written <- c.write(m.Text, m.Cut) }()
	for {
		select {
		case err := <-written:
			switch {
			case err != nil:
				return Reply{Err: ErrEnded}
			case answer == nil:
				return Reply{}
			}
			written = nil
		case text := <-answer:
			return answered(text)
		case <-c.ended:
			select {
			case text := <-answer:
				return answered(text)
			default:
				return Reply{Err: ErrEnded}
			}
		case <-ctx.Done():
			return Reply{Err: ErrSilent}
		}
	}
}

// answered returns the answer with that text; nil: it is too long.
func answered(text []byte) Reply {
	if text == nil {
		return Reply{Err: ErrLong}
	}
	return Reply{Text: text}
}

// Close ends the program's input, and the program if it does not leave by itself. It does not wait for a writer, whom a program that
// does not read holds up for ever.
func (c *child) Close() bool {
	_ = c.in.Close() // it may have ended already
	clean := true
	select {
	case <-c.left:
	case <-time.After(c.leave):
		clean = false
	}
	c.end()
	return clean
}

// Break kills the program.
func (c *child) Break() { c.end() }

func (c *child) end() {
	c.group.Kill()
	<-c.left
	_ = c.in.Close()
	c.group.Close()
}
