package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

func TestMCPGoServer(t *testing.T) {
	t.Parallel()
	const within = 20 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	client := testkit.NewClient(t, mcpGoServer(t), testkit.Legacy)
	if _, err := client.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if client.Session == "" {
		t.Error("no session")
	}
	for _, test := range []struct{ tool, arguments, want string }{
		{toolEcho, `{"message":"m"}`, `"structuredContent":{"message":"m"}`},
		{toolAdd, `{"a":1,"b":2}`, `"structuredContent":{"sum":3}`},
		{toolFail, `{}`, `"code":-32603`},
		{toolLeak, `{}`, faults.Secrets()[0]},
		{toolSlow, `{"ms":1}`, `"text":"done"`},
		{toolOrder, `{"reference":"A"}`, `"text":"order A created"`},
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
