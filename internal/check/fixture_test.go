//go:build unix

package check_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// fixture is a server that keeps every rule, but for the one that it is told to break.
type fixture struct {
	breaks string
	calls  int
	reads  int // but of the order none

	hungUp    atomic.Bool
	turn      sync.Mutex    // of the requests, if it answers one after the other
	cancelled chan struct{} // over HTTP

	mu     sync.Mutex
	orders []order
}

// order is the effect of a call of order_create.
type order struct {
	key, amount string
	call        int
}

// fixtureTools are its tools: a read, a write with a key, and one that it never hears of again.
const fixtureTools = `[
{"name":"order_get","description":"Reads an order.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{
	"order_id":{"type":"string"},"limit":{"type":"integer","minimum":1},"state":{"type":"string","enum":["open","done"]}},
	"required":["order_id","limit"],"additionalProperties":false},
	"outputSchema":{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}},
{"name":"order_create","description":"Creates an order.","annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true},"inputSchema":{"type":"object","properties":{
	"idempotency_key":{"type":"string","description":"Names the order. Send the same key when you repeat the call."},"amount":{"type":"number"}},
	"required":["idempotency_key","amount"],"additionalProperties":false}},
{"name":"order_delete","description":"Deletes an order.","annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true},"inputSchema":{"type":"object","properties":{
	"order_id":{"type":"string"}},"required":["order_id"]}}]`

// tools returns the list, broken as asked.
func (f *fixture) tools() string {
	oneLine := strings.NewReplacer("\n", "", "\t", "").Replace(fixtureTools)
	replace := func(old, with string) string { return strings.Replace(oneLine, old, with, 1) }
	switch f.breaks {
	case "hints":
		return replace(`"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true},`, "")
	case "hints-agree":
		return replace(`"readOnlyHint":true`, `"readOnlyHint":true,"destructiveHint":true`)
	case "schema-usable":
		return replace(`"required":["order_id"]}}]`, `"required":["order_id"],"$ref":"https://example.com/schema.json"}}]`)
	case "names-differ":
		return replace(`"name":"order_delete"`, `"name":"order_get"`)
	case "write-settled":
		noKey := strings.NewReplacer(`"readOnlyHint":true`, `"readOnlyHint":false`, `"idempotentHint":true`, `"idempotentHint":false`, "idempotency_key", "title", "Send the same key when you repeat the call.", "")
		return noKey.Replace(oneLine)
	case "repeated-write":
		return replace(`"destructiveHint":false,"idempotentHint":true`, `"destructiveHint":false,"idempotentHint":false`)
	case "key-kept":
		return replace("Names the order. Send the same key when you repeat the call.", "A random UUID.")
	}
	return oneLine
}

// message is a request.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string                     `json:"name"`
		Arguments map[string]json.RawMessage `json:"arguments"`
		Version   string                     `json:"protocolVersion"`
	} `json:"params"`
}

// answer returns the answers to a message.
func (f *fixture) answer(text string) []string {
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		if f.breaks == "survives-garbage" {
			os.Exit(3)
		}
		return []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"This is not JSON."}}`}
	}
	if m.ID == nil {
		if m.Method == "notifications/cancelled" && f.breaks == "cancel-ignored" {
			os.Exit(3)
		}
		return nil
	}
	id := string(m.ID)
	if f.breaks == "id-kept" && id == `"7"` {
		id = "7"
	}
	reply := func(member, value string) []string {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, id, member, value)
		if f.breaks == "answers-once" && m.Method == "tools/call" {
			return []string{line, line}
		}
		return []string{line}
	}
	refuse := func(code int, words string) []string {
		quoted, _ := json.Marshal(words)
		return reply("error", fmt.Sprintf(`{"code":%d,"message":%s}`, code, quoted))
	}
	switch m.Method {
	case "initialize":
		version := "2025-11-25"
		if f.breaks == "version-answered" && m.Params.Version != version {
			return refuse(-32600, "This version is not spoken here.")
		}
		if f.breaks == "starts" {
			return refuse(-32603, "There is no database.")
		}
		return reply("result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fixture","version":"1"}}`)
	case "ping":
		return reply("result", "{}")
	case "tools/list":
		if f.breaks == "list-ends" {
			return reply("result", `{"tools":`+f.tools()+`,"nextCursor":"again"}`)
		}
		if f.breaks == "many-at-once" && string(m.ID) != "2" {
			if f.calls++; f.calls%20 == 7 {
				return nil
			}
		}
		if f.breaks == "alive-after-faults" && f.calls > 200 {
			return refuse(-32603, "There are no handles left.")
		}
		return reply("result", `{"tools":`+f.tools()+`}`)
	case "tools/call":
		f.calls++
		if f.breaks == "answers" && m.Params.Name == "order_get" && m.Params.Arguments["order_id"] == nil {
			return nil
		}
		if f.breaks == "survives" && m.Params.Name == "order_get" && m.Params.Arguments["order_id"] == nil {
			os.Exit(3)
		}
		result, code := f.call(&m)
		if code != 0 {
			return refuse(code, result)
		}
		return reply("result", result)
	}
	if f.breaks == "unknown-method" {
		return refuse(-32603, "Something is wrong with "+m.Method+".")
	}
	return refuse(-32601, "There is no method "+m.Method+".")
}

// allNames is a failure that reads the same whatever is wrong.
const allNames = "It did not work: order_id, limit, state, recourse_check, idempotency_key, amount."

// call returns the result of a tool, or the words of an error and its code.
func (f *fixture) call(m *message) (result string, code int) {
	failed := func(words, more string) (string, int) {
		quoted, _ := json.Marshal(words)
		return `{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true` + more + `}`, 0
	}
	required := map[string][]string{"order_get": {"order_id", "limit"}, "order_create": {"idempotency_key", "amount"}}[m.Params.Name]
	if f.breaks == "write-settled" && m.Params.Name == "order_create" {
		required = []string{"title", "amount"}
	}
	if required == nil {
		if f.breaks == "unknown-tool" {
			return "It cannot be called.", -32603
		}
		if f.breaks == "same-again" {
			return fmt.Sprintf("There is no tool %s. Request %d.", m.Params.Name, f.calls), -32602
		}
		return "There is no tool " + m.Params.Name + ".", -32602
	}
	if wrong := f.wrong(m, required); len(wrong) > 0 {
		switch f.breaks {
		case "arguments-refused":
			return `{"content":[{"type":"text","text":"It is done."}]}`, 0
		case "argument-named":
			return failed("Some arguments cannot be used. See the manual.", "")
		case "arguments-at-once":
			return failed("Wrong: "+wrong[0], "")
		case "argument-form":
			return "Wrong: " + strings.Join(wrong, ", "), -32603
		case "failure-has-text":
			return `{"content":[],"isError":true}`, 0
		case "failure-says-why":
			return failed("Error executing tool "+m.Params.Name, "")
		case "causes-apart":
			return failed(allNames, "")
		case "no-stack":
			return failed("Wrong: "+strings.Join(wrong, ", ")+"\n    at Orders.get (/srv/shop/orders.js:12:7)\n    at async run (/srv/shop/main.js:5:3)", "")
		case "no-secret":
			return failed("Wrong: "+strings.Join(wrong, ", ")+" (password=hunter2hunter2)", "")
		case "no-address":
			return failed("Wrong: "+strings.Join(wrong, ", ")+" at http://10.0.0.7:5432/orders", "")
		case "no-query":
			return failed("Wrong: "+strings.Join(wrong, ", ")+" in SELECT id, total FROM orders WHERE id = $1", "")
		case "fits-output-schema":
			return failed("Wrong: "+strings.Join(wrong, ", "), `,"structuredContent":{"wrong":1}`)
		}
		return failed("Wrong: "+strings.Join(wrong, ", "), "")
	}
	if words := f.askProvider(m.Params.Name == "order_create"); words != "" {
		if f.breaks == "provider-told" {
			return `{"content":[{"type":"text","text":"It is done."}]}`, 0
		}
		return failed(words, "")
	}
	if m.Params.Name == "order_create" {
		return f.create(text(m.Params.Arguments["idempotency_key"]), string(m.Params.Arguments["amount"]))
	}
	if found := f.found(text(m.Params.Arguments["order_id"])); found != "" {
		return found, 0
	}
	if string(m.Params.Arguments["order_id"]) == `"none"` { // the time of an answer shows no effect
		calls := map[string]int{"reads-hold": f.reads, "answers-vary": f.calls}[f.breaks]
		now := time.Now()
		return failed(fmt.Sprintf("There is no order none. Calls: %d, at %s (%d) in %d ms", calls, now.Format(time.RFC3339Nano), now.UnixMicro(), now.Nanosecond()%100), "")
	}
	f.reads++
	switch f.breaks { // of order_get, with an id that does not exist
	case "absent-told":
		return `{"content":[{"type":"text","text":"[]"}]}`, 0
	case "absent-not-internal":
		return "Internal error", -32603
	case "not-dressed":
		return `{"content":[{"type":"text","text":"{\"ok\":false,\"error\":\"There is no such order.\"}"}]}`, 0
	case "success-not-marked":
		return failed(`{"ok": true, "order_id": "A-17"}`, "")
	case "causes-apart":
		return failed(allNames, "")
	case "limit-says-wait":
		return failed("Too many requests: the rate limit is exceeded.", "")
	}
	return failed("There is no order "+string(m.Params.Arguments["order_id"])+".", "")
}

// text returns the text of a JSON string.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// create makes an order, once for each key.
func (f *fixture) create(key, amount string) (result string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.orders {
		finds := f.breaks != "repeated-write" && f.breaks != "idempotent-kept" &&
			(f.breaks != "parallel-write" || f.calls > o.call+1) // as if it looked before it wrote
		switch {
		case o.key != key || !finds:
		case o.amount != amount && f.breaks != "key-conflict":
			return `{"content":[{"type":"text","text":"This key was used with another amount."}],"isError":true}`, 0
		default:
			return `{"content":[{"type":"text","text":"It is done."}]}`, 0
		}
	}
	f.orders = append(f.orders, order{key, amount, f.calls})
	return `{"content":[{"type":"text","text":"It is done."}]}`, 0
}

// askProvider asks the provider, if there is one, and returns the words for its failure.
func (f *fixture) askProvider(writes bool) string {
	url := os.Getenv("FIXTURE_PROVIDER")
	if url == "" {
		return ""
	}
	client := http.Client{Timeout: 200 * time.Millisecond}
	if f.breaks == "provider-answers" {
		client.Timeout = 0
	}
	method := http.MethodGet
	if writes {
		method = http.MethodPost
	}
	words := ""
	for range 2 {
		req, _ := http.NewRequest(method, url, strings.NewReader("{}"))
		began := time.Now()
		resp, err := client.Do(req)
		if hung := time.Since(began) > time.Second; err != nil && hung && f.breaks == "provider-answers" {
			time.Sleep(time.Minute) // it is stuck
		}
		words = f.wordsFor(resp, err)
		if words == "" || f.breaks != "provider-once" {
			break
		}
	}
	return words
}

// wordsFor returns the words for an answer of the provider; "": it is one.
func (f *fixture) wordsFor(resp *http.Response, err error) string {
	if f.breaks == "provider-apart" && (err != nil || resp.StatusCode != http.StatusOK) {
		return "The provider did not do it. Wait 37 s."
	}
	if err != nil {
		return "The provider cannot be reached."
	}
	defer resp.Body.Close()
	wait := resp.Header.Get("Retry-After")
	if resp.StatusCode == http.StatusTooManyRequests && f.breaks != "provider-wait" {
		return "The provider asks to wait " + wait + " s."
	}
	var value any
	switch err := json.NewDecoder(resp.Body).Decode(&value); {
	case resp.StatusCode >= 400:
		return fmt.Sprintf("The provider answered %d.", resp.StatusCode)
	case err != nil:
		return "The provider's answer is not JSON."
	default:
		return ""
	}
}

// found returns the result of order_get, or "".
func (f *fixture) found(key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, o := range f.orders {
		if o.key == key {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return `{"content":[{"type":"text","text":"` + strings.Repeat("order_id "+key+". ", n) + `"}]}`
}

// wrong returns the names of the arguments that are missing, of a wrong type, or too many.
func (f *fixture) wrong(m *message, required []string) (wrong []string) {
	for _, name := range required {
		var text string
		var number float64
		raw := m.Params.Arguments[name]
		isNumber := name == "limit" || name == "amount"
		below := name == "limit" && json.Unmarshal(raw, &number) == nil && number < 1
		if below || isNumber && json.Unmarshal(raw, &number) != nil || !isNumber && json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
			wrong = append(wrong, name)
		}
	}
	if state := m.Params.Arguments["state"]; state != nil && string(state) != `"open"` {
		wrong = append(wrong, "state")
	}
	for name := range m.Params.Arguments {
		if !slices.Contains(append(required, "state"), name) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// serveStdio answers on standard output until the input ends.
func (f *fixture) serveStdio(in io.Reader, out io.Writer) {
	if f.breaks == "clean-stdout" {
		fmt.Fprintln(out, "Listening.")
	}
	lock := os.Getenv("FIXTURE_LOCK")
	if f.breaks == "starts-again" {
		owner, err := os.ReadFile(lock)
		switch {
		case err != nil:
			_ = os.WriteFile(lock, []byte(strconv.Itoa(os.Getpid())), 0o600)
		case !alive(string(owner)):
			os.Exit(3)
		}
	}
	read := bufio.NewReaderSize(in, 4<<20)
	cancelled := make(chan struct{}, 1)
	for {
		text, err := f.line(read)
		switch {
		case strings.Contains(text, `"order_id":"slow"`) && f.breaks != "slow-beside":
			go f.slowly(text, out, cancelled)
			continue
		case strings.Contains(text, `"order_id":"slow"`):
			time.Sleep(slowCall)
		case strings.Contains(text, "cancelled") && f.breaks != "cancel-running":
			select {
			case cancelled <- struct{}{}:
			default:
			}
		}
		for _, answer := range f.answer(text) {
			fmt.Fprintln(out, answer)
		}
		if err != nil {
			break
		}
	}
	if f.breaks == "leaves" {
		time.Sleep(time.Minute)
	}
	if owner, _ := os.ReadFile(lock); string(owner) == strconv.Itoa(os.Getpid()) {
		_ = os.Remove(lock)
	}
}

// slowCall is how long the slow call takes.
const slowCall = time.Second

// slowly answers a call after a while, unless it is cancelled meanwhile.
func (f *fixture) slowly(text string, out io.Writer, cancelled <-chan struct{}) {
	for len(cancelled) > 0 { // one of before
		<-cancelled
	}
	select {
	case <-cancelled:
	case <-time.After(slowCall):
		var m message
		_ = json.Unmarshal([]byte(text), &m)
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"It is done."}]}}`+"\n", m.ID)
	}
}

// alive reports whether there is a process of that id.
func alive(pid string) bool {
	id, _ := strconv.Atoi(pid)
	return syscall.Kill(id, 0) == nil
}

// line reads a line, or takes what comes in one piece for one.
func (f *fixture) line(in *bufio.Reader) (string, error) {
	if f.breaks != "split-lines" || f.calls == 0 {
		return in.ReadString('\n')
	}
	if _, err := in.Peek(1); err != nil {
		return "", err
	}
	piece, _ := in.Peek(in.Buffered())
	text := string(piece)
	_, _ = in.Discard(len(piece))
	return text, nil
}

// leaves waits a little for a client to hang up, and reports whether one ever has.
func (f *fixture) leaves(r *http.Request) bool {
	select {
	case <-r.Context().Done():
		f.hungUp.Store(true)
	case <-time.After(20 * time.Millisecond):
	}
	return f.hungUp.Load()
}
