package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// A model is an endpoint that speaks like those of OpenAI (chat completions and responses, whole or streamed) and Gemini. It calls one
// tool, keeps what the next request has of the call, and answers "done" to that and whatever follows.
type model struct {
	class *class
	begin func() // before the call is made
	http  http.Server
	url   string

	mu     sync.Mutex
	asked  int    // requests so far
	called string // the name by which the tool was called; empty, if it was not listed
	sent   int    // how many items the request had that was answered with the call
	isTold bool
	told   []string // what the model has read of the call
}

func newModel(ctx context.Context, c *class, begin func()) (*model, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{class: c, begin: begin, url: "http://" + ln.Addr().String()}
	m.http.Handler = m
	go func() { _ = m.http.Serve(ln) }() // until stop
	return m, nil
}

func (m *model) stop() { _ = m.http.Close() }

// A prompt is a request to a model, in any of the forms.
type prompt struct {
	Stream   bool   `json:"stream"`
	Messages []item `json:"messages"`
	Input    items  `json:"input"`
	Contents []item `json:"contents"`
	Tools    []struct {
		Name                 string  `json:"name"`
		Tools                []named `json:"tools"` // of a namespace
		Function             named   `json:"function"`
		FunctionDeclarations []named `json:"functionDeclarations"`
	} `json:"tools"`
}

type named struct {
	Name string `json:"name"`
}

// items are a list, or a text that stands for the user's message.
type items []item

func (i *items) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*i = make(items, 1)
		return nil
	}
	return json.Unmarshal(b, (*[]item)(i))
}

// An item is a message, or an item of a conversation in responses.
type item struct {
	Role    string          `json:"role"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
	Parts   []struct {
		FunctionResponse struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	} `json:"parts"`
}

// text returns what the item tells of a call.
func (i *item) text() string {
	for _, part := range i.Parts {
		return string(part.FunctionResponse.Response)
	}
	raw := i.Content
	if len(i.Output) > 0 {
		raw = i.Output
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	var texts []string
	for _, block := range blocks {
		if block.Text == nil {
			return string(raw)
		}
		texts = append(texts, *block.Text)
	}
	return strings.Join(texts, "\n")
}

func (a *prompt) items() []item {
	switch {
	case len(a.Messages) > 0:
		return a.Messages
	case len(a.Contents) > 0:
		return a.Contents
	}
	return a.Input
}

// listed are the names of the tools.
func (a *prompt) listed() (names []string) {
	for _, tool := range a.Tools {
		names = append(names, tool.Name, tool.Function.Name)
		for _, one := range tool.Tools {
			names = append(names, tool.Name+"/"+one.Name)
		}
		for _, one := range tool.FunctionDeclarations {
			names = append(names, one.Name)
		}
	}
	return names
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := new(prompt)
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, a); err != nil || r.Method != http.MethodPost {
		http.Error(w, fmt.Sprint("not a request to a model: ", err), http.StatusNotFound)
		return
	}
	name, args := m.next(a)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/chat/completions"):
		chat(w, a.Stream, name, args)
	case strings.HasSuffix(path, "/responses"):
		responses(w, a.Stream, name, args)
	case strings.Contains(path, ":generateContent"), strings.Contains(path, ":streamGenerateContent"):
		gemini(w, strings.Contains(path, ":stream"), name, args)
	default:
		http.NotFound(w, r)
	}
}

// next returns the call that answers a request; without a name the answer is "done".
func (m *model) next(a *prompt) (name, args string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	final := ""
	for _, listed := range a.listed() {
		if prefix, found := strings.CutSuffix(listed, write); found && m.called == "" {
			tool, args := m.class.call()
			m.called, m.sent = prefix+tool, len(a.items())
			m.begin()
			return m.called, args
		}
		if listed == "final_answer" { // of smolagents, which wants to be told so
			final = listed
		}
	}
	if m.called != "" && !m.isTold {
		m.isTold = true
		m.told = results(a.items(), m.sent)
	}
	return final, `{"answer":"done"}`
}

// results are the results of tools among items or, if there are none, what has been added by others than the model.
func results(all []item, before int) (told []string) {
	for _, i := range all {
		isGemini := len(i.Parts) > 0 && len(i.Parts[0].FunctionResponse.Response) > 0
		if i.Role == "tool" || strings.HasSuffix(i.Type, "call_output") || isGemini {
			told = append(told, i.text())
		}
	}
	if len(told) > 0 {
		return told
	}
	for _, i := range all[min(before, len(all)-1):] { // or what is now in the last of the items before
		if i.Role != "assistant" && i.Role != "model" && i.Type != "function_call" && i.Type != "reasoning" {
			told = append(told, i.text())
		}
	}
	return told
}

// said is what the model has read, and how many requests it got.
func (m *model) said() (asked int, called string, told []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked, m.called, m.told
}

func chat(w http.ResponseWriter, stream bool, name, args string) {
	content, finish := `"content":"done"`, "stop"
	if name != "" {
		content = `"content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":` + quoted(name) +
			`,"arguments":` + quoted(args) + `}}]`
		finish = "tool_calls"
	}
	const usage = `"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`
	const head = `{"id":"chat_1","created":1,"model":"scripted",`
	message := `{"role":"assistant",` + content + `}`
	if !stream {
		answer(w, http.StatusOK, head+`"object":"chat.completion","choices":[{"index":0,"message":`+message+
			`,"finish_reason":"`+finish+`"}],`+usage+`}`)
		return
	}
	const chunk = head + `"object":"chat.completion.chunk",`
	events(w, "", chunk+`"choices":[{"index":0,"delta":`+message+`,"finish_reason":null}]}`,
		chunk+`"choices":[{"index":0,"delta":{},"finish_reason":"`+finish+`"}]}`, chunk+`"choices":[],`+usage+`}`, "[DONE]")
}

func responses(w http.ResponseWriter, stream bool, name, args string) {
	output := `{"type":"message","id":"msg_1","role":"assistant","status":"completed",` +
		`"content":[{"type":"output_text","text":"done","annotations":[]}]}`
	if name != "" {
		space := ""
		if prefix, rest, found := strings.Cut(name, "/"); found { // of a namespace
			space, name = `"namespace":`+quoted(prefix)+`,`, rest
		}
		output = `{"type":"function_call","id":"fc_1","call_id":"call_1","status":"completed",` + space + `"name":` + quoted(name) +
			`,"arguments":` + quoted(args) + `}`
	}
	whole := func(state, items string) string {
		return `{"id":"resp_1","object":"response","created_at":1,"status":"` + state + `","model":"scripted",` +
			`"parallel_tool_calls":false,"tool_choice":"auto","tools":[],"output":[` + items + `],` +
			`"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,` +
			`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}`
	}
	if !stream {
		answer(w, http.StatusOK, whole("completed", output))
		return
	}
	events(w, "type", `{"type":"response.created","sequence_number":0,"response":`+whole("in_progress", "")+`}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":`+output+`}`,
		`{"type":"response.output_item.done","sequence_number":2,"output_index":0,"item":`+output+`}`,
		`{"type":"response.completed","sequence_number":3,"response":`+whole("completed", output)+`}`)
}

func gemini(w http.ResponseWriter, stream bool, name, args string) {
	part := `{"text":"done"}`
	if name != "" {
		part = `{"functionCall":{"id":"call_1","name":` + quoted(name) + `,"args":` + args + `}}`
	}
	whole := `{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[` + part + `]}}],` +
		`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"modelVersion":"scripted"}`
	if stream {
		events(w, "", whole)
		return
	}
	answer(w, http.StatusOK, whole)
}

// events streams JSON objects; named says which member names each event.
func events(w http.ResponseWriter, named string, all ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, one := range all {
		if named != "" {
			var event map[string]any
			_ = json.Unmarshal([]byte(one), &event) // it is one of the above
			_, _ = fmt.Fprintf(w, "event: %v\n", event[named])
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", one) // the program may have gone
	}
}
