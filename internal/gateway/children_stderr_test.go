package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// What a program writes to stderr while it fails at a call stands beside the failure, for the operator only. If another call was under
// way, that is said to be a guess.
func TestStderrDuringACall(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			testStderr(t, era)
		})
	}
}

func testStderr(t *testing.T, era testkit.Era) {
	t.Helper()
	program := child.NewProgram(t)
	f := gatewaytest.StartProgram(t, program)
	client := f.Client(t, era)
	client.MustCall(t, testkit.Echo, `{"message":"m"}`)
	fail := func(want string) {
		t.Helper()
		program.Next(testkit.GetField, "withhold")
		a := client.MustCall(t, testkit.GetField, testkit.FieldArgs)
		e := gatewaytest.Record(t, a)
		if e.Kind != recourse.KindInternal || strings.Contains(string(a.Body), "KeyError") {
			t.Errorf("got %s", a.Body)
		}
		if text := f.Log.String(); !strings.Contains(text, want+"KeyError: 'acre'") || strings.Contains(text, "hunter2") {
			t.Errorf("got log %s", text)
		}
	}
	fail("stderr during the call: ")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.Call(ctx, "hang", "{}") // it ends with the test
	}()
	testkit.Eventually(t, "another call is under way", func() bool { return program.Calls("hang") > 0 })
	fail("(a guess: it may be about another one): ")
	cancel()
	<-ended
}
