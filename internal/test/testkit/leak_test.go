package testkit_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

func TestServerLeavesNoGoroutine(t *testing.T) {
	testkit.NoGoroutineLeft(t)
	for _, era := range eras() {
		srv := testkit.NewServer(t)
		srv.Always(testkit.GetField, faults.Hang())
		srv.Always(testkit.OrderGet, faults.RestartDuring())
		ctx, client := connected(t, srv, era)
		hung := make(chan struct{})
		for _, tool := range []string{testkit.GetField, testkit.OrderGet} {
			go func() {
				_, _ = client.Call(ctx, tool, `{}`) // fails when the server restarts
				hung <- struct{}{}
			}()
		}
		<-hung
		if err := srv.Stop(); err != nil {
			t.Error(err)
		}
		<-hung
		client.Close()
	}
}
