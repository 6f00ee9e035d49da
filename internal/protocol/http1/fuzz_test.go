package http1_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// most returns how many bytes one read returns. Squares give many short reads and a few long ones.
func most(n uint8) int { return int(n) * int(n) }

// said returns the text of steps.
func said(steps []any) (text []byte) {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			text = append(text, step...)
		case []byte:
			text = append(text, step...)
		}
	}
	return text
}

// The transport reads any bytes of a server as net/http does.
func FuzzTransport(f *testing.F) {
	for _, s := range scenes() {
		if text := said(s.script(0, 0)); len(text) < 2<<10 {
			f.Add(text, uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, said []byte, n uint8) {
		s := scene{
			script: func(_, request int) []any {
				return slices.Repeat([]any{string(said), time.Second, hangUp}, 1-min(request, 1))
			},
			calls:  []call{{body: "one"}, {body: "two", after: 2 * time.Second}},
			change: func(t *http.Transport) { t.IdleConnTimeout = 0 },
			most:   most(n),
		}
		want, got := s.said(t, theirs), s.said(t, ours)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("net/http (-), ours (+):\n%s", diff)
		}
	})
}
