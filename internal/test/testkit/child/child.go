// Package child is an MCP server on stdio that fails on request, as [testkit.Server] does over HTTP: a child of the process
// under test. A test controls it with a [Program].
package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// Variable is the environment variable that makes a test binary such a server: its TestMain begins with
//
//	if os.Getenv(child.Variable) != "" {
//		os.Exit(child.Main(os.Args[1:]))
//	}
const Variable = "TESTKIT_CHILD"

// lifetime is how long a process that refuses to end lives. It is longer than any test waits.
const lifetime = time.Minute

// Main is an MCP server on stdin and stdout that fails on request, of the legacy era by default; it returns
// the exit code. It has the tools of [testkit.Server], others that tell a test what the child sees, and faults, which
// apply to a call that names one as its tool, or to a call of a tool for which its [Program] has one. Its
// arguments set what it does at its start:
//
//	dir=PATH        the folder of its Program
//	modern          it is of the modern era, and refuses initialize unless it has a version to answer
//	version=TEXT    the protocol version that it always answers
//	die             it ends before it has read anything
//	die-once        the first of its Program's processes does
//	mute            it reads, and never answers anything
//	refuse          it answers initialize with an error
//	ask-early       it sends its client a request before it answers initialize
//	everything      it announces that it logs and has tasks
//	own-tools       it lists a tool that is called own- and its process id
//	last-words      it writes something when its stdin ends, without a line feed
//	stubborn        it ends neither with its stdin nor by SIGTERM, and says so on stderr
//	grandchild      it starts a process like that, which has its stdout
func Main(args []string) int {
	c := &child{args: args, out: os.Stdout, waiting: map[string]chan json.RawMessage{}}
	c.dir = c.value("dir=")
	first := c.note(startsFile, strconv.Itoa(os.Getpid()))
	switch {
	case c.is("linger"): // the grandchild
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(lifetime)
		return 0
	case c.is("die"), c.is("die-once") && first, c.scripted(everyStart) == "die":
		fmt.Fprintln(os.Stderr, "cannot open the store")
		fmt.Fprintln(os.Stderr, "api_key=sk-live-51H8abcdefghijklmnop")
		return 3
	case c.is("mute"):
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case c.is("stubborn"):
		resist()
	case c.is("grandchild"):
		c.grandchild()
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if c.is("stubborn") {
				fmt.Fprintln(os.Stderr, "stdin has ended")
				time.Sleep(lifetime)
			}
			if c.is("last-words") {
				fmt.Fprint(os.Stderr, "the last words, password=hunter2-s3cr3t")
			}
			return 0
		}
		var m protocol.Incoming
		if json.Unmarshal(line, &m) != nil {
			fmt.Fprintf(os.Stderr, "not a message: %q\n", line)
			continue
		}
		if !c.handle(m) {
			return 1
		}
	}
}

// A child is the server that Main is.
type child struct {
	args []string
	dir  string // of its Program; empty: none

	mu        sync.Mutex
	out       io.Writer
	cancelled []string                        // ids of calls
	waiting   map[string]chan json.RawMessage // the answers to its questions, by id
	asked     int
	listening []json.RawMessage // ids of the open subscriptions of the modern era
	told      []string          // what its clients have subscribed to
}

func (c *child) is(arg string) bool { return slices.Contains(c.args, arg) }

// value returns the rest of the argument with that prefix.
func (c *child) value(prefix string) string {
	for _, arg := range c.args {
		if value, ok := strings.CutPrefix(arg, prefix); ok {
			return value
		}
	}
	return ""
}

// resist keeps SIGTERM from ending the process.
func resist() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		for range told {
			fmt.Fprintln(os.Stderr, "told to end")
		}
	}()
}

// grandchild starts a process that outlives this one, with its stdout.
func (c *child) grandchild() {
	cmd := exec.Command(os.Args[0], "linger")
	cmd.Env, cmd.Stdout = os.Environ(), os.Stdout
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (c *child) write(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, line+"\n") // the parent may have gone
}

func (c *child) result(id json.RawMessage, result string) {
	if c.is(modern) {
		result = protocol.Completed(result)
	}
	c.write(protocol.Answer(id, result))
}

func (c *child) text(id json.RawMessage, text string) { c.result(id, protocol.TextResult(text)) }

// handle handles a message. It returns false when the process ends.
func (c *child) handle(m protocol.Incoming) bool {
	if (c.is(modern) || c.is("both") && m.Method == protocol.MethodDiscover) && c.handleModern(m) {
		return true
	}
	switch m.Method {
	case protocol.MethodInitialize:
		c.initialize(m)
	case "":
		c.answered(m)
	case protocol.NotifyCancelled:
		c.mu.Lock()
		c.cancelled = append(c.cancelled, string(protocol.Member(m.Params, "requestId")))
		c.mu.Unlock()
	case protocol.MethodListTools:
		c.result(m.ID, protocol.Object("tools", c.tools().Definitions()))
	case protocol.MethodCallTool:
		return c.call(m)
	case protocol.MethodPing:
		c.result(m.ID, "{}")
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		c.hearInterest(m)
	case "roots/changed":
		c.write(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
	default:
		if m.ID != nil {
			c.write(protocol.Refusal(m.ID, protocol.CodeMethodNotFound, "unknown method", ""))
		}
	}
	return true
}

func (c *child) initialize(m protocol.Incoming) {
	if c.is("refuse") {
		c.write(protocol.Refusal(m.ID, protocol.CodeInvalidParams, "not today", ""))
		return
	}
	if c.is("ask-early") {
		c.write(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
	}
	version := protocol.Member(m.Params, "protocolVersion")
	if forced := c.value("version="); forced != "" {
		version = json.RawMessage(protocol.Quote(forced))
	}
	c.result(m.ID, protocol.Object(
		"protocolVersion", version,
		"capabilities", c.capabilities(),
		"serverInfo", json.RawMessage(protocol.ServerInfo),
		"instructions", string(protocol.Member(m.Params, "capabilities")), // so that a test sees what it received
	))
}

func (c *child) capabilities() json.RawMessage {
	if c.is("everything") {
		return json.RawMessage(`{"tools":{"listChanged":true},"logging":{},"tasks":{"list":{},"cancel":{}}}`)
	}
	return json.RawMessage(protocol.Capabilities)
}

// hearInterest records the subscriptions of a client of the legacy era. There is no resource "no:such".
func (c *child) hearInterest(m protocol.Incoming) {
	var params struct {
		URI   string `json:"uri"`
		Level string `json:"level"`
	}
	_ = json.Unmarshal(m.Params, &params) // missing members stay empty
	if params.URI == "no:such" {
		c.write(protocol.Refusal(m.ID, protocol.CodeInvalidParams, "there is no such resource", ""))
		return
	}
	_, what, _ := strings.Cut(m.Method, "/")
	c.mu.Lock()
	c.told = append(c.told, what+" "+params.URI+params.Level)
	c.mu.Unlock()
	c.result(m.ID, "{}")
}

// ask sends the client a request, and returns the channel for its answer.
func (c *child) ask(method, params string) <-chan json.RawMessage {
	c.mu.Lock()
	c.asked++
	id := protocol.Quote(fmt.Sprintf("q%d", c.asked))
	answer := make(chan json.RawMessage, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	question := `{"jsonrpc":"2.0","id":` + id + `,"method":` + protocol.Quote(method)
	if params != "" {
		question += `,"params":` + params
	}
	c.write(question + "}")
	return answer
}

// answered delivers the client's answer to the call that waits for it.
func (c *child) answered(m protocol.Incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := m.Result
	if m.Error != nil {
		answer = m.Error
	}
	if waiting := c.waiting[string(m.ID)]; waiting != nil {
		delete(c.waiting, string(m.ID))
		waiting <- answer
	}
}
