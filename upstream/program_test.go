package upstream_test

import (
	"bufio"
	"bytes"
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
)

// A misbehaved is an MCP server on stdio that does what the tools that are called
// say, and at its start what its arguments say.
type misbehaved struct {
	args []string
	in   *bufio.Reader

	mu        sync.Mutex
	out       io.Writer
	cancelled []string
	answers   chan json.RawMessage // of the client, to what was asked
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
		Version   string          `json:"protocolVersion"`
		Arguments struct {
			N    int    `json:"n"`
			Text string `json:"text"`
		} `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		Capabilities json.RawMessage `json:"capabilities"`
	} `json:"params"`
}

// program is what the test binary does as a child.
func program(args []string) int {
	p := &misbehaved{args: args, in: bufio.NewReader(os.Stdin), out: os.Stdout, answers: make(chan json.RawMessage, 16)}
	if path := p.arg("starts="); path != "" {
		note(path)
	}
	switch {
	case p.is("linger"): // a grandchild
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
		return 0
	case p.is("die"), p.is("die-once") && len(read(p.arg("starts="))) == 1:
		fmt.Fprintln(os.Stderr, "cannot open the store")
		fmt.Fprintln(os.Stderr, "api_key=sk-live-51H8abcdefghijklmnop")
		return 3
	case p.is("mute"):
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case p.is("stubborn"):
		signal.Ignore(syscall.SIGTERM)
	case p.is("grandchild"):
		p.grandchild()
	}
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			if p.is("stubborn") {
				time.Sleep(time.Minute)
			}
			return 0
		}
		var m rpc
		if json.Unmarshal(line, &m) != nil {
			fmt.Fprintf(os.Stderr, "not a message: %q\n", line)
			continue
		}
		if !p.handle(&m) {
			return 1
		}
	}
}

func note(path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	_, _ = f.WriteString("x")
	_ = f.Close()
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

func (p *misbehaved) is(arg string) bool { return slices.Contains(p.args, arg) }

func (p *misbehaved) arg(prefix string) string {
	for _, arg := range p.args {
		if value, ok := strings.CutPrefix(arg, prefix); ok {
			return value
		}
	}
	return ""
}

// grandchild starts a process that outlives this one, with its stdout.
func (p *misbehaved) grandchild() {
	cmd := exec.Command(os.Args[0], "linger")
	cmd.Env, cmd.Stdout = os.Environ(), os.Stdout
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (p *misbehaved) write(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, line+"\n")
}

func (p *misbehaved) result(id json.RawMessage, result string) {
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (p *misbehaved) text(id json.RawMessage, text string) {
	p.result(id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
}

func (p *misbehaved) handle(m *rpc) bool {
	switch m.Method {
	case "initialize":
		p.initialize(m)
	case "":
		answer := m.Result
		if m.Error != nil {
			answer = m.Error
		}
		p.answers <- answer
	case "notifications/cancelled":
		p.mu.Lock()
		p.cancelled = append(p.cancelled, string(m.Params.RequestID))
		p.mu.Unlock()
	case "tools/call":
		return p.call(m)
	case "roots/changed":
		p.write(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
	default:
		if m.ID != nil {
			p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID))
		}
	}
	return true
}

func (p *misbehaved) initialize(m *rpc) {
	version := p.arg("version=")
	if version == "" {
		version = m.Params.Version
	}
	if p.is("refuse") {
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not today"}}`, m.ID))
		return
	}
	if p.is("ask-early") {
		p.write(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
	}
	p.result(m.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"},`+
		`"instructions":%q}`, version, string(m.Params.Capabilities)))
}

// call does what the tool is called. It reports false when the program ends.
func (p *misbehaved) call(m *rpc) bool {
	n, id := m.Params.Arguments.N, m.ID
	switch m.Params.Name {
	case "echo":
		p.text(id, m.Params.Arguments.Text)
	case "id":
		p.text(id, string(id)+" "+string(m.Params.Meta.Token))
	case "pid":
		p.text(id, strconv.Itoa(os.Getpid()))
	case "environ":
		p.text(id, strings.Join(os.Environ(), "\n"))
	case "sleep":
		go func() {
			time.Sleep(time.Duration(n) * time.Millisecond)
			p.text(id, "slept")
		}()
	case "never":
	case "progress-forever":
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.Params.Meta.Token))
	case "progress":
		for i := range n {
			p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.Params.Meta.Token, i))
		}
		p.text(id, "done")
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":99}}`, m.Params.Meta.Token))
	case "log":
		p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`)
		p.text(id, "logged")
	case "ask":
		p.write(`{"jsonrpc":"2.0","id":"q1","method":"` + m.Params.Arguments.Text + `"}`)
		go func() { p.text(id, string(<-p.answers)) }()
	case "cancelled":
		p.mu.Lock()
		text := strings.Join(p.cancelled, " ")
		p.mu.Unlock()
		p.text(id, text)
	default:
		return p.misbehave(m)
	}
	return true
}

func (p *misbehaved) misbehave(m *rpc) bool {
	n, id := m.Params.Arguments.N, m.ID
	switch m.Params.Name {
	case "exit":
		fmt.Fprintln(os.Stderr, "out of luck")
		return false
	case "answer-and-exit":
		p.text(id, "last words")
		return false
	case "half":
		_, _ = io.WriteString(p.out, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"content":[{"type":"te`)
		return false
	case "garbage":
		p.write("listening on stdio\n\n[1,2]\n{\"jsonrpc\":\"2.0\"}\n{broken\n\xff\xfe")
		p.text(id, "clean")
	case "twice":
		p.text(id, "first")
		p.text(id, "second")
	case "wrong-id":
		p.text(json.RawMessage(`"`+string(id)+`"`), "not mine")
		p.text(json.RawMessage(`777777`), "not mine")
		p.text(id, "mine")
	case "float-id":
		p.text(json.RawMessage(string(id)+".0"), "mine")
	case "flood-stderr":
		for range n {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
		}
		p.text(id, "flooded")
	case "large": // as Go writes it
		p.large(`{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"content":[{"type":"text","text":"`, n, `"}]}}`)
	case "large-id-last": // as TypeScript does
		p.large(`{"result":{"content":[{"type":"text","text":"`, n, `"}]},"jsonrpc":"2.0","id":`+string(id)+`}`)
	case "large-wrong-id":
		p.large(`{"result":{"content":[{"type":"text","text":"`, n, `"}]},"jsonrpc":"2.0","id":777777}`)
	case "large-broken":
		p.large(`{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"content":[{"type":"text","text":"`, n, `"]}}`)
	case "large-garbage":
		p.large("level=info ", n, "")
		p.text(id, "clean")
	case "large-question":
		p.large(`{"jsonrpc":"2.0","id":"q1","method":"roots/list","params":{"pad":"`, n, `"}}`)
		go func() { p.text(id, string(<-p.answers)) }()
	case "stop-reading":
		p.text(id, "goodbye")
		time.Sleep(time.Minute)
	case "close-stdout":
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Minute)
	}
	return true
}

func (p *misbehaved) large(before string, n int, after string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := bufio.NewWriterSize(p.out, 1<<20)
	_, _ = w.WriteString(before)
	chunk := bytes.Repeat([]byte("a"), 1<<10)
	for ; n > 0; n -= len(chunk) {
		_, _ = w.Write(chunk[:min(n, len(chunk))])
	}
	_, _ = w.WriteString(after + "\n")
	_ = w.Flush()
}
