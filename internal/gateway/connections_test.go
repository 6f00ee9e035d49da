package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// The connection to the server is reused for the next call, in every form of answer.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			from := map[string]bool{}
			url := answering(t, func(w http.ResponseWriter, r *http.Request, id string) {
				mu.Lock()
				from[r.RemoteAddr] = true
				mu.Unlock()
				w.Header().Set("Content-Type", contentType)
				message := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
				if contentType == "text/event-stream" {
					message = "data: " + message + "\n\n"
					defer func() { _, _ = io.WriteString(w, ": the end\n\n") }()
				}
				_, _ = io.WriteString(w, message)
				_ = http.NewResponseController(w).Flush()
			})
			client := gatewaytest.Start(t, url).Client(t, testkit.Modern)
			for range 10 {
				if a, err := client.Call(t.Context(), "any", `{}`); err != nil || !a.Succeeded() {
					t.Fatalf("got %+v, %v", a, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if len(from) != 1 {
				t.Errorf("got %d connections for 10 calls", len(from))
			}
		})
	}
}

// If a client leaves, the gateway closes the server's connection. In the modern era that cancels the call; in the legacy
// era the server continues, as it would without a gateway.
func TestClientGoes(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := gatewaytest.Start(t, srv.URL(), "timeout: 20s")
			client := f.Client(t, era)
			srv.Next(testkit.OrderCreate, faults.Hang())
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = client.Call(ctx, testkit.OrderCreate, `{"reference":"A-1","amount":1}`) // cancelled
			}()
			if err := srv.Await(t.Context(), func() bool { return srv.Executions(testkit.OrderCreate) == 1 }); err != nil {
				t.Fatal(err)
			}
			cancel()
			<-done
			if err := srv.Await(t.Context(), func() bool { return srv.Cancellations(testkit.OrderCreate) == 1 }); err != nil {
				t.Fatal(err)
			}
			f.Await(t, func(lines []gatewaytest.LogLine) bool {
				return len(lines) == 1 && lines[0].Kind == "cancelled" && lines[0].Effect == "unknown"
			})
			if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
				t.Errorf("the next call: got %+v, %v", a, err)
			}
		})
	}
}

// A client of the legacy era cancels with a notification.
func TestCancelledNotification(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL(), "timeout: 20s").Client(t, testkit.Legacy)
	srv.Next(testkit.GetField, faults.Hang())
	answers := make(chan *testkit.Answer, 1)
	go func() {
		a, _ := client.Call(context.Background(), testkit.GetField, `{"field_id":"F-1"}`) // any answer
		answers <- a
	}()
	if err := srv.Await(t.Context(), func() bool { return srv.Executions(testkit.GetField) == 1 }); err != nil {
		t.Fatal(err)
	}
	id := srv.Calls(testkit.GetField)[0].ID
	if _, err := client.Notify(t.Context(), "notifications/cancelled", `{"requestId":`+string(id)+`}`); err != nil {
		t.Fatal(err)
	}
	<-answers
	if got := srv.Attempts(testkit.GetField); got != 1 || srv.Cancellations(testkit.GetField) != 1 {
		t.Errorf("got %d attempts, %d cancelled", got, srv.Cancellations(testkit.GetField))
	}
}

// In the modern era POST is the only method: there is no GET stream and no session to DELETE.
func TestUnsupportedMethods(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Modern)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodHead, http.MethodPatch} {
		a, err := client.Send(t.Context(), method, nil, nil)
		if err != nil || a.Status != http.StatusMethodNotAllowed || !strings.Contains(a.Header.Get("Allow"), http.MethodPost) {
			t.Errorf("%s: got %+v, %v", method, a, err)
		}
	}
}

// A client without a session has no stream, whether its server is up, has sessions, or is down.
func TestNoStreamWithoutSession(t *testing.T) {
	t.Parallel()
	plain, sessions, down := testkit.NewServer(t, testkit.WithoutSessions()), testkit.NewServer(t), testkit.NewServer(t)
	if err := down.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, srv := range map[string]*testkit.Server{"without sessions": plain, "with sessions": sessions, "down": down} {
		client := gatewaytest.Start(t, srv.URL()).As(t, testkit.Legacy)
		s, err := client.Listen(t.Context(), "")
		if err != nil || s.Status != http.StatusMethodNotAllowed || s.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: got %+v, %v", name, s, err)
			continue
		}
		s.Close()
	}
}
