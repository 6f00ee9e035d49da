package bridge_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A legacy host on stdio gets the same as a client over HTTP: answers, questions and notifications.
func TestHostOfModernServer(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	g, _ := gatewaytest.Before(t, srv)
	h := gatewaytest.StartHost(t, g)
	h.Send(strings.Replace(gatewaytest.Hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1), gatewaytest.Ready)
	if m := h.Next(); m.Outcome() != `"init" result` {
		t.Fatal(m.Outcome())
	}
	h.Send(gatewaytest.EchoLine("1", "hi"))
	if m := h.Next(); m.Outcome() != "1 hi" {
		t.Fatal(m.Outcome())
	}
	const ask = `{"jsonrpc":"2.0","id":"ask","method":"tools/call","params":{"name":"ask","arguments":{}}}`
	h.Send(ask)
	question := h.Next()
	if question.Method != "elicitation/create" || !strings.Contains(string(question.Params), "What is your name?") {
		t.Fatalf("got %+v", question)
	}
	h.Send(gatewaytest.EchoLine("2", "meanwhile"))
	if m := h.Next(); m.Outcome() != "2 meanwhile" {
		t.Fatal(m.Outcome())
	}
	h.Send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	if m := h.Next(); !strings.Contains(m.Outcome(), `"ask" {"action":"accept","content":{"name":"Ada"}}`) {
		t.Fatal(m.Outcome())
	}
	h.Send(ask)
	question = h.Next()
	h.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`,
		`{"jsonrpc":"2.0","id":`+string(question.ID)+`,"result":{"action":"accept"}}`, gatewaytest.EchoLine("3", "still here"))
	if m := h.Next(); m.Outcome() != "3 still here" {
		t.Fatal(m.Outcome())
	}
	testkit.Eventually(t, "the host listens", func() bool { return srv.Streams() == 1 })
	srv.SetTools()
	if m := h.Next(); m.Outcome() != "method notifications/tools/list_changed" {
		t.Fatal(m.Outcome())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, "nothing is left", func() bool { return srv.InFlight() == 0 })
}

// A program that speaks only the modern era is detected, and bridged for legacy clients.
func TestModernProgram(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run(share, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.Start(t, "", append(gatewaytest.Command(t, child.NewProgram(t), "modern"), "share: "+share, "timeout: 10s")...)
			client, other := f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)
			for range 2 {
				for _, c := range []*testkit.Client{client, other} {
					if a, err := c.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() || strings.Contains(string(a.Body), "resultType") {
						t.Fatalf("got %+v, %v", a, err)
					}
				}
			}
			stream, err := client.OpenCall(t.Context(), testkit.Ask, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			client.MustRespond(t, stream.MustNext(t).ID, `{"action":"accept","content":{"name":"Ada"}}`)
			if m := stream.MustNext(t); m.Result == nil || !strings.Contains(string(m.Result), "Ada") {
				t.Errorf("got %s", m.Raw)
			}
			if a, err := client.Delete(t.Context()); err != nil || a.Status != 204 {
				t.Errorf("delete: got %+v, %v", a, err)
			}
		})
	}
}
