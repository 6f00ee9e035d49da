package child

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A toolCall is a call of a tool.
type toolCall struct {
	*child

	id     json.RawMessage
	raw    json.RawMessage // the params as they came
	params protocol.CallParams
	args   struct {
		N         int    `json:"n"`
		Text      string `json:"text"`
		Reference string `json:"reference"`
		Count     *int   `json:"count"`
		GapMS     int    `json:"gapMs"`
	}
}

// extraTools are the tools that a child has instead of the tools of [testkit.Server] that need HTTP, and those that
// report to a test.
var extraTools = map[string]func(c *toolCall){
	testkit.OrderGet: (*toolCall).getOrder,
	testkit.Ask: func(c *toolCall) {
		if c.is(modern) {
			c.write(protocol.Answer(c.id, c.params.Asks()))
			return
		}
		answer := c.ask(protocol.MethodElicit, protocol.Question)
		go func() { c.text(c.id, string(<-answer)) }()
	},
	testkit.Progress: func(c *toolCall) { go c.report() },

	"read_query":   func(c *toolCall) { c.say("[]") }, // as of mcp-server-sqlite, of which there is a profile
	"create_table": func(c *toolCall) { c.say("Table created successfully") },
	"list_tables":  func(c *toolCall) { c.say("[]") },

	"announce": func(c *toolCall) {
		if c.is(modern) {
			c.announce()
			return
		}
		c.write(`{"jsonrpc":"2.0","method":"` + protocol.NotifyToolsChanged + `"}`)
		c.say("announced")
	},
	"cancelled": (*toolCall).showCancelled, // the ids of the calls that were cancelled
	"count":     (*toolCall).count,         // progress from 0 up to n, and once more after its answer
	"environ":   func(c *toolCall) { c.say(strings.Join(os.Environ(), "\n")) },
	"unlisten": func(c *toolCall) { // ends the subscriptions
		c.unlisten()
		c.say("ended")
	},
	"id": func(c *toolCall) { c.say(string(c.id) + " " + string(c.params.Meta.ProgressToken)) },
	"log": func(c *toolCall) { // text is the level; info without one
		level := c.args.Text
		if level == "" {
			level = "info"
		}
		c.write(`{"jsonrpc":"2.0","method":"notifications/message","params":` + protocol.Object("level", level, "data", "hello") + `}`)
		c.say("logged")
	},
	"told": func(c *toolCall) { // what its clients have subscribed to, in order
		c.mu.Lock()
		text := strings.Join(c.told, "\n")
		c.mu.Unlock()
		c.say(text)
	},
	"update": func(c *toolCall) { // text is the URI of a resource that has changed
		c.write(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":` + protocol.Object("uri", c.args.Text) + `}`)
		c.say("updated")
	},
	"answer": func(c *toolCall) { // text is the id of another call, which it answers with n bytes, id last, before its own
		c.write(`{"result":` + protocol.TextResult("for "+c.args.Text+strings.Repeat(".", c.args.N)) + `,"jsonrpc":"2.0","id":` + c.args.Text + `}`)
		c.say("mine")
	},
	"hold": func(c *toolCall) { // returns text once its Program is released
		go func() {
			c.awaitRelease()
			c.say(c.args.Text)
		}()
	},
	"hang": func(c *toolCall) { c.progressed("progress", 0) }, // and no answer
	"raw": func(c *toolCall) { // text is lines that it writes before it answers
		c.write(c.args.Text)
		c.say("said")
	},
	"params": func(c *toolCall) { c.say(string(c.raw)) },
	"pid":    func(c *toolCall) { c.say(strconv.Itoa(os.Getpid())) },
	"question": func(c *toolCall) { // text is its method
		answer := c.ask(c.args.Text, "")
		go func() { c.text(c.id, string(<-answer)) }()
	},
	"sleep": func(c *toolCall) { // n milliseconds; returns text
		go func() {
			time.Sleep(time.Duration(c.args.N) * time.Millisecond)
			c.say(c.args.Text)
		}()
	},
}

// ownTool is a tool that no other process has.
func ownTool() string { return "own-" + strconv.Itoa(os.Getpid()) }

// tools are the tools that a child lists.
func (c *child) tools() testkit.Tools {
	tools := testkit.BuiltinTools()
	if c.is("own-tools") {
		tools = append(tools, testkit.Tool{Name: ownTool()})
	}
	for _, name := range slices.Sorted(maps.Keys(extraTools)) {
		if tools.Find(name) == nil {
			tools = append(tools, testkit.Tool{Name: name})
		}
	}
	return tools
}

// call runs the called tool. It returns false when the process ends.
func (c *child) call(m protocol.Incoming) bool {
	call := &toolCall{child: c, id: m.ID, raw: m.Params}
	_ = json.Unmarshal(m.Params, &call.params)            // missing members stay empty
	_ = json.Unmarshal(call.params.Arguments, &call.args) // missing members stay empty
	name := call.params.Name
	c.note(callsFile, name)
	if fault := c.scripted(name); fault != "" {
		if members, ok := strings.CutPrefix(fault, refusing); ok {
			c.write(protocol.Envelope(m.ID, members))
			return true
		}
		if members, ok := strings.CutPrefix(fault, replying); ok {
			call.run()
			c.write(protocol.Envelope(m.ID, members))
			return true
		}
		if fault != exitBefore {
			call.run()
		}
		return failures[fault](call)
	}
	if fault := failures[name]; fault != nil {
		return fault(call)
	}
	if tool := extraTools[name]; tool != nil {
		tool(call)
		return true
	}
	if c.is("own-tools") && name == ownTool() {
		call.say("mine")
		return true
	}
	tool := testkit.BuiltinTools().Find(name)
	if tool == nil {
		c.write(protocol.Refusal(m.ID, protocol.CodeInvalidParams, "Unknown tool: "+name, ""))
		return true
	}
	call.run()
	c.result(m.ID, tool.Result(call.params.Arguments))
	return true
}

// say answers with a text.
func (c *toolCall) say(text string) { c.text(c.id, text) }

// run makes the tool's change.
func (c *toolCall) run() {
	if c.params.Name == testkit.OrderCreate {
		c.note(ordersFile, c.args.Reference)
	}
}

func (c *toolCall) getOrder() {
	times := strings.Count(c.noted(ordersFile), c.args.Reference+"\n")
	if times == 0 {
		c.result(c.id, protocol.ErrorResult("order "+c.args.Reference+" not found"))
		return
	}
	c.result(c.id, protocol.StructuredResult(protocol.Object("reference", c.args.Reference, "status", "created", "times", times)))
}

// progressed reports progress, if the client has asked for it.
func (c *toolCall) progressed(members ...any) {
	if token := c.params.Meta.ProgressToken; token != nil {
		members = append([]any{"progressToken", token}, members...)
		c.write(`{"jsonrpc":"2.0","method":"` + protocol.NotifyProgress + `","params":` + protocol.Object(members...) + `}`)
	}
}

// report implements the tool [testkit.Progress].
func (c *toolCall) report() {
	count := 3
	if c.args.Count != nil {
		count = *c.args.Count
	}
	for i := range count {
		time.Sleep(time.Duration(c.args.GapMS) * time.Millisecond)
		c.progressed("progress", i+1, "total", count)
	}
	c.say("done")
}

func (c *toolCall) count() {
	for i := range c.args.N {
		c.progressed("progress", i)
	}
	c.say("done")
	c.progressed("progress", 99)
}

func (c *toolCall) showCancelled() {
	c.mu.Lock()
	text := strings.Join(c.cancelled, " ")
	c.mu.Unlock()
	c.say(text)
}
