package wire_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

func TestPartsAndWhole(t *testing.T) {
	t.Parallel()
	long := `{"id":1,"result":{"x":"` + strings.Repeat("x", 200) + `"}}`
	event := func(text string) string { return "data: " + text + "\n\n" }
	broken := errors.New("reset")
	for _, test := range []struct {
		name         string
		body         io.Reader
		events       bool
		parts, whole []string
		end          error
	}{
		{"a JSON answer", strings.NewReader(reply), false, []string{"response to 1"}, []string{"response to 1"}, io.EOF},
		{
			"a large JSON answer", strings.NewReader(long), false,
			[]string{"invalid, begun", "response to 1, going on", "response to 1, ended"},
			nil, io.EOF,
		},
		{"a page", strings.NewReader("<html>"), false, []string{"broken, begun", "broken, ended"}, []string{"broken, begun"}, io.EOF},
		{"half a JSON answer", io.MultiReader(strings.NewReader(reply[:20]), iotest.ErrReader(broken)), false, nil, nil, broken},
		{
			"a stream", strings.NewReader(": hello\n\n" + event(notice) + event(long) + "event: x\ndata: {}\n\n" + event(reply)), true,
			[]string{"notification", "invalid, begun", "response to 1, ended", "other", "response to 1"},
			[]string{"notification", "response to 1"},
			io.EOF,
		},
		{
			"a stream that ends inside an event", strings.NewReader(event(notice) + "data: {"), true,
			[]string{"notification", "invalid, begun"},
			[]string{"notification"},
			wire.ErrUnfinishedEvent,
		},
		{
			"a stream that breaks off", io.MultiReader(strings.NewReader(event(notice)), iotest.ErrReader(broken)), true,
			[]string{"notification"},
			[]string{"notification"},
			broken,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text, err := io.ReadAll(test.body)
			body := func() io.Reader {
				if err != nil {
					return io.MultiReader(strings.NewReader(string(text)), iotest.ErrReader(err))
				}
				return strings.NewReader(string(text))
			}
			var r wire.MessageReader
			var parts, whole []string
			r.Reset(body(), test.events, 0, 128)
			for part := range r.Parts() {
				parts = append(parts, describe(part))
			}
			if diff := cmp.Diff(test.parts, parts); diff != "" || !errors.Is(r.End(), test.end) {
				t.Errorf("Parts: %v (-want +got):\n%s", r.End(), diff)
			}
			r.Reset(body(), test.events, 0, 128)
			for part := range r.Whole() {
				whole = append(whole, describe(part))
			}
			if diff := cmp.Diff(test.whole, whole); diff != "" || !errors.Is(r.End(), test.end) {
				t.Errorf("Whole: %v (-want +got):\n%s", r.End(), diff)
			}
			if got, want := wire.BrokeOff(r.End()), errors.Is(test.end, broken); got != want {
				t.Errorf("BrokeOff: %t", got)
			}
		})
	}
}

// After a loop over the parts was left, another loop or Next continues with the next part.
func TestPartsGoOn(t *testing.T) {
	t.Parallel()
	var r wire.MessageReader
	r.Reset(strings.NewReader(strings.Repeat("data: "+notice+"\n\n", 2)+"data: "+reply+"\n\n"), true, 0, 0)
	var got []string
	for part := range r.Parts() {
		got = append(got, describe(part))
		if part, err := r.Next(); err == nil {
			got = append(got, "next: "+describe(part))
		}
		break
	}
	if r.End() != nil {
		t.Error(r.End())
	}
	for part := range r.Whole() {
		got = append(got, describe(part))
	}
	if want := []string{"notification", "next: notification", "response to 1"}; !slices.Equal(got, want) || !errors.Is(r.End(), io.EOF) {
		t.Errorf("%q, %v", got, r.End())
	}
	if r.Reset(nil, true, 0, 0); r.End() != nil {
		t.Error("Reset keeps the end")
	}
}

func TestPartsAllocateNothing(t *testing.T) {
	text := strings.Repeat("data: "+notice+"\n\n", 10)
	var r wire.MessageReader
	src := strings.NewReader("")
	if n := testing.AllocsPerRun(100, func() {
		src.Reset(text)
		r.Reset(src, true, 0, 0)
		for part := range r.Parts() {
			if part.Kind != wire.Notification {
				t.Error("not a notification")
			}
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
