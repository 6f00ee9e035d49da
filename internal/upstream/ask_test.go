package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// answering is a connection to a server that gives the same answer to every request.
type answering struct{ resp *wire.Answer }

func (a answering) Do(context.Context, *upstream.Request) (*wire.Answer, error) { return a.resp, nil }
func (answering) Name() string                                                  { return "Shop" }
func (answering) Close()                                                        {}

func TestAskReadsOneAnswer(t *testing.T) {
	t.Parallel()
	const limit = 1000
	answer := func(id, x string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"x":%q}}`, id, x) }
	event := func(text string) string { return "data: " + text + "\n\n" }
	lines := func(text string) string { return "data: " + strings.ReplaceAll(text, ",", ",\ndata: ") + "\n\n" }
	long := strings.Repeat("x", 700)
	reset := iotest.ErrReader(errors.New("reset"))
	for _, test := range []struct {
		name        string
		contentType string
		body        io.Reader
		want        string // the result, or the cause of the failure
	}{
		{"JSON", wire.TypeJSON, strings.NewReader(answer("1", "a")), `{"x":"a"}`},
		{"an event", wire.TypeEventStream, strings.NewReader(event(answer("1", "a"))), `{"x":"a"}`},
		{"after others", wire.TypeEventStream, strings.NewReader(": hi\n\n" + event(answer("2", "b")) + event(answer("1", "a"))), `{"x":"a"}`},
		{"an event of several lines", wire.TypeEventStream, strings.NewReader(lines(answer("1", long))), `{"x":"` + long + `"}`},
		{"to another request", wire.TypeJSON, strings.NewReader(answer("2", "b")), "no answer with the id"},
		{"no events", wire.TypeEventStream, strings.NewReader(""), "no answer with the id"},
		{"half an event", wire.TypeEventStream, strings.NewReader("data: {"), "no answer with the id"},
		{"a page", wire.TypeJSON, strings.NewReader("<html>"), "unexpected character"},
		{"an event that is HTML", wire.TypeEventStream, strings.NewReader(event("<html>")), "unexpected character"},
		{"large JSON", wire.TypeJSON, strings.NewReader(answer("1", long+long)), "larger than 1000 bytes"},
		{"a large event", wire.TypeEventStream, strings.NewReader(event(answer("1", long+long))), "larger than 1000 bytes"},
		{"events without end", wire.TypeEventStream, strings.NewReader(strings.Repeat(event(answer("2", "b")), 100)), "larger than 1000 bytes"},
		{"a broken connection", wire.TypeJSON, io.MultiReader(strings.NewReader(`{"id"`), reset), "reset"},
		{"a broken stream", wire.TypeEventStream, io.MultiReader(strings.NewReader(event(answer("2", "b"))), reset), "reset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			to := answering{wire.OverHTTP(&http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {test.contentType}}, Body: io.NopCloser(test.body), ContentLength: -1,
			})}
			got, err := upstream.Ask(t.Context(), to, &upstream.Request{}, wire.ID("1"), limit)
			said := ""
			switch {
			case err == nil:
				said = string(got.Result)
			case test.name == "a broken connection" || test.name == "a broken stream":
				if e := recourse.From(err); e.Kind != recourse.KindUnreachable {
					t.Error(e.Kind)
				}
			case recourse.From(err).Kind != recourse.KindBadResponse:
				t.Error(recourse.From(err).Kind)
			}
			if err != nil {
				said = recourse.From(err).Cause().Error()
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("got %s, want %s", said, test.want)
			}
		})
	}
}
