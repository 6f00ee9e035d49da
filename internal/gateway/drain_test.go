package gateway_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Draining ends endless streams on both sides; calls under way are answered.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', timeout: 10s}}\n")
			client := (&gatewaytest.Front{URL: testkit.ServeInMemory(t, g) + "/farm/mcp"}).Client(t, era)
			var stream *testkit.Stream
			var err error
			if era == testkit.Legacy {
				stream, err = client.Listen(t.Context(), "")
			} else {
				stream, err = client.Open(t.Context(), "subscriptions/listen", `{}`)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 1 }); err != nil {
				t.Fatal(err)
			}
			calls := make(chan *testkit.Answer, 1)
			go func() { calls <- progressing(t, client, 4, 100) }()
			if err := srv.Await(t.Context(), func() bool { return srv.Executions(testkit.Progress) == 1 }); err != nil {
				t.Fatal(err)
			}
			g.Drain()
			for {
				if _, err = stream.Next(); err != nil {
					break
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Errorf("stream: got %v", err)
			}
			if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 0 }); err != nil {
				t.Fatal(err)
			}
			if a := <-calls; !a.Succeeded() || len(a.Events) != 5 {
				t.Errorf("the call under way: got %s", a.Body)
			}
			g.Close()
			g.Close() // a second time has no effect
		})
	}
}

// Close waits for background work, such as the reopening of a session whose client has left.
func TestCloseEndsBackgroundWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', timeout: 30s}}\n")
		client := (&gatewaytest.Front{URL: testkit.ServeInMemory(t, g) + "/farm/mcp"}).Client(t, testkit.Legacy)
		srv.ForgetSessions()
		srv.Always("initialize", faults.Hang())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = client.Call(t.Context(), testkit.Echo, `{"message":"m"}`) // any answer
		}()
		if err := srv.Await(t.Context(), func() bool { return srv.Messages("initialize") == 2 }); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		g.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Error("the call still waits after Close")
		}
	})
}

// A call whose client has gone goes on for a while, also at an endpoint with several servers: Close ends it.
func TestCloseEndsCallsThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(testkit.Modern))
		g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', path: none}}\nendpoints: {all: {path: /mcp, servers: [farm]}}\n")
		client := (&gatewaytest.Front{URL: testkit.ServeInMemory(t, g) + "/mcp"}).Client(t, testkit.Legacy)
		srv.Next(testkit.Echo, faults.Hang())
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = client.Call(ctx, testkit.Echo, `{"message":"m"}`) }()
		if err := srv.Await(t.Context(), func() bool { return srv.Executions(testkit.Echo) == 1 }); err != nil {
			t.Fatal(err)
		}
		leave()
		synctest.Wait()
		begun := time.Now()
		g.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}
