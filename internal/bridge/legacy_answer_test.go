package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bridge"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// A textEra answers calls with one JSON text, after it has said on the session's stream how far they are.
type textEra struct {
	*legacyEra

	status int
	text   string // of the answer; %s is the id
}

// Do implements [upstream.Connection].
func (e *textEra) Do(ctx context.Context, r *upstream.Request) (*http.Response, error) {
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

// What is said on the session's stream begins an event stream, on which the answer follows that
// the server gives as one text, or why there is none.
func TestTextAfterProgress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		text   string
		want   recourse.Kind // empty: it succeeds
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
					t.Errorf("%v %+v after %q", err, answer, before)
				}
				if tt.want != "" && !errors.Is(err, tt.want) {
					t.Errorf("%v, want %s", err, tt.want)
				}
			})
		})
	}
}
