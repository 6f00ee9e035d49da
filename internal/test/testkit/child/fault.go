package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// exitBefore is the fault that happens before the tool has run.
const exitBefore = "exit-before"

// failures are the faults of a call. They return false when the process ends.
var failures = map[string]func(c *toolCall) bool{
	exitBefore: func(*toolCall) bool { return false },
	"exit": func(*toolCall) bool {
		fmt.Fprintln(os.Stderr, "out of luck")
		return false
	},
	"answer-and-exit": func(c *toolCall) bool {
		c.say("last words")
		return false
	},
	"half": func(c *toolCall) bool {
		_, _ = io.WriteString(c.out, `{"jsonrpc":"2.0","id":`+string(c.id)+`,"result":{"content":[{"type":"te`)
		return false
	},
	"never": stay(func(*toolCall) {}),
	"progress-forever": stay(func(c *toolCall) {
		c.progressed("progress", 1)
	}),
	"garbage": stay(func(c *toolCall) {
		c.write("listening on stdio\n\n[1,2]\n{\"jsonrpc\":\"2.0\"}\n{broken\n\xff\xfe")
		c.say("clean")
	}),
	"twice": stay(func(c *toolCall) {
		c.say("first")
		c.say("second")
	}),
	"wrong-id": stay(func(c *toolCall) { // followed by the right one
		c.misaddress()
		c.say("mine")
	}),
	"wrong-id-only": stay((*toolCall).misaddress),
	"float-id": stay(func(c *toolCall) {
		c.text(json.RawMessage(string(c.id)+".0"), "mine")
	}),
	"leak": stay(func(c *toolCall) {
		c.result(c.id, protocol.ErrorResult(faults.LeakText))
	}),
	"leak-environ": stay(func(c *toolCall) {
		c.babble()
		c.result(c.id, protocol.ErrorResult("cannot log in: "+strings.Join(os.Environ(), ", ")+"; "+valuesOf(os.Environ())))
	}),
	"leak-environ-and-exit": func(c *toolCall) bool {
		c.babble()
		return false
	},
	"withhold": stay(func(c *toolCall) { // as the SDKs of Python do
		fmt.Fprintln(os.Stderr, "KeyError: 'acre', password=hunter2-s3cr3t")
		c.result(c.id, protocol.ErrorResult("Error executing tool "+c.params.Name))
	}),
	"flood-stderr": stay(func(c *toolCall) {
		for range c.args.N {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
		}
		c.say("flooded")
	}),
	"large": stay(func(c *toolCall) { // in the order that Go writes
		c.large(`{"jsonrpc":"2.0","id":`+string(c.id)+`,"result":{"content":[{"type":"text","text":"`, `"}]}}`)
	}),
	"large-id-last": stay(func(c *toolCall) { // in the order that TypeScript writes
		c.large(`{"result":{"content":[{"type":"text","text":"`, `"}]},"jsonrpc":"2.0","id":`+string(c.id)+`}`)
	}),
	"large-wrong-id": stay(func(c *toolCall) {
		c.large(`{"result":{"content":[{"type":"text","text":"`, `"}]},"jsonrpc":"2.0","id":777777}`)
	}),
	"large-broken": stay(func(c *toolCall) {
		c.large(`{"jsonrpc":"2.0","id":`+string(c.id)+`,"result":{"content":[{"type":"text","text":"`, `"]}}`)
	}),
	"large-garbage": stay(func(c *toolCall) {
		c.large("level=info ", "")
		c.say("clean")
	}),
	"large-question": stay(func(c *toolCall) {
		answer := c.ask("roots/list", `{"pad":"`+strings.Repeat("a", c.args.N)+`"}`)
		go func() { c.say(string(<-answer)) }()
	}),
	"stop-reading": stay(func(c *toolCall) {
		c.say("goodbye")
		time.Sleep(lifetime)
	}),
	"deaf": stay(func(*toolCall) { time.Sleep(lifetime) }),
	"close-stdout": stay(func(*toolCall) {
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(lifetime)
	}),
}

// stay is a fault that the process survives.
func stay(fault func(c *toolCall)) func(c *toolCall) bool {
	return func(c *toolCall) bool {
		fault(c)
		return true
	}
}

// misaddress answers calls that do not exist.
func (c *toolCall) misaddress() {
	c.text(json.RawMessage(`"`+string(c.id)+`"`), "not mine")
	c.text(json.RawMessage(`777777`), "not mine")
}

// Pauses is a text with which the tools large and large-id-last pause: see [Program.Release].
const Pauses = "pauses"

// large writes a line with n bytes between before and after. If text is [Pauses], it counts as a call of that tool when
// half of them have been written, and waits there until its Program is released.
func (c *toolCall) large(before, after string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := bufio.NewWriterSize(c.out, 1<<20)
	_, _ = w.WriteString(before)
	chunk := bytes.Repeat([]byte("a"), 1<<10)
	half := c.args.N / 2
	for i, n := range []int{half, c.args.N - half} {
		if i == 1 && c.args.Text == Pauses {
			_ = w.Flush()
			c.note(callsFile, Pauses)
			c.awaitRelease()
		}
		for ; n > 0; n -= len(chunk) {
			_, _ = w.Write(chunk[:min(n, len(chunk))])
		}
	}
	_, _ = w.WriteString(after + "\n")
	_ = w.Flush() // the parent may have gone
}

// babble writes its environment to stderr and stdout, with and without names.
func (c *toolCall) babble() {
	for _, variable := range os.Environ() {
		_, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(os.Stderr, "%s\nlogged in as %s\n", variable, value)
		c.write("logged in as " + value)
	}
}

// valuesOf returns the values of an environment.
func valuesOf(environ []string) string {
	values := make([]string, len(environ))
	for i, variable := range environ {
		_, values[i], _ = strings.Cut(variable, "=")
	}
	return strings.Join(values, " ")
}
