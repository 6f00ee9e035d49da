package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// A diligent server notes what it is asked in its session, and in which.
type diligent struct {
	mu      sync.Mutex
	session int
	asked   []string
}

func (s *diligent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			URI   string `json:"uri"`
			Level string `json:"level"`
		} `json:"params"`
	}
	if r.Method == http.MethodDelete {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &msg) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("session-%d", s.session)
	switch {
	case msg.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", id)
	case r.Header.Get("Mcp-Session-Id") != id:
		http.Error(w, "session not found", http.StatusNotFound)
		return
	case strings.HasPrefix(msg.Method, "notifications/"):
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		s.asked = append(s.asked, fmt.Sprintf("%d %s %s%s", s.session, msg.Method, msg.Params.URI, msg.Params.Level))
	}
	w.Header().Set("Content-Type", "application/json")
	if msg.Params.URI == "farm://none" {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such resource"}}`, msg.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, msg.ID)
}

func (s *diligent) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session++
	s.asked = nil
}

func (s *diligent) wasAsked(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.asked, what)
}

// A server that has lost a session is told again, in the new one, what the client has subscribed to, and which logs it wants: the client
// does not know that there is another session.
func TestLostSessionIsAskedAgain(t *testing.T) {
	t.Parallel()
	srv := new(diligent)
	client := gatewaytest.Start(t, testkit.Serve(t, srv)+"/mcp", "timeout: 5s").Client(t, testkit.Legacy)
	for _, r := range [][2]string{
		{"resources/subscribe", `{"uri":"farm://fields"}`},
		{"resources/subscribe", `{"uri":"farm://barns"}`},
		{"resources/subscribe", `{"uri":"farm://none"}`},
		{"logging/setLevel", `{"level":"error"}`},
		{"logging/setLevel", `{"level":"info"}`},
		{"resources/unsubscribe", `{"uri":"farm://barns"}`},
	} {
		if _, err := client.Request(t.Context(), r[0], r[1]); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		srv.forget()
		if a, err := client.Request(t.Context(), "x/read", `{}`); err != nil || !a.Succeeded() {
			t.Fatalf("got %+v, %v", a, err)
		}
		for _, want := range []string{"resources/subscribe farm://fields", "logging/setLevel info"} {
			want = fmt.Sprintf("%d %s", round+1, want)
			testkit.Eventually(t, want, func() bool { return srv.wasAsked(want) })
		}
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if len(srv.asked) != 3 {
		t.Errorf("got %q, want nothing else", srv.asked)
	}
}

// What a client has asked of its session through one replica is asked again by another one, whether the session's id says all of it or
// Redis the rest. What it has taken back is not.
func TestLostSessionIsAskedAgainByAnotherReplica(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{true, false} {
		t.Run(fmt.Sprintf("long %t", long), func(t *testing.T) {
			t.Parallel()
			srv, url := new(diligent), service.Redis(t)
			server := "url: '" + testkit.Serve(t, srv) + "/mcp', timeout: 5s"
			own := replicaWith(t, server, url)
			first := testkit.NewClient(t, own, testkit.Legacy)
			if long {
				first, _ = longClient(t, own, nil)
			} else if _, err := first.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
			second := at(t, replicaWith(t, server, url), first)
			ask := func(at *testkit.Client, method, params string) {
				t.Helper()
				if a, err := at.Request(t.Context(), method, params); err != nil || !a.Succeeded() {
					t.Fatalf("got %+v, %v", a, err)
				}
			}
			ask(first, "resources/subscribe", `{"uri":"farm://fields"}`)
			ask(first, "resources/subscribe", `{"uri":"farm://barns"}`)
			ask(second, "resources/unsubscribe", `{"uri":"farm://barns"}`)
			ask(second, "logging/setLevel", `{"level":"info"}`)
			for _, client := range []*testkit.Client{second, first, second} {
				srv.forget()
				ask(client, "x/read", `{}`)
				for _, want := range []string{"resources/subscribe farm://fields", "logging/setLevel info"} {
					testkit.Eventually(t, want, func() bool { return srv.wasAskedOf(want) })
				}
				if srv.wasAskedOf("resources/subscribe farm://barns") {
					t.Error("what was taken back is asked again")
				}
			}
			if a, err := second.Delete(t.Context()); err != nil || a.Status != http.StatusOK {
				t.Fatalf("got %+v, %v", a, err)
			}
			if keys := redisClient(t, url).Keys(t.Context(), "*").Val(); len(keys) != 0 {
				t.Errorf("got keys %v in Redis, want none", keys)
			}
		})
	}
}

// wasAskedOf is wasAsked in the present session.
func (s *diligent) wasAskedOf(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.asked, fmt.Sprintf("%d %s", s.session, what))
}
