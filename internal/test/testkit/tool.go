package testkit

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// The tools that every [Server] has.
const (
	GetField    = "get_field"    // reads; takes field_id
	OrderCreate = "order_create" // writes; takes reference and amount, and may take currency, note and items
	OrderGet    = "order_get"    // reads; takes reference; says how many times the order was created
	Echo        = "echo"         // reads; takes message and returns it
	Ask         = "ask"          // asks the user: elicitation/create in the legacy era, input_required in the modern
	Progress    = "progress"     // takes count (3) and gapMs (0), and reports progress that often
)

// Arguments of GetField and OrderCreate.
const (
	FieldArgs = `{"field_id":"F-1"}`
	OrderArgs = `{"reference":"A-17","amount":12.5}`
)

// A Tool is a tool that a test adds to a [Server].
type Tool struct {
	// Name is the name in tools/call.
	Name string
	// Definition is the JSON object in tools/list. Empty means an object schema without properties.
	Definition string
	// Result returns the JSON of the result for a call's arguments, which are JSON or nil. Nil means a text block "ok".
	Result func(arguments json.RawMessage) string

	effect func(s *Server, arguments json.RawMessage) // changes the server's state, under its lock
	serve  func(e *Exchange)                          // answers if Result cannot
}

// Tools are the tools of a server, in the order of tools/list.
type Tools []Tool

// Find returns the tool with this name; nil if there is none.
func (t Tools) Find(name string) *Tool {
	i := slices.IndexFunc(t, func(tool Tool) bool { return tool.Name == name })
	if i < 0 {
		return nil
	}
	return &t[i]
}

// Definitions returns the JSON array in tools/list.
func (t Tools) Definitions() json.RawMessage {
	list := make([]string, len(t))
	for i, tool := range t {
		list[i] = tool.Definition
		if list[i] == "" {
			list[i] = protocol.Object("name", tool.Name, "inputSchema", json.RawMessage(`{"type":"object"}`))
		}
	}
	return json.RawMessage("[" + strings.Join(list, ",") + "]")
}

func (s *Server) currentTools() Tools {
	var tools Tools
	s.read(func() { tools = slices.Clone(s.tools) })
	return tools
}

// BuiltinTools returns the tools that every [Server] has.
func BuiltinTools() Tools {
	return Tools{
		{
			Name: GetField,
			Definition: `{"name":"get_field","title":"Get a field","description":"Returns a field.",` +
				`"inputSchema":{"type":"object","properties":{"field_id":{"type":"string","minLength":1,` +
				`"description":"The field's id."}},"required":["field_id"],"additionalProperties":false},` +
				`"annotations":{"readOnlyHint":true}}`,
			Result: func(arguments json.RawMessage) string {
				return protocol.StructuredResult(protocol.Object("field_id", protocol.Member(arguments, "field_id"), "name", "North", "hectares", 16.2))
			},
		},
		{
			Name: OrderCreate,
			Definition: `{"name":"order_create","title":"Create an order","description":"Creates an order.",` +
				`"inputSchema":{"type":"object","properties":{"reference":{"type":"string","minLength":1},` +
				`"amount":{"type":"number","exclusiveMinimum":0},"currency":{"enum":["EUR","USD"]},` +
				`"note":{"type":"string","maxLength":200},"items":{"type":"array","items":{"type":"object",` +
				`"properties":{"sku":{"type":"string"},"quantity":{"type":"integer","minimum":1}},` +
				`"required":["sku","quantity"],"additionalProperties":false}}},` +
				`"required":["reference","amount"],"additionalProperties":false},` +
				`"annotations":{"readOnlyHint":false,"idempotentHint":false}}`,
			Result: func(arguments json.RawMessage) string {
				return protocol.StructuredResult(protocol.Object("reference", protocol.Member(arguments, "reference"), "status", "created"))
			},
			effect: func(s *Server, arguments json.RawMessage) {
				var order struct {
					Reference string `json:"reference"`
				}
				_ = json.Unmarshal(arguments, &order) // an unreadable reference counts as empty
				s.orders[order.Reference]++
			},
		},
		{
			Name: OrderGet,
			Definition: `{"name":"order_get","title":"Get an order","description":"Returns an order.",` +
				`"inputSchema":{"type":"object","properties":{"reference":{"type":"string","minLength":1}},` +
				`"required":["reference"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`,
			serve: (*Exchange).getOrder,
		},
		{
			Name: Echo,
			Definition: `{"name":"echo","description":"Returns the message.","inputSchema":{"type":"object",` +
				`"properties":{"message":{"type":"string"}},"required":["message"]},"annotations":{"readOnlyHint":true}}`,
			Result: func(arguments json.RawMessage) string {
				var args struct {
					Message string `json:"message"`
				}
				_ = json.Unmarshal(arguments, &args) // an unreadable message counts as empty
				return protocol.TextResult(args.Message)
			},
		},
		{
			Name:       Ask,
			Definition: `{"name":"ask","description":"Asks the user for a name.","inputSchema":{"type":"object"}}`,
			serve:      (*Exchange).ask,
		},
		{
			Name: Progress,
			Definition: `{"name":"progress","description":"Reports progress.","inputSchema":{"type":"object",` +
				`"properties":{"count":{"type":"integer","minimum":0},"gapMs":{"type":"integer","minimum":0}}},` +
				`"annotations":{"readOnlyHint":true}}`,
			serve: (*Exchange).progress,
		},
	}
}

// callTool answers tools/call.
func (e *Exchange) callTool() {
	switch {
	case e.tool == nil:
		e.Refuse(http.StatusOK, protocol.CodeInvalidParams, "Unknown tool: "+e.call.Name, "")
	case e.tool.serve != nil:
		e.tool.serve(e)
	default:
		e.Answer(e.PlainResult())
	}
}

// PlainResult returns the tool's answer if nothing fails.
func (e *Exchange) PlainResult() string {
	if e.tool == nil || e.tool.Result == nil {
		return e.Result(protocol.TextResult("ok"))
	}
	return e.Result(e.tool.Result(e.call.Arguments))
}

func (e *Exchange) getOrder() {
	var args struct {
		Reference string `json:"reference"`
	}
	_ = json.Unmarshal(e.call.Arguments, &args) // an unreadable reference counts as empty
	times := e.server.Orders(args.Reference)
	if times == 0 {
		e.Answer(e.Result(protocol.ErrorResult("order " + args.Reference + " not found")))
		return
	}
	e.Answer(e.Result(protocol.StructuredResult(protocol.Object("reference", args.Reference, "status", "created", "times", times))))
}

// ask asks the client's user a question, and returns the client's answer as text.
func (e *Exchange) ask() {
	if e.era == Modern {
		e.Answer(e.call.Asks())
		return
	}
	waiting := make(chan json.RawMessage, 1)
	var id string
	e.server.update(func() {
		e.server.asked++
		id = protocol.Quote("ask-" + strconv.Itoa(e.server.asked))
		e.session.answers[id] = waiting
	})
	defer e.server.update(func() { delete(e.session.answers, id) })

	out := e.Events()
	out.Send("", `{"jsonrpc":"2.0","id":`+id+`,"method":"`+protocol.MethodElicit+`","params":`+protocol.Question+`}`)
	select {
	case answer := <-waiting:
		out.Send("", protocol.Answer(e.id, protocol.TextResult(string(answer))))
	case <-e.Context().Done():
	}
}

// progress reports progress to a client that asked for it, then answers.
func (e *Exchange) progress() {
	args := struct {
		Count int `json:"count"`
		GapMS int `json:"gapMs"`
	}{Count: 3}
	_ = json.Unmarshal(e.call.Arguments, &args) // unreadable arguments keep the defaults
	out := e.Events()
	for i := range args.Count {
		if !Pause(e.Context(), time.Duration(args.GapMS)*time.Millisecond) {
			return
		}
		if token := e.call.Meta.ProgressToken; token != nil {
			out.Send("", `{"jsonrpc":"2.0","method":"`+protocol.NotifyProgress+`","params":`+
				protocol.Object("progressToken", token, "progress", i+1, "total", args.Count)+`}`)
		}
	}
	done := e.Result(protocol.TextResult("done"))
	if out.begun {
		out.Send("", protocol.Answer(e.id, done))
		return
	}
	e.Answer(done)
}
