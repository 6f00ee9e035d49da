package session_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// When a reload replaces a server by another URL or a program, its sessions continue at the new server, whatever the
// client does first. No write runs twice.
func TestSessionsMove(t *testing.T) {
	t.Parallel()
	first, second, program := testkit.NewServer(t), testkit.NewServer(t), child.NewProgram(t)
	entries := []string{
		"url: '" + second.URL() + "'", strings.Join(gatewaytest.Command(t, program), "\n    "), "url: '" + first.URL() + "'",
		strings.Join(append(gatewaytest.Command(t, program), "share: client"), "\n    "),
	}
	g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+first.URL()+"'}}\n")
	f := &gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}
	c, resting := f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)
	for round, entry := range entries {
		leaving := f.Client(t, testkit.Legacy)
		gatewaytest.Reload(t, g, "servers:\n  farm:\n    "+entry+"\n")
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() {
				a, err := c.Call(t.Context(), testkit.OrderCreate, fmt.Sprintf(`{"reference":"R-%d-%d","amount":12}`, round, i))
				if err != nil || !a.Succeeded() {
					t.Errorf("round %d: got %+v, %v", round, a, err)
				}
			})
		}
		calls.Wait()
		for i := range 4 {
			reference := fmt.Sprintf("R-%d-%d", round, i)
			if n := first.Orders(reference) + second.Orders(reference) + program.Orders(reference); n != 1 {
				t.Errorf("%s: got %d orders", reference, n)
			}
		}
		if a, err := c.Notify(t.Context(), "notifications/roots/list_changed", `{}`); err != nil || a.Status != http.StatusAccepted {
			t.Errorf("round %d: a notification: got %+v, %v", round, a, err)
		}
		if a, err := leaving.Delete(t.Context()); err != nil || a.Status != http.StatusNoContent {
			t.Errorf("round %d: the end of a session: got %+v, %v", round, a, err)
		}
		if a, err := leaving.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || a.Status != http.StatusNotFound {
			t.Errorf("round %d: after the end: got %+v, %v", round, a, err)
		}
	}
	if a, err := resting.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Errorf("after four reloads: got %+v, %v", a, err)
	}
	gatewaytest.Reload(t, g, "servers: {other: {url: '"+first.URL()+"'}}\n")
	if a, err := c.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("after the path is gone: got %+v, %v", a, err)
	}
}

// A session's stream is opened at the new server.
func TestStreamMoves(t *testing.T) {
	t.Parallel()
	first, second := testkit.NewServer(t), testkit.NewServer(t)
	g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+first.URL()+"'}}\n")
	c := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}).Client(t, testkit.Legacy)
	gatewaytest.Reload(t, g, "servers: {farm: {url: '"+second.URL()+"'}}\n")
	stream, err := c.Listen(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := second.Await(t.Context(), func() bool { return second.Streams() == 1 }); err != nil {
		t.Fatal(err)
	}
}
