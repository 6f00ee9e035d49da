package bridge_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// asking answers a call after an elicitation on the stream of the call.
func asking(c *serverCall) {
	answer := c.ask("elicitation/create", c.say)
	c.answer(`{"is":` + string(append([]byte{}, first(answer.Result, answer.Error)...)) + `}`)
}

func first(texts ...[]byte) []byte {
	for _, text := range texts {
		if text != nil {
			return text
		}
	}
	return []byte("null")
}

// held begins a call, checks that it is held for a question, and returns its state.
func held(tb testing.TB, b *bridged, tool string) string {
	tb.Helper()
	header, body := modernRequest("tools/call", tool, "", "")
	answer, _, err := send(tb, b, header, body)
	if err != nil || answer.Result.ResultType != "input_required" {
		tb.Fatalf("got %+v, %v", answer, err)
	}
	return answer.Result.RequestState
}

// resume continues a held call with the answer to its question.
func resume(tb testing.TB, b *bridged, tool, state string) (told, error) {
	tb.Helper()
	header, body := modernRequest("tools/call", tool, fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":{"action":"accept"}},`, state), "")
	answer, _, err := send(tb, b, header, body)
	return answer, err
}

// A held call waits ten minutes for its client. Then it is cancelled at the server, and its state is
// no longer valid.
func TestHeldCallExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, asking)
		b := newBridge(t, o, bridge.Options{})
		state := held(t, b, "t")
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		if n := o.count("notifications/cancelled"); n != 0 {
			t.Error("the call was cancelled too soon")
		}
		if answer, err := resume(t, b, "t", state); err != nil || answer.Result.ResultType != "complete" {
			t.Errorf("just in time: got %+v, %v", answer, err)
		}
		state = held(t, b, "t")
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if n := o.count("notifications/cancelled"); n != 1 {
			t.Errorf("got %d cancellations, want 1", n)
		}
		if _, err := resume(t, b, "t", state); !errors.Is(err, recourse.KindInvalidState) {
			t.Errorf("too late: got %v, want %s", err, recourse.KindInvalidState)
		}
	})
}

// Ten calls of one caller can be held, and a hundred at one server. The next question is refused, and its
// call goes on.
func TestTooManyHeldCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, asking)
		b := newBridge(t, o, bridge.Options{Forward: []string{"Authorization"}})
		call := func(caller string) told {
			header, body := modernRequest("tools/call", "t", "", "")
			header.Set("Authorization", caller)
			answer, _, err := send(t, b, header, body)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		refused := func(caller string) {
			t.Helper()
			if answer := call(caller); answer.Result.ResultType != "complete" || !strings.Contains(fmt.Sprint(answer.Result.Is), "too many questions") {
				t.Errorf("caller %s: got %+v, want a refused question", caller, answer)
			}
		}
		for caller := range 10 {
			for range 10 {
				if answer := call(strconv.Itoa(caller)); answer.Result.ResultType != "input_required" {
					t.Fatalf("got %+v, want a held call", answer)
				}
			}
			refused(strconv.Itoa(caller))
		}
		refused("somebody")
	})
}

// Each question of a tool is one round trip of the client.
func TestQuestionsInARow(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, func(c *serverCall) {
		c.ask("elicitation/create", c.say)
		c.ask("roots/list", c.say)
		if answer := c.ask("sampling/createMessage", c.say); answer.Error == nil {
			c.tb.Errorf("a client without sampling answered %s", answer.Result)
		}
		c.ask("ping", c.say)
		c.answer(`{}`)
	})
	b := newBridge(t, o, bridge.Options{})
	state := held(t, b, "t")
	answer, err := resume(t, b, "t", state)
	if err != nil || answer.Result.ResultType != "input_required" || answer.Result.RequestState == state {
		t.Fatalf("second question: got %+v, %v", answer, err)
	}
	if answer, err = resume(t, b, "t", answer.Result.RequestState); err != nil || answer.Result.ResultType != "complete" {
		t.Errorf("got %+v, %v", answer, err)
	}
}

// A question on the session's stream belongs to the only call under way. If there are several calls, it
// is refused.
func TestQuestionOnTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, nil)
		o.call = func(c *serverCall) {
			if c.m.Name == "wait" {
				time.Sleep(time.Minute)
				c.answer(`{}`)
				return
			}
			answer := c.ask("elicitation/create", o.broadcast)
			c.answer(`{"is":` + string(first(answer.Result, answer.Error)) + `}`)
		}
		b := newBridge(t, o, bridge.Options{Forward: []string{"Authorization"}})
		state := held(t, b, "t")
		if answer, err := resume(t, b, "t", state); err != nil || !strings.Contains(fmt.Sprint(answer.Result.Is), "accept") {
			t.Errorf("got %+v, %v", answer, err)
		}
		var other sync.WaitGroup
		other.Go(func() {
			header, body := modernRequest("tools/call", "wait", "", "")
			if answer, _, err := send(t, b, header, body); err != nil || answer.Result.ResultType != "complete" {
				t.Errorf("got %+v, %v", answer, err)
			}
		})
		synctest.Wait()
		header, body := modernRequest("tools/call", "t", "", "")
		answer, _, err := send(t, b, header, body)
		if err != nil || !strings.Contains(fmt.Sprint(answer.Result.Is), "cannot be told") {
			t.Errorf("got %+v, %v", answer, err)
		}
		other.Wait()
	})
}

// A list beside the call, which a client or the gateway fetches when the server says that it has changed, leaves no question
// open: a list has no place for one.
func TestQuestionBesideAList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, nil)
		o.call = func(c *serverCall) {
			if c.m.Method == "tools/list" {
				time.Sleep(time.Minute)
				c.answer(`{"tools":[]}`)
				return
			}
			answer := c.ask("elicitation/create", o.broadcast)
			c.answer(`{"is":` + string(first(answer.Result, answer.Error)) + `}`)
		}
		b := newBridge(t, o, bridge.Options{Forward: []string{"Authorization"}})
		state := held(t, b, "t") // opens the stream
		if _, err := resume(t, b, "t", state); err != nil {
			t.Fatal(err)
		}
		var list sync.WaitGroup
		list.Go(func() {
			header, body := modernRequest("tools/list", "", "", "")
			if _, _, err := send(t, b, header, body); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if answer, err := resume(t, b, "t", held(t, b, "t")); err != nil || !strings.Contains(fmt.Sprint(answer.Result.Is), "accept") {
			t.Errorf("got %+v, %v", answer, err)
		}
		list.Wait()
	})
}

// A large question on the stream, which says only at its end what it is, belongs to the only call as well.
func TestLargeQuestionOnTheStream(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 300<<10)
	o := newLegacyEra(t, nil)
	o.call = func(c *serverCall) {
		c.ask("elicitation/create", func(text string) {
			o.broadcast(`{"params":{"message":"` + large + `"},` + strings.TrimPrefix(strings.Replace(text, `,"params":{"message":"?"}`, "", 1), "{"))
		})
	}
	b := newBridge(t, o, bridge.Options{Forward: []string{"Authorization"}})
	header, body := modernRequest("tools/call", "t", "", "")
	resp, err := b.Send(t.Context(), http.MethodPost, header, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	if text, err := io.ReadAll(resp); err != nil || !strings.Contains(string(text), `"params":{"message":"`+large+`"}`) {
		t.Errorf("got %.300s, %v, want the whole question", text, err)
	}
}

// A held call keeps its session. Other calls of the same caller get another one, so that each question belongs to
// one call.
func TestHeldCallHasItsSessionForItself(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, asking)
	b := newBridge(t, o, bridge.Options{Program: true, Forward: []string{"Authorization"}})
	states := []string{held(t, b, "t"), held(t, b, "t"), held(t, b, "t")}
	for _, state := range states {
		if answer, err := resume(t, b, "t", state); err != nil || answer.Result.ResultType != "complete" {
			t.Errorf("got %+v, %v", answer, err)
		}
	}
	if o.opened != 3 {
		t.Errorf("got %d sessions, want 3", o.opened)
	}
}

// Close cancels held calls at the server and ends the sessions.
func TestCloseEndsHeldCalls(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, asking)
	b := newBridge(t, o, bridge.Options{Forward: []string{"Authorization"}})
	held(t, b, "t")
	held(t, b, "t")
	b.Close()
	if cancelled, deleted := o.count("notifications/cancelled"), o.count(http.MethodDelete); cancelled != 2 || deleted != 2 {
		t.Errorf("got %d calls cancelled and %d sessions ended, want 2 each", cancelled, deleted)
	}
}

// The bridge asks the server once which era it speaks, even if many callers come at the same time. While the server is
// away, each request asks again, and fails without an effect.
func TestEraIsFoundOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
		b := newBridge(t, o, bridge.Options{})
		header, body := modernRequest("tools/call", "t", "", "")
		o.broken = errors.New("away")
		for range 5 {
			if _, _, err := send(t, b, header.Clone(), body); recourse.From(err).Effect != recourse.EffectNone {
				t.Errorf("got effect %q of %v, want none", recourse.From(err).Effect, err)
			}
		}
		if len(o.seen) != 5 {
			t.Errorf("5 requests sent %q, want one message each", o.seen)
		}
		o.broken, o.seen = nil, nil
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if answer, _, err := send(t, b, header.Clone(), body); err != nil || answer.Result.ResultType != "complete" {
					t.Errorf("got %+v, %v", answer, err)
				}
			})
		}
		calls.Wait()
		if asked, opened := o.count("server/discover"), o.count("initialize"); asked != 1 || opened != 1 {
			t.Errorf("asked %d times and opened %d sessions, want 1 each", asked, opened)
		}
	})
}

// A notification is dropped once the server's era is known; before, the server could be of the client's.
func TestNotificationOfAModernClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
		b := newBridge(t, o, bridge.Options{})
		const method = "notifications/roots/list_changed"
		header, _ := modernRequest(method, "", "", "")
		for known, want := range []int{http.StatusBadRequest, http.StatusAccepted} {
			answer, err := b.Send(t.Context(), http.MethodPost, header.Clone(), []byte(`{"jsonrpc":"2.0","method":"`+method+`"}`))
			if err != nil || answer.Status != want || o.count(method) != 1 {
				t.Errorf("known %d: got %+v, %v; %d reached the server", known, answer, err, o.count(method))
			}
			call, body := modernRequest("tools/call", "t", "", "")
			if _, _, err := send(t, b, call, body); err != nil {
				t.Error(err)
			}
		}
	})
}

// After a server has come back with the other era, the second request reaches it at the latest. A request that may
// write is sent again only if the server has refused it with an error code.
func TestServerChangesItsEra(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"tools/call", "prompts/get"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			testServerChangesItsEra(t, method)
		})
	}
}

func testServerChangesItsEra(t *testing.T, method string) {
	t.Helper()
	o := newLegacyEra(t, func(c *serverCall) { c.answer(`{"is":"old"}`) })
	b := newBridge(t, o, bridge.Options{})
	for _, modern := range []bool{false, true, false, true} {
		o.mu.Lock()
		o.modern = modern
		clear(o.sessions)
		o.mu.Unlock()
		header, body := modernRequest(method, "t", "", "")
		if method == "tools/call" {
			before := o.count(method)
			resp, err := b.Send(t.Context(), http.MethodPost, header.Clone(), body)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Close()
			if sent := o.count(method) - before; sent > 2 || sent > 1 && !modern { // a modern server's refusal has a code
				t.Errorf("modern era %t: the call was sent %d times", modern, sent)
			}
		}
		answer, _, err := send(t, b, header, body)
		if err != nil || (answer.Result.Is == "old") == modern || answer.Result.ResultType != "complete" {
			t.Errorf("modern era %t: got %+v, %v", modern, answer, err)
		}
	}
}

// A request gets the log messages of its own level. The server's level is the most verbose that any
// request has asked for.
func TestLogs(t *testing.T) {
	t.Parallel()
	o := newLegacyEra(t, func(c *serverCall) {
		if c.m.Method == "logging/setLevel" {
			c.answer(`{}`)
			return
		}
		for _, level := range []string{"debug", "info", "error"} {
			c.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}`)
		}
		c.answer(`{}`)
	})
	b := newBridge(t, o, bridge.Options{})
	for _, tt := range []struct {
		level      string
		heard, set int
	}{{"", 0, 0}, {"info", 2, 1}, {"error", 1, 1}, {"debug", 3, 2}, {"info", 2, 2}, {"loud", 0, 2}} {
		header, body := modernRequest("tools/call", "t", "", `"io.modelcontextprotocol/logLevel":"`+tt.level+`",`)
		_, before, err := send(t, b, header, body)
		if set := o.count("logging/setLevel"); err != nil || len(before) != tt.heard || set != tt.set {
			t.Errorf("level %q: got %v, %q, level set %d times, want %d messages, %d times", tt.level, err, before, set, tt.heard, tt.set)
		}
	}
}

// A server may end the stream of a call and expect the client to resume it.
func TestStreamIsResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, nil)
		o.call = func(c *serverCall) {
			fmt.Fprintf(c.out, "id: 7\nretry: 3000\ndata:\n\n")
			id := c.m.ID.Clone()
			time.AfterFunc(4*time.Second, func() {
				o.broadcast(string(wire.AppendResult(nil, id, []byte(`{"is":"late"}`))))
				o.cut()
			})
		}
		b := newBridge(t, o, bridge.Options{Silent: true})
		begun := time.Now()
		header, body := modernRequest("tools/call", "t", "", "")
		answer, _, err := send(t, b, header, body)
		if err != nil || answer.Result.Is != "late" || time.Since(begun) != 4*time.Second {
			t.Errorf("got %+v, %v after %v", answer, err, time.Since(begun))
		}
	})
}

// A subscription gets the notifications that its client asked for, with its own id, and goes on in the
// next session.
func TestSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
		b := newBridge(t, o, bridge.Options{})
		header, body := modernRequest("subscriptions/listen", "", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,`+
			`"resourceSubscriptions":["test://a"]},`, "")
		resp, err := b.Send(t.Context(), http.MethodPost, header, body)
		if err != nil {
			t.Fatal(err)
		}
		events := wire.NewEventReader(resp, 0)
		heard := func(want string) {
			t.Helper()
			event, err := events.Next()
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			const mine = `"_meta":{"io.modelcontextprotocol/subscriptionId":"mine"}`
			if text := string(event.Data); !strings.Contains(text, want) || !strings.Contains(text, mine) {
				t.Errorf("got %s, want %s", text, want)
			}
		}
		const changed, updated = `"notifications/tools/list_changed"`, `"notifications/resources/updated"`
		heard(`"notifications":{"resourceSubscriptions":["test://a"],"toolsListChanged":true}`)
		o.broadcast(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		o.broadcast(`{"jsonrpc":"2.0","method":` + updated + `,"params":{"uri":"test://b"}}`)
		o.broadcast(`{"jsonrpc":"2.0","method":` + changed + `}`)
		heard(changed)
		o.broadcast(`{"jsonrpc":"2.0","method":` + updated + `,"params":{"uri":"test://a"}}`)
		heard(updated)

		o.cut() // changes until the next stream are missed
		heard(changed)
		heard(updated)
		synctest.Wait()
		o.mu.Lock()
		clear(o.sessions)
		o.mu.Unlock()
		o.cut()
		heard(changed)
		heard(updated)
		synctest.Wait()
		o.broadcast(`{"jsonrpc":"2.0","method":` + changed + `}`)
		heard(changed)
		if n := o.count("resources/subscribe"); n != 2 {
			t.Errorf("got %d subscriptions, want one in each session", n)
		}
		_ = resp.Close()
		synctest.Wait()
		if n := o.count("resources/unsubscribe"); n != 1 {
			t.Errorf("got %d unsubscriptions, want 1", n)
		}
	})
}

func TestIdleSessionsOfALegacyServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, func(c *serverCall) { c.answer(`{}`) })
		b := newBridge(t, o, bridge.Options{})
		header, body := modernRequest("tools/call", "t", "", "")
		if _, _, err := send(t, b, header, body); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := o.count(http.MethodDelete); n != 1 {
			t.Errorf("got %d sessions ended, want 1", n)
		}
	})
}
