package mcptool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

// strangeIDs are used at the same time. The Go SDK confuses the first two, and those beyond int64; the strings could be
// chosen by a client that knows how the others are transported.
var strangeIDs = []string{
	`9007199254740993`, `9007199254740992`, `-9007199254740993`, `123456789012345678901`, `123456789012345678902`,
	`9223372036854775807`, `-0`, `0`, `7`, `"7"`, `1` + strings.Repeat("0", 400),
	`"io.github.recoursehq.id:9007199254740993"`, `"io.github.recoursehq.id:7"`, `"io.github.recoursehq.id:"`,
	`"\u0069o.github.recoursehq.id:9007199254740994"`, `"io.github.recoursehq.id:\"io.github.recoursehq.id:7\""`,
	`"` + strings.Repeat("x", 4000) + `"`, `"io.github.recoursehq.id:` + strings.Repeat(`\"`, 2000) + `"`,
}

// A crowd is a server whose calls wait for each other.
type crowd struct {
	server *mcp.Server
	inside chan string // calls that have begun
	leave  chan struct{}
	ended  chan string // calls that were cancelled
}

func newCrowd() *crowd {
	c := &crowd{
		server: mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil),
		inside: make(chan string, 64), leave: make(chan struct{}), ended: make(chan string, 64),
	}
	type who struct {
		Name string `json:"name"`
	}
	mcp.AddTool(c.server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, in who) (*mcp.CallToolResult, any, error) {
		c.inside <- in.Name
		select {
		case <-c.leave:
		case <-ctx.Done():
			c.ended <- in.Name
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Name}}}, nil, nil
	})
	mcp.AddTool(c.server, &mcp.Tool{Name: "progress"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, err
	})
	return c
}

// await waits until these calls are received from the channel.
func await(t *testing.T, from chan string, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case name := <-from:
			got = append(got, name)
		case <-t.Context().Done():
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// An idWire is a way to a server on which tests choose the ids. request sends a request and returns all messages up to
// its answer.
type idWire struct {
	era     testkit.Era
	quiet   bool // no message precedes an answer
	request func(t *testing.T, id, method, params string) <-chan []*testkit.Message
	notify  func(t *testing.T, method, params string)
}

// next returns the messages, the answer last.
func next(t *testing.T, from <-chan []*testkit.Message) []*testkit.Message {
	t.Helper()
	select {
	case messages := <-from:
		if len(messages) == 0 || messages[0] == nil {
			t.Fatal("an empty answer")
		}
		return messages
	case <-t.Context().Done():
		t.Fatal("no answer")
		return nil
	}
}

// onIDWires runs a test over each transport, in each era.
func onIDWires(t *testing.T, test func(t *testing.T, c *crowd, wire *idWire)) {
	t.Helper()
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		for name, dial := range map[string]func(t *testing.T, server *mcp.Server, era testkit.Era) *idWire{
			"stdio":        idsOnStdio,
			"http, JSON":   idsOnHTTP(true),
			"http, events": idsOnHTTP(false),
		} {
			t.Run(name+", "+era.String(), func(t *testing.T) {
				t.Parallel()
				c := newCrowd()
				test(t, c, dial(t, c.server, era))
			})
		}
	}
}

func idsOnHTTP(isJSON bool) func(t *testing.T, server *mcp.Server, era testkit.Era) *idWire {
	return func(t *testing.T, server *mcp.Server, era testkit.Era) *idWire {
		t.Helper()
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: era == testkit.Modern, JSONResponse: isJSON})
		client := testkit.NewClient(t, listen(t, server, mcptool.Guard(handler, builtin(t, contract.Default))), era)
		if _, err := client.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		return &idWire{
			era: era, quiet: isJSON,
			request: func(t *testing.T, id, method, params string) <-chan []*testkit.Message {
				t.Helper()
				answer := make(chan []*testkit.Message, 1)
				body, header := client.Message(id, method, params)
				go func() {
					a, err := client.Post(t.Context(), body, header)
					if err != nil { // as for a call that was abandoned
						answer <- nil
						return
					}
					answer <- messagesOf(a)
				}()
				return answer
			},
			notify: func(t *testing.T, method, params string) {
				t.Helper()
				if a, err := client.Notify(t.Context(), method, params); err != nil || a.Status != http.StatusAccepted {
					t.Fatalf("%v %+v", err, a)
				}
			},
		}
	}
}

// messagesOf returns the messages of an answer: its events, or itself.
func messagesOf(a *testkit.Answer) []*testkit.Message {
	if a.Events == nil {
		return []*testkit.Message{a.Message}
	}
	var messages []*testkit.Message
	for _, event := range a.Events {
		if m := event.Message(); m != nil {
			messages = append(messages, m)
		}
	}
	return messages
}

func idsOnStdio(t *testing.T, server *mcp.Server, era testkit.Era) *idWire {
	t.Helper()
	read := make(chan struct{})
	t.Cleanup(func() { <-read }) // after the host has closed its pipes
	host := newHost(t, server)
	if era == testkit.Legacy {
		host.send(t, `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
			`"clientInfo":{"name":"test","version":"1"}}}`)
		host.next(t)
		host.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	message := testkit.DialClient("", era).Message
	var mu sync.Mutex
	waiting := map[string]chan []*testkit.Message{}
	go func() {
		defer close(read)
		var said []*testkit.Message
		for {
			line, err := host.lines.ReadBytes('\n')
			m := new(testkit.Message)
			if err != nil || json.Unmarshal(line, m) != nil {
				return
			}
			said = append(said, m)
			mu.Lock()
			answer := waiting[string(m.ID)]
			mu.Unlock()
			switch {
			case answer != nil:
				answer <- said
				said = nil
			case m.ID != nil:
				t.Errorf("an answer without a request: %.200s", line)
				mu.Lock()
				for _, answer := range waiting { // one of them will never get an answer
					close(answer)
				}
				clear(waiting)
				mu.Unlock()
			}
		}
	}()
	return &idWire{
		era: era,
		request: func(t *testing.T, id, method, params string) <-chan []*testkit.Message {
			t.Helper()
			answer := make(chan []*testkit.Message, 1)
			mu.Lock()
			waiting[id] = answer
			mu.Unlock()
			body, _ := message(id, method, params)
			host.send(t, string(body))
			return answer
		},
		notify: func(t *testing.T, method, params string) {
			t.Helper()
			body, _ := message("", method, params)
			host.send(t, string(body))
		},
	}
}

// With all these ids in use at the same time, each request gets its own answer, with its id as written.
func TestIDsThatTheSDKWouldAlter(t *testing.T) {
	t.Parallel()
	onIDWires(t, func(t *testing.T, c *crowd, wire *idWire) {
		t.Helper()
		answers := map[string]<-chan []*testkit.Message{}
		for i, id := range strangeIDs {
			answers[id] = wire.request(t, id, "tools/call", fmt.Sprintf(`{"name":"wait","arguments":{"name":"%d"}}`, i))
		}
		for range strangeIDs {
			select {
			case <-c.inside:
			case <-t.Context().Done():
				t.Fatal("the calls did not start")
			}
		}
		close(c.leave)
		for i, id := range strangeIDs {
			messages := next(t, answers[id])
			answer := messages[len(messages)-1]
			if string(answer.ID) != id {
				t.Errorf("%.60s is answered as %.60s", id, answer.ID)
			}
			if !bytes.Contains(answer.Result, fmt.Appendf(nil, `"text":"%d"`, i)) {
				t.Errorf("%.60s is answered with %.200s", id, answer.Raw)
			}
		}
	})
}

// A cancellation only ends the call with its id, and no call whose id the SDK would confuse with it.
func TestCancellationOfIDsThatTheSDKWouldAlter(t *testing.T) {
	t.Parallel()
	onIDWires(t, func(t *testing.T, c *crowd, wire *idWire) {
		t.Helper()
		if wire.era == testkit.Modern {
			return // over HTTP the end of the stream cancels; on stdio see below
		}
		checkCancellation(t, c, wire)
	})
	t.Run("stdio, modern", func(t *testing.T) {
		t.Parallel()
		c := newCrowd()
		checkCancellation(t, c, idsOnStdio(t, c.server, testkit.Modern))
	})
}

func checkCancellation(t *testing.T, c *crowd, wire *idWire) {
	t.Helper()
	ids := map[string]string{
		"odd": `9007199254740993`, "even": `9007199254740992`, "long": `123456789012345678901`, "one": `1`,
		"token": `"io.github.recoursehq.id:123456789012345678901"`,
	}
	for name, id := range ids {
		wire.request(t, id, "tools/call", fmt.Sprintf(`{"name":"wait","arguments":{"name":%q}}`, name))
	}
	await(t, c.inside, "odd", "even", "long", "one", "token")
	for _, id := range []string{`1.5`, `1.0`, `9007199254740994`, `123456789012345678902`, `"io.github.recoursehq.id:1"`, ids["odd"], ids["long"]} {
		wire.notify(t, "notifications/cancelled", `{"requestId":`+id+`}`)
	}
	await(t, c.ended, "odd", "long")
	wire.notify(t, "notifications/cancelled", `{"requestId":`+ids["token"]+`}`)
	await(t, c.ended, "token")
	wire.notify(t, "notifications/cancelled", `{"requestId":`+ids["one"]+`}`)
	await(t, c.ended, "one")
	close(c.leave)
}

// Other messages repeat an id as it was sent, too: progress its token, a subscription its request's id.
func TestTokensThatTheSDKWouldAlter(t *testing.T) {
	t.Parallel()
	onIDWires(t, func(t *testing.T, _ *crowd, wire *idWire) {
		t.Helper()
		if wire.quiet {
			return
		}
		for _, token := range []string{`9007199254740993`, `123456789012345678901`, `"io.github.recoursehq.id:7"`, `1.5`} {
			params := `{"name":"progress","arguments":{},"_meta":{"progressToken":` + token + `}}`
			if wire.era == testkit.Modern {
				params = strings.Replace(params, `}}`, `,"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
					`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}`, 1)
			}
			messages := next(t, wire.request(t, "123456789012345678901", "tools/call", params))
			if len(messages) != 2 || !bytes.Contains(messages[0].Params, []byte(`"progressToken":`+token+`,`)) ||
				string(messages[1].ID) != "123456789012345678901" {
				t.Errorf("%s: %s", token, messages[0].Raw)
			}
		}
	})
}

// So does the acknowledgement of a subscription.
func TestSubscriptionsWithIDsThatTheSDKWouldAlter(t *testing.T) {
	t.Parallel()
	const id, params = `123456789012345678901`, `{"notifications":{}}` // to nothing: it is acknowledged and ends
	onIDWires(t, func(t *testing.T, _ *crowd, wire *idWire) {
		t.Helper()
		if wire.era == testkit.Legacy {
			return
		}
		for _, m := range next(t, wire.request(t, id, "subscriptions/listen", params)) {
			if !bytes.Contains(append(m.Params, m.Result...), []byte(`"io.modelcontextprotocol/subscriptionId":`+id)) {
				t.Errorf("%s", m.Raw)
			}
		}
	})
}

// An answer that the client fetches later, because its stream broke off, has its id, too.
func TestResumedAnswersWithIDsThatTheSDKWouldAlter(t *testing.T) {
	t.Parallel()
	const id = `123456789012345678901`
	c := newCrowd()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return c.server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	client := testkit.NewClient(t, listen(t, c.server, mcptool.Guard(handler, builtin(t, contract.Default))), testkit.Legacy)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	body, header := client.Message(id, "tools/call", `{"name":"wait","arguments":{"name":"it"}}`)
	broken, err := client.OpenPost(t.Context(), body, header)
	if err != nil {
		t.Fatal(err)
	}
	first, err := broken.Next()
	if err != nil || first.ID == "" {
		t.Fatalf("%v %+v", err, first)
	}
	await(t, c.inside, "it")
	broken.Close()
	close(c.leave)
	resumed, err := client.Listen(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	if m, err := resumed.NextMessage(); err != nil || string(m.ID) != id || !bytes.Contains(m.Result, []byte(`"it"`)) {
		t.Errorf("%v %+v", err, m)
	}
}
