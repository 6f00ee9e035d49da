package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// An announcer is a server of the modern era with logging and subscriptions. It refuses subscriptions to resources whose
// URI contains "secret".
type announcer struct {
	mu      sync.Mutex
	streams map[*announcerStream]bool
	filters []string // of the subscriptions so far
	levels  []string // log levels of the calls
	refuse  bool     // it refuses subscriptions/listen
}

type announcerStream struct {
	id       string
	messages chan string
}

const announcerCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"logging":{},` +
	`"extensions":{"io.modelcontextprotocol/tasks":{},"x.example/y":{}}}`

func startAnnouncer(tb testing.TB) (*announcer, string) {
	tb.Helper()
	a := &announcer{streams: map[*announcerStream]bool{}}
	return a, testkit.Serve(tb, a) + "/mcp"
}

// ServeHTTP implements http.Handler.
func (a *announcer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta          map[string]json.RawMessage `json:"_meta"`
			Notifications map[string]json.RawMessage `json:"notifications"`
		} `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || r.Header.Get("Mcp-Protocol-Version") != "2026-07-28" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result := `"resultType":"complete"`
	switch m.Method {
	case "server/discover":
		result += `,"supportedVersions":["2026-07-28"],"capabilities":` + announcerCapabilities
	case "tools/list":
		result += `,"tools":[{"name":"t","inputSchema":{"type":"object"}}]`
	case "subscriptions/listen":
		a.listen(w, r, string(m.ID), m.Params.Notifications)
		return
	default:
		a.mu.Lock()
		a.levels = append(a.levels, string(m.Params.Meta["io.modelcontextprotocol/logLevel"]))
		a.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`, m.ID, result)
}

func (a *announcer) listen(w http.ResponseWriter, r *http.Request, id string, filter map[string]json.RawMessage) {
	text, _ := json.Marshal(filter)
	var uris []string
	_ = json.Unmarshal(filter["resourceSubscriptions"], &uris)
	uris = slices.DeleteFunc(uris, func(uri string) bool { return strings.Contains(uri, "secret") })
	if uris != nil {
		filter["resourceSubscriptions"], _ = json.Marshal(uris)
	}
	agreed, _ := json.Marshal(filter)
	s := &announcerStream{id: id, messages: make(chan string, 16)}
	a.mu.Lock()
	a.filters = append(a.filters, string(text))
	refuse := a.refuse
	if !refuse {
		a.streams[s] = true
	}
	a.mu.Unlock()
	if refuse {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
		return
	}
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.streams, s)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) {
		_, _ = fmt.Fprintf(w, "id: 1\ndata: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
	send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
		id + `},"notifications":` + string(agreed) + `}}`)
	for {
		select {
		case text, more := <-s.messages:
			if !more {
				return
			}
			send(text)
		case <-r.Context().Done():
			return
		}
	}
}

// announce sends a notification on every stream.
func (a *announcer) announce(method, params string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.streams {
		s.messages <- `{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + s.id + `}` + params + `}}`
	}
}

func (a *announcer) hangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.streams {
		close(s.messages)
	}
	clear(a.streams)
}

func (a *announcer) open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.streams)
}

func (a *announcer) lastFilter() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.filters[len(a.filters)-1]
}

func requestAbout(tb testing.TB, client *testkit.Client, method, uri string) *testkit.Answer {
	tb.Helper()
	a, err := client.Request(context.Background(), method, `{"uri":"`+uri+`"}`)
	if err != nil || a.Message == nil {
		tb.Fatalf("%s: got %+v, %v", method, a, err)
	}
	return a
}

// Notifications of a modern server reach the client on its GET stream, and the client's subscriptions reach the server.
func TestAnnouncementsOfModernServer(t *testing.T) {
	t.Parallel()
	server, url := startAnnouncer(t)
	f := gatewaytest.Start(t, url, "timeout: 5s")
	client := f.Client(t, testkit.Legacy)
	if a := requestAbout(t, client, "resources/subscribe", "file:///a"); a.Message.Error != nil {
		t.Fatalf("subscribing without a stream: got %s", a.Body)
	}
	stream, err := client.Listen(t.Context(), "")
	if err != nil || stream.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", stream, err)
	}
	defer stream.Close()
	const all = `{"resourceSubscriptions":["file:///a"%s],"resourcesListChanged":true,"toolsListChanged":true}`
	if diff := cmp.Diff(fmt.Sprintf(all, ""), server.lastFilter()); diff != "" {
		t.Errorf("the first filter (-want +got):\n%s", diff)
	}
	server.announce("notifications/tools/list_changed", "")
	if m := stream.MustNext(t); string(m.Raw) != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("got %s", m.Raw)
	}
	if a := requestAbout(t, client, "resources/subscribe", "file:///b"); a.Message.Error != nil {
		t.Fatalf("got %s", a.Body)
	}
	if diff := cmp.Diff(fmt.Sprintf(all, `,"file:///b"`), server.lastFilter()); diff != "" {
		t.Errorf("the second filter (-want +got):\n%s", diff)
	}
	testkit.Eventually(t, "the first subscription ends", func() bool { return server.open() == 1 })
	server.announce("notifications/resources/updated", `,"uri":"file:///b"`)
	if m := stream.MustNext(t); m.Method != "notifications/resources/updated" || string(m.Params) != `{"uri":"file:///b"}` {
		t.Errorf("got %s", m.Raw)
	}
	if a := requestAbout(t, client, "resources/subscribe", "file:///secret"); a.Message.Error == nil || a.Message.Error.Code != -32602 {
		t.Errorf("a refused resource: got %s", a.Body)
	}
	for range 2 { // the second time has no effect
		if a := requestAbout(t, client, "resources/unsubscribe", "file:///a"); a.Message.Error != nil {
			t.Errorf("unsubscribing: got %s", a.Body)
		}
	}
	if got := server.lastFilter(); strings.Contains(got, "file:///a") || strings.Contains(got, "secret") {
		t.Errorf("after unsubscribing: got %s", got)
	}
	testkit.Eventually(t, "one subscription is left", func() bool { return server.open() == 1 })
	server.hangUp()
	if _, err := stream.NextMessage(); err == nil {
		t.Error("the stream is open after the server's has ended")
	}
	again, err := client.Listen(t.Context(), "7")
	if err != nil || again.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", again, err)
	}
	if diff := cmp.Diff(strings.Replace(fmt.Sprintf(all, ""), "file:///a", "file:///b", 1), server.lastFilter()); diff != "" {
		t.Errorf("the filter of a new stream (-want +got):\n%s", diff)
	}
	third, err := client.Listen(t.Context(), "")
	if err != nil || third.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", third, err)
	}
	defer third.Close()
	if _, err := again.NextMessage(); err == nil {
		t.Error("the previous stream is still open")
	}
	again.Close()
	testkit.Eventually(t, "one subscription is left", func() bool { return server.open() == 1 })
	if _, err := client.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := third.NextMessage(); err == nil {
		t.Error("the stream is open after its session has ended")
	}
	testkit.Eventually(t, "no subscription is left", func() bool { return server.open() == 0 })
}

// A server without subscriptions/listen gives no stream, and invalid or too many subscriptions are refused.
func TestRefusedStreamsAndSubscriptions(t *testing.T) {
	t.Parallel()
	server, url := startAnnouncer(t)
	server.refuse = true
	client := gatewaytest.Start(t, url).Client(t, testkit.Legacy)
	if a, err := client.Send(t.Context(), http.MethodGet, nil, http.Header{"Accept": {"text/event-stream"}}); err != nil || a.Status != http.StatusMethodNotAllowed {
		t.Errorf("a server without subscriptions/listen: got %+v, %v", a, err)
	}
	for _, uri := range []string{"", strings.Repeat("u", 5000)} {
		if a := requestAbout(t, client, "resources/subscribe", uri); a.Message.Error == nil || a.Message.Error.Code != -32602 {
			t.Errorf("%.10s: got %s", uri, a.Body)
		}
	}
	for i := range 257 {
		a := requestAbout(t, client, "resources/subscribe", fmt.Sprintf("file:///%d", i))
		if (a.Message.Error != nil) != (i == 256) {
			t.Fatalf("subscription %d: got %s", i, a.Body)
		}
	}
	_, asking := startAsker(t, testkit.JSON, fine) // without notifications
	silent := gatewaytest.Start(t, asking).Client(t, testkit.Legacy)
	if a, err := silent.Send(t.Context(), http.MethodGet, nil, http.Header{"Accept": {"text/event-stream"}}); err != nil || a.Status != http.StatusMethodNotAllowed {
		t.Errorf("a server without notifications: got %+v, %v", a, err)
	}
}

// The client's log level is sent with each of its requests.
func TestLogLevelOfModernServer(t *testing.T) {
	t.Parallel()
	server, url := startAnnouncer(t)
	f := gatewaytest.Start(t, url)
	client, other := f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)
	for _, level := range []string{`"warning"`, `"debug"`} {
		if a, err := client.Request(t.Context(), "logging/setLevel", `{"level":`+level+`}`); err != nil || a.Message == nil || a.Message.Error != nil {
			t.Fatalf("got %+v, %v", a, err)
		}
		for _, c := range []*testkit.Client{client, other} {
			if _, err := c.Call(t.Context(), "t", `{}`); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, err := client.Request(t.Context(), "logging/setLevel", `{"level":"loud"}`); err != nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
		t.Errorf("no level: got %+v, %v", a, err)
	}
	if diff := cmp.Diff([]string{`"warning"`, ``, `"debug"`, ``}, server.levels); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

// The client sees the server's capabilities, except those that cannot be bridged.
func TestCapabilitiesOfModernServer(t *testing.T) {
	t.Parallel()
	_, url := startAnnouncer(t)
	a, err := testkit.NewClient(t, gatewaytest.Start(t, url, "title: The farm").URL, testkit.Legacy).Initialize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},` +
		`"resources":{"subscribe":true,"listChanged":true},"prompts":{},"logging":{},"extensions":{"x.example/y":{}}},` +
		`"serverInfo":{"name":"The farm","version":"unknown"}}`
	if diff := cmp.Diff(want, string(a.Message.Result)); diff != "" {
		t.Error(diff)
	}
}

// Progress has the client's own token. A notification cancels a call at the server; closing the stream does not, since in
// the legacy era that cancels nothing.
func TestCallsOfModernServerThatEnd(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, count, gap int) (*testkit.Server, *testkit.Client, *testkit.Stream) {
		t.Helper()
		srv, f := modernOnly(t, testkit.JSON, "timeout: 30s")
		client := f.Client(t, testkit.Legacy)
		stream, err := client.Open(context.Background(), "tools/call",
			fmt.Sprintf(`{"name":"progress","arguments":{"count":%d,"gapMs":%d},"_meta":{"progressToken":"tok\u00e9n"}}`, count, gap))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stream.Close)
		if m := stream.MustNext(t); m.Method != "notifications/progress" || !strings.Contains(string(m.Params), `"progressToken":"tok\u00e9n"`) {
			t.Fatalf("got %s", m.Raw)
		}
		return srv, client, stream
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		srv, client, stream := open(t, 1000, 20)
		if _, err := client.Notify(t.Context(), "notifications/cancelled", `{"requestId":2}`); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := srv.Await(ctx, func() bool { return srv.Cancellations(testkit.Progress) == 1 }); err != nil {
			t.Error(err)
		}
		for {
			if m, err := stream.NextMessage(); err != nil || m.Method == "" {
				break // any end of the stream
			}
		}
	})
	t.Run("stream closed", func(t *testing.T) {
		t.Parallel()
		srv, client, stream := open(t, 10, 30)
		stream.Close()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := srv.Await(ctx, func() bool { return srv.InFlight() == 0 }); err != nil {
			t.Error(err)
		}
		if got := srv.Cancellations(testkit.Progress); got != 0 {
			t.Errorf("got %d cancelled calls", got)
		}
		if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
			t.Errorf("the next call: got %+v, %v", a, err)
		}
	})
	t.Run("session ended", func(t *testing.T) {
		t.Parallel()
		srv, client, _ := open(t, 1000, 20)
		if _, err := client.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := srv.Await(ctx, func() bool { return srv.Cancellations(testkit.Progress) == 1 }); err != nil {
			t.Error(err)
		}
	})
}

// An answer larger than the window is streamed, in both forms and also after a question.
func TestLargeAnswersOfModernServer(t *testing.T) {
	t.Parallel()
	testLargeAnswersOfModernServer(t, 100<<10, 300<<10)
}

// The same for answers larger than a line that is kept in memory.
func TestLongLargeAnswersOfModernServer(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testLargeAnswersOfModernServer(t, 3<<20)
}

func testLargeAnswersOfModernServer(t *testing.T, sizes ...int64) {
	t.Helper()
	for _, form := range answerForms {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s, %d bytes", form, size), func(t *testing.T) {
				t.Parallel()
				srv, f := modernOnly(t, form, "timeout: 10s")
				client := f.Client(t, testkit.Legacy)
				client.Keep = 8 << 20
				srv.Next(testkit.Echo, faults.Large(form, size, faults.Whole))
				a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
				if err != nil || a.Message == nil || int64(len(a.Message.Result)) < size || strings.Contains(string(a.Body), "resultType") {
					t.Fatalf("got %v, HTTP %d, %d bytes, %.100s ... %s", err, a.Status, a.Size, a.Body, a.Body[max(0, len(a.Body)-100):])
				}
				stream, err := client.OpenCall(t.Context(), testkit.Ask, `{}`)
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				id := stream.MustNext(t).ID
				srv.Next(testkit.Ask, faults.Large(form, size, faults.Whole))
				client.MustRespond(t, id, `{"action":"accept","content":{}}`)
				m := stream.MustNext(t)
				if int64(len(m.Result)) < size || string(m.ID) != "3" || !json.Valid(m.Raw) || strings.Contains(string(m.Raw), "resultType") {
					t.Errorf("after a question: got %d bytes, %.100s ... %s", len(m.Raw), m.Raw, m.Raw[max(0, len(m.Raw)-100):])
				}
				if _, err := stream.Next(); err == nil {
					t.Error("got a message after the answer")
				}
			})
		}
	}
}

// Many subscriptions at the same time all reach the server.
func TestManySubscriptionsAtModernServer(t *testing.T) {
	t.Parallel()
	server, url := startAnnouncer(t)
	client := gatewaytest.Start(t, url, "timeout: 10s").Client(t, testkit.Legacy)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if a, err := client.Request(context.Background(), "resources/subscribe", fmt.Sprintf(`{"uri":"file:///%d"}`, i)); err != nil || a.Message == nil || a.Message.Error != nil {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
	stream, err := client.Listen(t.Context(), "")
	if err != nil || stream.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", stream, err)
	}
	defer stream.Close()
	wg.Wait()
	testkit.Eventually(t, "one subscription is left", func() bool { return server.open() == 1 })
	for i := range 8 {
		uri := fmt.Sprintf("file:///%d", i)
		if got := server.lastFilter(); !strings.Contains(got, uri) {
			t.Errorf("got %s, want %s in it", got, uri)
		}
	}
}
