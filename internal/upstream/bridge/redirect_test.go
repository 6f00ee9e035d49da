package bridge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A redirecting server of the modern era asks a question about each call, and redirects the repeated call.
type redirecting struct {
	modernEra

	calls int
}

// Do redirects every second call.
func (e *redirecting) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if r.Header.Get(wire.HeaderMethod) != wire.MethodToolsCall {
		return e.modernEra.Do(ctx, r)
	}
	if e.calls++; e.calls%2 == 0 {
		return reply(http.StatusFound, "text/html", "elsewhere"), nil
	}
	return reply(http.StatusOK, wire.TypeEventStream,
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\",\"requestState\":\"x\"}}\n\n"), nil
}

// A redirect is an invalid answer, even to a call that is repeated after a question.
func TestRedirectAfterQuestion(t *testing.T) {
	t.Parallel()
	t.Run("modern", func(t *testing.T) {
		t.Parallel()
		b := newBridge(t, &redirecting{modernEra: modernEra{tb: t}}, bridge.Options{})
		resp, err := b.Send(t.Context(), http.MethodPost, openOn(t, b), callOf(1))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Close()
		if _, err := io.ReadAll(resp); !errors.Is(err, recourse.KindBadResponse) {
			t.Errorf("got %v, want %s", err, recourse.KindBadResponse)
		}
	})
	t.Run("legacy", func(t *testing.T) {
		t.Parallel()
		b := newBridge(t, &deafEra{newLegacyEra(t, asking)}, bridge.Options{})
		if _, err := resume(t, b, "t", held(t, b, "t")); !errors.Is(err, recourse.KindBadResponse) {
			t.Errorf("got %v, want %s", err, recourse.KindBadResponse)
		}
	})
}

// A deafEra is a legacy server that redirects the answers to its questions.
type deafEra struct{ *legacyEra }

// Do implements [upstream.Connection].
func (e *deafEra) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	var m wire.Message
	if wire.Parse(textOf(r), &m) == nil && m.Kind == wire.Response {
		return reply(http.StatusFound, "text/html", "elsewhere"), nil
	}
	return e.legacyEra.Do(ctx, r)
}
