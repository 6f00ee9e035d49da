package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A textEra answers calls with one JSON text, after progress on the session's stream.
type textEra struct {
	*legacyEra

	status int
	text   string // of the answer; %s is the id
}

// Do implements [upstream.Connection].
func (e *textEra) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	var m wire.Message
	if wire.Parse(textOf(r), &m) != nil || m.Method != wire.MethodToolsCall || r.Header.Get(wire.HeaderSession) == "" {
		return e.legacyEra.Do(ctx, r)
	}
	e.broadcast(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + m.ID.String() + `,"progress":1}}`)
	time.Sleep(time.Second)
	if e.status == 0 {
		return nil, recourse.Unreachable(e.Name())
	}
	return reply(e.status, wire.TypeJSON, fmt.Sprintf(e.text, m.ID)), nil
}

// A notification on the session's stream begins the client's event stream. The server's JSON answer, or its
// failure, follows on it.
func TestTextAfterProgress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		text   string
		want   recourse.Kind // "": success
	}{
		"an answer":  {http.StatusOK, `{"jsonrpc":"2.0","id":%s,"result":{"is":"text"}}`, ""},
		"a failure":  {http.StatusServiceUnavailable, `{"id":%s}`, recourse.KindUnavailable},
		"a redirect": {http.StatusFound, `%s`, recourse.KindBadResponse},
		"no server":  {0, "", recourse.KindUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newLegacyEra(t, nil)
				b := newBridge(t, &textEra{o, tt.status, tt.text}, bridge.Options{})
				defer time.AfterFunc(time.Hour, b.Close).Stop()
				header, body := modernRequest("tools/call", "t", "", `"progressToken":5,`)
				answer, before, err := send(t, b, header, body)
				if tt.want == "" && (err != nil || answer.Result.Is != "text" || len(before) != 1) {
					t.Errorf("got %+v, %v after %q", answer, err, before)
				}
				if tt.want != "" && !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			})
		})
	}
}

// A client that has read a whole question gets no error, even if the call expires before the client reads the
// end of the stream.
func TestQuestionWhoseCallExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, func(c *serverCall) {
			c.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + c.m.ID.String() + `,"progress":1}}`)
			asking(c)
		})
		b := newBridge(t, o, bridge.Options{})
		header, body := modernRequest("tools/call", "t", "", `"progressToken":5,`)
		resp, err := b.Send(t.Context(), http.MethodPost, header, body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Close()
		events := wire.NewEventReader(resp, 0)
		for _, want := range []string{"progress", "input_required"} {
			if event, err := events.Next(); err != nil || !strings.Contains(string(event.Data), want) {
				t.Fatalf("got %+v, %v, want %s", event, err, want)
			}
		}
		time.Sleep(time.Hour)
		if event, err := events.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("got %+v, %v, want the end", event, err)
		}
	})
}

// A quittingEra begins its answers, and ends them when their client gives up.
type quittingEra struct{ *legacyEra }

// Do implements [upstream.Connection].
func (e *quittingEra) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	var m wire.Message
	if wire.Parse(textOf(r), &m) != nil || m.Method != wire.MethodToolsCall || r.Header.Get(wire.HeaderSession) == "" {
		return e.legacyEra.Do(ctx, r)
	}
	out, w := io.Pipe()
	go func() {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, m.ID)
		<-ctx.Done()
		_ = w.Close()
	}()
	return wire.RespondText(out), nil
}

// If a client gives up a call, the end of the server's answer does not make the answer whole.
func TestGivenUpAnswerEndsWithAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBridge(t, &quittingEra{newLegacyEra(t, nil)}, bridge.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		header, body := modernRequest("tools/call", "t", "", "")
		resp, err := b.Send(ctx, http.MethodPost, header, body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Close()
		if text, err := io.ReadAll(resp); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %q, %v, want an error", text, err)
		}
	})
}

// If a client leaves, its call is cancelled at the server, whether the client waits for the head of the answer
// or for its body.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newLegacyEra(t, func(c *serverCall) {
			if c.m.Name == "begun" {
				c.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + c.m.ID.String() + `,"progress":1}}`)
			}
			<-c.ctx.Done()
		})
		b := newBridge(t, o, bridge.Options{})
		for i, tool := range []string{"waiting", "begun"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			header, body := modernRequest("tools/call", tool, "", `"progressToken":5,`)
			resp, err := b.Send(ctx, http.MethodPost, header, body)
			if err == nil {
				_, err = io.ReadAll(resp)
				_ = resp.Close()
			}
			cancel()
			synctest.Wait()
			if n := o.count("notifications/cancelled"); err == nil || n != i+1 {
				t.Errorf("%s: got %v and %d cancellations, want an error and %d", tool, err, n, i+1)
			}
		}
	})
}
