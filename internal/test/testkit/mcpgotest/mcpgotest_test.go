package mcpgotest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/mcpgotest"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

func TestServer(t *testing.T) {
	t.Parallel()
	const within = 20 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	client := testkit.NewClient(t, mcpgotest.NewServer(t), testkit.Legacy)
	if _, err := client.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if client.Session == "" {
		t.Error("no session")
	}
	for _, test := range []struct{ tool, arguments, want string }{
		{sdk.Echo, `{"message":"m"}`, `"structuredContent":{"message":"m"}`},
		{sdk.Add, `{"a":1,"b":2}`, `"structuredContent":{"sum":3}`},
		{sdk.Fail, `{}`, `"code":-32603`},
		{sdk.Leak, `{}`, faults.Secrets()[0]},
		{sdk.Slow, `{"ms":1}`, `"text":"done"`},
		{sdk.Order, `{"reference":"A"}`, `"text":"order A created"`},
	} {
		answer, err := client.Call(ctx, test.tool, test.arguments)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(answer.Body), test.want) {
			t.Errorf("%s: %s, want %s in it", test.tool, answer.Body, test.want)
		}
	}
	answer, err := client.Request(ctx, "tools/call", `{"name":"progress","arguments":{"count":2},"_meta":{"progressToken":"p"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(answer.Events); got < 2 || got > 3 { // mcp-go drops progress that overtakes its own writer
		t.Errorf("%d events, want up to two of progress and the answer: %s", got, answer.Body)
	}
}
