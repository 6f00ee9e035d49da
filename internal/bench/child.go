package main

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"
)

// An mcpChild is an MCP server on standard input and output with the tool echo. It does as little as it can and, like
// [mcpServer], finds members by their names.
type mcpChild struct {
	delay time.Duration // between a call and its answer, while it accepts other calls

	mu     sync.Mutex
	out    io.Writer
	answer []byte // its memory, which is reused
}

// childDelay is how long the child takes for a call of a waiting tool, one that calls somebody else. It takes no
// processor time.
const childDelay = time.Millisecond

// serveChild answers messages until in ends. It does not wait for late answers then: nobody reads them.
func serveChild(in io.Reader, out io.Writer, delay time.Duration) error {
	c := &mcpChild{out: out, delay: delay}
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.handle(line)
	}
}

func (c *mcpChild) handle(line []byte) {
	id := member(line, "id")
	switch method := member(line, "method"); {
	case len(id) == 0: // a notification
	case string(method) == `"initialize"`:
		c.say(appendInitialized(nil, id))
	case string(method) == `"tools/list"`:
		c.say(appendTools(nil, id))
	case string(method) != `"tools/call"`:
		c.say(appendEmpty(nil, id))
	case c.delay > 0:
		answer := appendEcho(nil, id, line)
		time.AfterFunc(c.delay, func() { c.say(answer) })
	default:
		c.answer = appendEcho(c.answer[:0], id, line)
		c.say(c.answer)
	}
}

// say writes a message as a line.
func (c *mcpChild) say(message []byte) {
	message = append(message, '\n')
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(message) // a reader that has gone needs no answer
}
