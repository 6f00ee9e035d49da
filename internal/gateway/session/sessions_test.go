package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// wantUnknownSession checks the problem document that makes a client open another session.
func wantUnknownSession(t *testing.T, a *testkit.Answer) {
	t.Helper()
	var problem struct {
		Type    string `json:"type"`
		Title   string `json:"title"`
		Status  int    `json:"status"`
		Detail  string `json:"detail"`
		JSONRPC string `json:"jsonrpc"`
	}
	err := json.Unmarshal(a.Body, &problem)
	if a.Status != http.StatusNotFound || a.Header.Get("Content-Type") != "application/problem+json" || err != nil ||
		problem.Type != "about:blank" || problem.Title != "Not Found" || problem.Status != 404 || problem.Detail == "" || problem.JSONRPC != "" {
		t.Errorf("got HTTP %d %s %s, want the problem document of an unknown session", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
}

func TestUnknownSession(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	known := client.Session
	if _, err := client.Delete(t.Context()); err != nil || srv.Sessions() != 0 {
		t.Fatalf("ending the session: got %v", err)
	}
	for _, session := range []string{known, "nope", strings.Repeat("x", 5000)} {
		client.Session = session
		calls := []func() (*testkit.Answer, error){
			func() (*testkit.Answer, error) { return client.Call(t.Context(), testkit.Echo, `{"message":"m"}`) },
			func() (*testkit.Answer, error) { return client.Notify(t.Context(), "notifications/x", "") },
			func() (*testkit.Answer, error) { return client.Delete(t.Context()) },
			func() (*testkit.Answer, error) { return client.Send(t.Context(), http.MethodGet, nil, nil) },
		}
		for _, call := range calls {
			a, err := call()
			if err != nil {
				t.Fatal(err)
			}
			wantUnknownSession(t, a)
		}
	}
	if srv.Attempts(testkit.Echo) != 0 {
		t.Error("a call of an unknown session reached the server")
	}
}

// Every contract reports an unknown session, and says what to do.
func TestUnknownSessionInEveryContract(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	for _, contract := range []string{"recourse", "fieldmcp", "commerce", "studies", "patterns", "terra"} {
		url := strings.TrimSuffix(gatewaytest.Start(t, srv.URL(), "contract: "+contract).URL, "/")
		client := testkit.NewClient(t, url, testkit.Legacy)
		client.Session = "nope"
		client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // terra requires them
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		wantUnknownSession(t, a)
		if !strings.Contains(string(a.Body), `"detail":"The session is not known. Initialize a new one."`) {
			t.Errorf("%s: got %s", contract, a.Body)
		}
	}
}

// A session belongs to the credentials with which it was opened.
func TestSessionOfOtherCredentials(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "forward: [authorization]")
	client := testkit.NewClient(t, f.URL, testkit.Legacy)
	client.Header = http.Header{"Authorization": {"Bearer alice"}}
	client.MustInitialize(t)
	thief := client.Clone(t)
	thief.Session = client.Session
	for _, credentials := range [][]string{{"Bearer mallory"}, {}, {"Bearer alice", "Bearer mallory"}} {
		thief.Header = http.Header{"Authorization": credentials}
		a, err := thief.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		wantUnknownSession(t, a)
	}
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Errorf("the owner: got %+v, %v", a, err)
	}
}

// A forgetful server of the legacy era has one session at a time, and refuses calls of others with refuse.
type forgetful struct {
	refuse func(w http.ResponseWriter)

	session     atomic.Int64
	initialized atomic.Int64
	notified    atomic.Int64
}

func (s *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &msg) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := fmt.Sprintf("session-%d", s.session.Load())
	switch {
	case msg.Method == "initialize":
		s.initialized.Add(1)
		w.Header().Set("Mcp-Session-Id", id)
	case r.Header.Get("Mcp-Session-Id") != id:
		s.refuse(w)
		return
	case msg.Method == "notifications/initialized":
		s.notified.Add(1)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","tools":[],"content":[],"capabilities":{}}}`, msg.ID)
}

// In whichever form a server reports a lost session, the gateway opens one new session for all its calls, and repeats
// them, including writes.
func TestLostSession(t *testing.T) {
	t.Parallel()
	rpc := func(status int, code int, text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":%d,"message":%q},"id":null}`, code, text)
		}
	}
	plain := func(status int, text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { http.Error(w, text, status) }
	}
	for name, refuse := range map[string]func(http.ResponseWriter){
		"404 of the Go SDK":              plain(http.StatusNotFound, "session not found"),
		"404 of mcp-go":                  plain(http.StatusNotFound, "Session terminated"),
		"404 of the TypeScript SDK":      rpc(http.StatusNotFound, -32001, "Session not found"),
		"400 of the TypeScript examples": rpc(http.StatusBadRequest, -32000, "Bad Request: No valid session ID provided"),
		"400 of an uninitialized server": rpc(http.StatusBadRequest, -32000, "Bad Request: Server not initialized"),
		"404 of the Python SDK":          rpc(http.StatusNotFound, -32600, "Session not found"),
		"404 without a body":             func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"404 with an HTML page":          plain(http.StatusNotFound, "<h1>404</h1>"),
		"404 with an old JSON-RPC code":  rpc(http.StatusNotFound, -32000, "whatever"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := &forgetful{refuse: refuse}
			client := gatewaytest.Start(t, testkit.Serve(t, srv)+"/mcp", "timeout: 5s").Client(t, testkit.Legacy)
			if a, err := client.Call(t.Context(), "any", `{}`); err != nil || !a.Result(t).IsError {
				t.Fatalf("a tool that is not listed: got %+v, %v", a, err)
			}
			srv.session.Add(1) // the server forgets the session
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() {
					a, err := client.Request(t.Context(), "x/write", `{}`)
					if err != nil || !a.Succeeded() {
						t.Errorf("got %+v, %v", a, err)
					}
				})
			}
			wg.Wait()
			if got := srv.initialized.Load(); got != 2 {
				t.Errorf("got %d initialize requests, want 2", got)
			}
			if got := srv.notified.Load(); got != 2 {
				t.Errorf("got %d initialized notifications, want 2", got)
			}
			srv.session.Add(1) // and again
			if a, err := client.Notify(t.Context(), "notifications/x", ""); err != nil || a.Status/100 != 2 {
				t.Errorf("a notification: got %+v, %v", a, err)
			}
			if got := srv.initialized.Load(); got != 3 {
				t.Errorf("got %d initialize requests, want 3", got)
			}
		})
	}
}

// After a restart between calls, reads and writes of many callers succeed.
func TestRestartBetweenCalls(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL(), "timeout: 5s").Client(t, testkit.Legacy)
	if err := srv.Restart(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			tool, arguments := testkit.GetField, `{"field_id":"F-1"}`
			if i%2 == 0 {
				tool, arguments = testkit.OrderCreate, fmt.Sprintf(`{"reference":"A-%d","amount":1}`, i)
			}
			if a, err := client.Call(t.Context(), tool, arguments); err != nil || !a.Succeeded() {
				t.Errorf("got %s, %v", a.Body, err)
			}
		})
	}
	wg.Wait()
	if got := srv.Messages("initialize"); got != 2 {
		t.Errorf("got %d initialize requests, want 2", got)
	}
	for i := 0; i < 32; i += 2 {
		if got := srv.Orders(fmt.Sprintf("A-%d", i)); got != 1 {
			t.Errorf("order A-%d: created %d times", i, got)
		}
	}
}

// If the server restarts during a call, a read is repeated in a new session. A write is not repeated, and fails with an
// unknown effect. The session is the client's or, across the bridge, the gateway's.
func TestRestartDuringCall(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			testRestartDuringCall(t, era)
		})
	}
}

func testRestartDuringCall(t *testing.T, era testkit.Era) {
	t.Helper()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	client := gatewaytest.Start(t, srv.URL(), "timeout: 5s").Client(t, era)
	srv.Next(testkit.GetField, faults.RestartDuring())
	a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnreachable || e.KnownEffect() != recourse.EffectUnknown {
		t.Errorf("an undeclared tool: got %s, effect %s", e.Kind, e.Effect)
	}

	srv = testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	client = gatewaytest.Start(t, srv.URL(), "timeout: 5s", "trust_annotations: true").Client(t, era)
	srv.Next(testkit.GetField, faults.RestartDuring())
	if a, err = client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil || !a.Succeeded() {
		t.Errorf("read: got %s, %v", a.Body, err)
	}
	srv.Next(testkit.OrderCreate, faults.RestartDuring())
	a, err = client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-1","amount":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnreachable || e.Effect != recourse.EffectUnknown || e.Origin != recourse.OriginGateway {
		t.Errorf("write: got %s of %s, effect %s", e.Kind, e.Origin, e.Effect)
	}
	if srv.Attempts(testkit.OrderCreate) != 1 || srv.Orders("A-1") != 1 {
		t.Errorf("write: got %d attempts, %d orders", srv.Attempts(testkit.OrderCreate), srv.Orders("A-1"))
	}
	if err := srv.Await(t.Context(), func() bool { return srv.Restarts() == 2 }); err != nil {
		t.Fatal(err)
	}
	if a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-2","amount":1}`); err != nil || !a.Succeeded() {
		t.Errorf("the next write: got %s, %v", a.Body, err)
	}
}

// If a lost session cannot be opened again, the call fails without an effect, and the next call tries again.
func TestReopeningALostSessionFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault testkit.Fault
		kind  recourse.Kind
	}{
		{"503", faults.Status(http.StatusServiceUnavailable, faults.Plain), recourse.KindUnavailable},
		{"401", faults.Unauthorized(), recourse.KindPermissionDenied},
		{"hang", faults.Hang(), recourse.KindTimeout},
		{"reset", faults.ResetBeforeAnswer(), recourse.KindUnreachable},
		{"HTML", faults.HTMLWith200(), recourse.KindBadResponse},
		{"wrong id", faults.WrongID(testkit.JSON), recourse.KindBadResponse},
		{"JSON-RPC error", faults.RPCError("no", -32603, "no", ""), recourse.KindBadResponse},
	} {
		testkit.Virtual(t, c.name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			client := gatewaytest.Start(t, srv.URL(), gatewaytest.UntilDeadline).Client(t, testkit.Legacy)
			srv.ForgetSessions()
			srv.Always("initialize", c.fault)
			a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-1","amount":1}`)
			if err != nil {
				t.Fatal(err)
			}
			if a.Took > gatewaytest.Deadline {
				t.Errorf("got the answer after %v", a.Took)
			}
			if e := gatewaytest.Record(t, a); e.Kind != c.kind || e.Effect != recourse.EffectNone {
				t.Errorf("got %s, effect %s: %s", e.Kind, e.Effect, a.Body)
			}
			if srv.Executions(testkit.OrderCreate) != 0 {
				t.Error("the tool ran")
			}
			srv.Behave()
			a, err = client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-1","amount":1}`)
			if err != nil || !a.Succeeded() || srv.Orders("A-1") != 1 {
				t.Errorf("the next call: got %s, %v", a.Body, err)
			}
		})
	}
}

// A GET stream of a lost session is opened in a new session, from the beginning.
func TestLostSessionOfGetStream(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	srv.ForgetSessions()
	stream, err := client.Listen(t.Context(), "17")
	if err != nil || stream.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", stream, err)
	}
	defer stream.Close()
	var gets []string
	for _, r := range srv.Requests() {
		if r.Method == http.MethodGet {
			gets = append(gets, r.Header.Get("Last-Event-ID"))
		}
	}
	if len(gets) != 2 || gets[0] != "17" || gets[1] != "" {
		t.Errorf("got Last-Event-ID %q with GET", gets)
	}
}

// A server without sessions, and a server that requires one of a client without a session.
func TestServersWithoutSessions(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithoutSessions())
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	if client.Session != "" {
		t.Errorf("got session %q", client.Session)
	}
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Errorf("got %s, %v", a.Body, err)
	}

	srv = testkit.NewServer(t)
	client = testkit.NewClient(t, gatewaytest.Start(t, srv.URL()).URL, testkit.Legacy)
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	wantUnknownSession(t, a)
}

// A session expires after a day without requests.
func TestIdleSession(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // so that no connection outlives the test
		w.Header().Set("Mcp-Session-Id", "one")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer upstream.Close()
	synctest.Test(t, func(t *testing.T) {
		g, _ := gatewaytest.New(t, "servers:\n  farm:\n    url: "+upstream.URL+"/mcp\n")
		send := func(session, method string) *http.Response {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/farm/mcp",
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`))
			r.Header.Set("Content-Type", "application/json")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			return w.Result()
		}
		idle, used := send("", "initialize").Header.Get("Mcp-Session-Id"), send("", "initialize").Header.Get("Mcp-Session-Id")
		for range 3 {
			time.Sleep(23 * time.Hour)
			if got := send(used, "ping").StatusCode; got != http.StatusOK {
				t.Errorf("got HTTP %d for a session in use", got)
			}
		}
		send("", "initialize")
		if got := send(idle, "ping").StatusCode; got != http.StatusNotFound {
			t.Errorf("got HTTP %d for a session that was idle for 69 hours", got)
		}
		if got := send(used, "ping").StatusCode; got != http.StatusOK {
			t.Errorf("got HTTP %d for a session in use", got)
		}
	})
}
