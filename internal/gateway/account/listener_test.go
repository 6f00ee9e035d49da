package account_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A notification of the gateway on a client's stream does not split an event of the server that is still arriving.
func TestNoticeBetweenEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 600<<10) + `"}}`
		connected := make(chan struct{})
		server := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodGet:
				w.Header().Set("Content-Type", wire.TypeEventStream)
				_, _ = io.WriteString(w, "data: "+large[:500<<10])
				_ = http.NewResponseController(w).Flush()
				select {
				case <-connected:
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, large[500<<10:]+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			case http.MethodPost:
				w.Header().Set("Mcp-Session-Id", "s")
				w.Header().Set("Content-Type", wire.TypeJSON)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
			}
		}))
		f := startBefore(t, "url: '"+server+"'", "api_key", "", "redact: off")
		client := f.linkClient(t, testkit.Legacy)
		stream, err := client.Listen(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		enterKey(t, f.shownIn(t, a).URL)
		synctest.Wait() // until the gateway has done what it does when an account is connected
		close(connected)
		if event, err := stream.Next(); err != nil || event.Data != large {
			t.Fatalf("got %d bytes of %d, %v", len(event.Data), len(large), err)
		}
		if event, err := stream.Next(); err != nil || !strings.Contains(event.Data, "elicitation/complete") {
			t.Errorf("got %.200s, %v", event.Data, err)
		}
	})
}

// A client that listens at an endpoint with several servers before the account at one of them is connected hears of that server's
// changes once it is. Until then, nobody sees a link.
func TestListenBeforeTheAccountIsConnected(t *testing.T) {
	t.Parallel()
	for era, method := range map[testkit.Era]string{testkit.Modern: protocol.MethodListen, testkit.Legacy: "initialize"} {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(era))
			srv.Always(method, faults.Unauthorized())
			f := startWithAccounts(t, srv, "device_code", "endpoints: {all: {servers: [farm]}}")
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			s := testkit.NewClient(t, f.url+"/all/mcp", testkit.Modern).MustListen(ctx, t)
			defer s.Close()
			s.MustNext(t)
			time.Sleep(time.Hour)
			if n := f.codes.Load(); n != 0 {
				t.Errorf("the provider was asked for %d codes", n)
			}
			f.connect(t)
			srv.Behave()
			if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
				t.Errorf("once it is connected: got %s", got)
			}
			time.Sleep(time.Minute)
			srv.SetTools(testkit.Tool{Name: "new"})
			if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
				t.Errorf("a change: got %s", got)
			}
		})
	}
}
