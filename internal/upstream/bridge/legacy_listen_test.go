package bridge_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// subscribe opens a subscription and returns its stream.
func subscribe(t *testing.T, b *bridged, notifications string) io.Reader {
	t.Helper()
	header, body := modernRequest("subscriptions/listen", "", `"notifications":`+notifications+`,`, "")
	resp, err := b.Send(t.Context(), http.MethodPost, header, body)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Close() })
	return resp
}

// A client that has subscribed to a resource also learns of updates to its parts.
func TestSubscriptionToAPartOfAResource(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
	b := newBridge(t, o, bridge.Options{})
	events := wire.NewEventReader(subscribe(t, b, `{"resourceSubscriptions":["farm://fields"]}`), 0)
	if event, err := events.Next(); err != nil || !strings.Contains(string(event.Data), "farm://fields") {
		t.Fatal(event, err)
	}
	for _, uri := range []string{"farm://barns", "farm://fields2", "farm://fields/7"} {
		o.broadcast(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}`)
	}
	for { // the first notifications say that anything may have changed
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if data := string(event.Data); strings.Contains(data, "farm://fields/7") {
			return
		} else if strings.Contains(data, "fields2") || strings.Contains(data, "barns") {
			t.Fatalf("got %s, want an update of the part", data)
		}
	}
}

// If the server has lost the session, a subscription opens a new one.
func TestSubscriptionInALostSession(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
	b := newBridge(t, o, bridge.Options{Silent: true})
	header, body := modernRequest("tools/call", "t", "", "")
	if _, _, err := send(t, b, header, body); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	clear(o.sessions)
	o.mu.Unlock()
	event, err := wire.NewEventReader(subscribe(t, b, `{"toolsListChanged":true}`), 0).Next()
	if err != nil || !strings.Contains(string(event.Data), `"toolsListChanged":true`) {
		t.Errorf("got %+v, %v", event, err)
	}
}

// If the server gives no stream, the client learns that it gets no notifications.
func TestSubscriptionToASilentServer(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
	o.silent = true
	b := newBridge(t, o, bridge.Options{})
	text, err := io.ReadAll(subscribe(t, b, `{"toolsListChanged":true}`))
	if err != nil || !strings.Contains(string(text), `"notifications":{}`) || !strings.Contains(string(text), `"resultType":"complete"`) {
		t.Errorf("got %s, %v, want an end without notifications", text, err)
	}
}

// A subscription to a resource that begins while another one ends is not ended with it.
func TestSubscriptionsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var watched atomic.Bool
		again := make(chan struct{}, 2)
		o := newLegacyEra(t, func(c *serverCall) {
			switch c.m.Method {
			case wire.MethodSubscribe:
				watched.Store(true)
				again <- struct{}{}
			case wire.MethodUnsubscribe: // is late on its way, if it can be overtaken
				select {
				case <-again:
				case <-time.After(time.Second):
				}
				watched.Store(false)
			}
			c.answer(`{}`)
		})
		b := newBridge(t, o, bridge.Options{})
		first := subscribe(t, b, `{"resourceSubscriptions":["farm://fields"]}`)
		<-again
		synctest.Wait()
		if closer, ok := first.(io.Closer); !ok || closer.Close() != nil {
			t.Fatal("the subscription cannot be ended")
		}
		subscribe(t, b, `{"resourceSubscriptions":["farm://fields"]}`)
		time.Sleep(time.Minute)
		if !watched.Load() {
			t.Error("the server tells the second subscription nothing")
		}
	})
}

// A subscription goes on after the server has lost the session, even if it opens no other one at first; if it never will, the
// subscription ends.
func TestSubscriptionWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]struct {
		status int // with which it opens no session; 0: it opens one
		silent bool
		want   string
	}{
		"for a while":           {status: http.StatusServiceUnavailable, want: "list_changed"},
		"for good":              {status: http.StatusUnauthorized, want: `"resultType":"complete"`},
		"and has no stream now": {silent: true, want: `"resultType":"complete"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
				b := newBridge(t, o, bridge.Options{})
				stream := subscribe(t, b, `{"toolsListChanged":true}`)
				events := wire.NewEventReader(stream, 0)
				if event, err := events.Next(); err != nil {
					t.Fatal(event, err)
				}
				o.mu.Lock()
				clear(o.sessions)
				o.away, o.silent = away.status, away.silent
				o.mu.Unlock()
				o.cut()
				time.AfterFunc(time.Minute, func() {
					o.mu.Lock()
					defer o.mu.Unlock()
					o.away = 0
				})
				if closer, ok := stream.(io.Closer); ok {
					time.AfterFunc(time.Hour, func() { _ = closer.Close() })
				}
				event, err := events.Next()
				for away.silent && err == nil && strings.Contains(string(event.Data), "list_changed") {
					event, err = events.Next()
				}
				if err != nil || !strings.Contains(string(event.Data), away.want) {
					t.Errorf("got %+v, %v, want %s", event, err, away.want)
				}
			})
		})
	}
}
