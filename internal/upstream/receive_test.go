package upstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type schedule struct {
		Pauses  []time.Duration
		Refused []bool
	}
	tests := map[string]struct {
		ready bool
		lived []time.Duration
		want  schedule
	}{
		"at the start": {
			lived: []time.Duration{1, 1, 1, 1, 1, 1, 1, 1, 1},
			want: schedule{
				[]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 10 * time.Second, 10 * time.Second},
				[]bool{false, false, true, true, true, true, true, true, true},
			},
		},
		"while calls are made": {
			ready: true, lived: []time.Duration{time.Second, time.Second, time.Second, 59 * time.Second, time.Minute, time.Second},
			want: schedule{
				[]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 100 * ms, 200 * ms},
				[]bool{false, false, false, false, false, false},
			},
		},
	}
	for name, test := range tests {
		pauses, refused := upstream.Backoff(test.ready, test.lived...)
		if diff := cmp.Diff(test.want, schedule{pauses, refused}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever a child writes, a call gets at most one answer, with its own id.
func FuzzStdout(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"), uint16(0))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}`+"\n"+`{"id":2.0,"result":{}}`), uint16(0))
	f.Add([]byte("log\n[]\n{\n"+`{"id":"1","result":{}}`+"\n"+`{"result":"@","id":2}`), uint16(1100))
	f.Add([]byte(`{"id":1,"result":"@","id":0}`), uint16(1054))
	f.Add([]byte(`{"result":"@","id":999}`+"\n"+`{"id":1,"result":"@","id":2}`), uint16(1100))
	f.Fuzz(func(t *testing.T, text []byte, kilobytes uint16) {
		if i := bytes.IndexByte(text, '@'); i >= 0 && kilobytes < 3<<10 { // so that a line can exceed the window
			text = bytes.Replace(text, []byte("@"), bytes.Repeat([]byte("a"), int(kilobytes)<<10), 1)
		}
		for i, body := range upstream.Receive(bytes.NewReader(text), 2) {
			answer, err := io.ReadAll(body)
			_ = body.Close()
			if err != nil || len(answer) == 0 || bytes.HasPrefix(answer, []byte("event:")) {
				continue
			}
			var scan wire.Scanner
			if _, err := scan.Write(answer); err != nil {
				t.Fatalf("call %d got %.300q: %v", i, answer, err)
			}
			if id := string(scan.Signs().ID); scan.Close() != nil || id != fmt.Sprintf(`"c%d"`, i) {
				t.Fatalf("call %d got %.300q", i, answer)
			}
		}
	})
}

// Whatever a child of the modern era writes, a subscription gets only its own messages.
func FuzzSubscriptions(f *testing.F) {
	const about = `"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}`
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",` + about + "\n" +
		`{"jsonrpc":"2.0","id":2,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed",` + about + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}` + "\n" +
		`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for i, body := range upstream.ReceiveModern(bytes.NewReader(text), 2) {
			own := fmt.Sprintf(`"c%d"`, i)
			answer, _ := io.ReadAll(body) // ends with the child at the latest
			_ = body.Close()
			events := wire.NewEventReader(bytes.NewReader(answer), len(answer)+1)
			for event, err := events.Next(); err == nil; event, err = events.Next() {
				var m wire.Message
				if err := wire.Parse(event.Data, &m); err != nil {
					continue // answers are passed on even with repeated names
				}
				if m.Kind == wire.Request || !m.ID.IsZero() && string(m.ID) != own || !m.Subscription.IsZero() && string(m.Subscription) != own {
					t.Fatalf("subscription %s got %.300q", own, event.Data)
				}
			}
		}
	})
}

// An answer a byte longer than the window is passed on as well.
func TestAnswersAroundTheWindow(t *testing.T) {
	t.Parallel()
	for _, form := range []string{`{"jsonrpc":"2.0","id":1,"result":"%s"}`, `{"result":"%s","jsonrpc":"2.0","id":1}`} {
		for _, length := range []int{upstream.Window - 1, upstream.Window, upstream.Window + 1, upstream.Window + 30, 2*upstream.Window + 1} {
			for _, calls := range []int{1, 2} {
				filler := strings.Repeat("a", length-len(form)+len("%s"))
				line := fmt.Sprintf(form, filler)
				read := &dripping{text: []byte(line + "\n"), most: 100_003}
				bodies := upstream.Receive(read, calls)
				text, err := io.ReadAll(bodies[0])
				_ = bodies[0].Close()
				want := strings.Replace(line, `"id":1`, `"id":"c0"`, 1)
				if err != nil || string(text) != want {
					t.Errorf("%s of %d bytes, %d calls: got %d bytes, %v", form, length, calls, len(text), err)
				}
			}
		}
	}
}

func TestHalfOfALargeAnswer(t *testing.T) {
	t.Parallel()
	half := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("a", 2*upstream.Window)
	body := upstream.Receive(strings.NewReader(half), 1)[0]
	defer body.Close()
	if text, err := io.ReadAll(body); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes, %v, want an error", len(text), err)
	}
}

// dripping returns its text in reads of a limited size.
type dripping struct {
	text []byte
	most int
}

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.text[:min(d.most, len(d.text))])
	d.text = d.text[n:]
	return n, nil
}
