package testkit

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// The client reads what the server writes as an event, and with any input it neither hangs nor fails before the end.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"", "{}", "a\nb", "\n\n", ": comment", "data: x\n\n", " leading", "id: 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := newEventScanner(strings.NewReader(text))
		for range strings.Count(text, "\n") + 1 {
			if _, err := raw.next(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("raw: %v", err)
			}
		}
		if strings.Contains(text, "\r") {
			return // JSON without line breaks has none
		}
		scanner := newEventScanner(strings.NewReader(protocol.Event("7", text)))
		got, err := scanner.next()
		if want := (Event{ID: "7", Name: "message", Data: text}); err != nil || got != want {
			t.Fatalf("%+v, %v, want %+v", got, err, want)
		}
		if _, err := scanner.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the event: %v", err)
		}
	})
}
