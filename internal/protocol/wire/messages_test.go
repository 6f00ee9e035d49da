package wire_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// heard reads a body to its end and describes its parts. Consecutive pieces of one message
// are described once, and so are other events.
func heard(r *wire.MessageReader) (parts []string, raw string, err error) {
	for {
		p, err := r.Next()
		if p != nil {
			raw += string(p.Raw)
			if what := describe(p); !strings.HasSuffix(what, "going on") && what != "other" || !slices.Contains(parts, what) {
				parts = append(parts, what)
			}
		}
		if err != nil {
			return parts, raw, err
		}
	}
}

func describe(p *wire.Part) string {
	if p.Other {
		return "other"
	}
	what := p.Kind.String()
	if p.Kind == wire.Response {
		what += " to " + p.Signs.ID.String()
	}
	if p.Err != nil {
		what = "broken"
	}
	switch {
	case p.First && p.Complete:
		return what
	case p.First:
		return what + ", begun"
	case p.Complete:
		return what + ", ended"
	default:
		return what + ", going on"
	}
}

const (
	reply  = `{"jsonrpc":"2.0","id":1,"result":{}}`
	notice = `{"jsonrpc":"2.0","method":"notifications/message"}`
	asking = `{"jsonrpc":"2.0","id":"q","method":"ping"}`
)

func TestMessageReader(t *testing.T) {
	t.Parallel()
	long := `{"id":1,"result":{"x":"` + strings.Repeat("x", 200) + `"}}`
	event := func(text string) string { return "event: message\ndata: " + text + "\n\n" }
	const window = 128
	for _, test := range []struct {
		name, body string
		events     bool
		want       []string
		err        error
	}{
		{"a JSON answer", reply, false, []string{"response to 1"}, io.EOF},
		{"an empty JSON body", "", false, []string{"broken"}, io.EOF},
		{"half a JSON answer", reply[:20], false, []string{"broken"}, io.EOF},
		{"a page", "<html>" + long, false, []string{"broken, begun", "broken, going on", "broken, ended"}, io.EOF},
		{"a large JSON answer", long, false, []string{"invalid, begun", "response to 1, going on", "response to 1, ended"}, io.EOF},
		{
			"a stream", ": hello\n\n" + event(notice) + event(asking) + "data: " + reply + "\n\n", true,
			[]string{"notification", "request", "response to 1"},
			io.EOF,
		},
		{"events of other types", "event: ping\ndata: {}\n\nid: 5\n\ndata:\n\n" + "data: x\n\n", true, []string{"other", "broken"}, io.EOF},
		{"a type that comes last", "data: " + notice + "\nevent: ping\n\n", true, []string{"other"}, io.EOF},
		{"a large event", event(long) + event(notice), true, []string{"invalid, begun", "response to 1, ended", "notification"}, io.EOF},
		{"a large event of another type", "event: x\ndata: " + long + "\n\n" + event(notice), true, []string{"other", "notification"}, io.EOF},
		{"half an event", event(notice) + "data: " + reply, true, []string{"notification", "response to 1, begun"}, wire.ErrUnfinishedEvent},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var r wire.MessageReader
			for range 2 { // the second time in the memory of the first
				r.Reset(strings.NewReader(test.body), test.events, 0, window)
				parts, raw, err := heard(&r)
				if diff := cmp.Diff(test.want, parts); diff != "" || raw != test.body || !errors.Is(err, test.err) {
					t.Errorf("%v, raw %q (-want +got):\n%s", err, raw, diff)
				}
			}
		})
	}
}

// If the connection breaks, the part of a JSON body comes together with the error, and the parts of a stream come before it.
func TestMessageReaderOfABrokenBody(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	for _, events := range []bool{false, true} {
		body := io.MultiReader(strings.NewReader("data: "+reply), iotest.ErrReader(broken))
		var r wire.MessageReader
		r.Reset(body, events, 0, 0)
		if parts, raw, err := heard(&r); raw != "data: "+reply || !errors.Is(err, broken) {
			t.Errorf("events %t: %v, %q, %v", events, parts, raw, err)
		}
	}
	var r wire.MessageReader
	r.Reset(io.MultiReader(strings.NewReader(reply[:10]), iotest.ErrReader(broken)), false, 0, 0)
	if p, err := r.Next(); p == nil || string(p.Raw) != reply[:10] || p.Complete || !errors.Is(err, broken) {
		t.Errorf("%+v, %v", p, err)
	}
}

// The first bytes of a page show that it is not a message: the reader does not wait for the rest.
func TestMessageReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	body, server := io.Pipe()
	go func() { _, _ = io.WriteString(server, "<html>") }()
	var r wire.MessageReader
	r.Reset(body, false, 1000, 0)
	if p, err := r.Next(); err != nil || p.Err == nil || p.Complete || string(p.Raw) != "<html>" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestMessageReaderRest(t *testing.T) {
	t.Parallel()
	long := `{"id":1,"method":"m","params":"` + strings.Repeat("x", 1000) + `"}`
	for _, test := range []struct {
		limit int
		err   error
	}{{len(long), nil}, {len(long) - 1, wire.ErrTooLong}} {
		var r wire.MessageReader
		r.Reset(strings.NewReader("data: "+long+"\n\n"), true, 0, 64)
		p, err := r.Next()
		if err != nil || p.Complete {
			t.Fatal(p, err)
		}
		err = r.Rest(p, test.limit)
		if !errors.Is(err, test.err) || err == nil && (string(p.Data) != long || p.Kind != wire.Request || !p.Complete) {
			t.Errorf("limit %d: %v, %+v", test.limit, err, p)
		}
	}
}

func TestNewMessageReader(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status            int
		contentType, want string
	}{
		{http.StatusOK, "text/event-stream; charset=utf-8", "response to 1"},
		{http.StatusOK, "application/json", "broken"},
		{http.StatusBadRequest, "text/event-stream", "broken"},
	} {
		resp := &http.Response{
			StatusCode: test.status, Header: http.Header{"Content-Type": {test.contentType}},
			Body: io.NopCloser(strings.NewReader("data: " + reply + "\n\n")),
		}
		p, err := wire.NewMessageReader(wire.OverHTTP(resp), 0).Next()
		if err != nil || !strings.HasPrefix(describe(p), test.want) {
			t.Errorf("%+v: %v, %v", test, p, err)
		}
	}
}

// The raw bytes of the parts make up the body, and the pieces in which it arrives do not change
// the parts.
func FuzzMessageReader(f *testing.F) {
	f.Add([]byte(reply), false)
	f.Add([]byte("data: "+reply+"\n\nevent: x\ndata: "+notice+"\n\n: c\n\n"), true)
	f.Fuzz(func(t *testing.T, body []byte, events bool) {
		var whole []string
		for _, size := range []int{len(body) + 1, 1, 7} {
			var r wire.MessageReader
			r.Reset(&chunks{text: body, size: size}, events, 0, len(body)+64)
			parts, raw, err := heard(&r)
			if raw != string(body) {
				t.Errorf("%q became %q", body, raw)
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, wire.ErrUnfinishedEvent) {
				t.Error(err)
			}
			parts = slices.DeleteFunc(parts, func(part string) bool { return part == "other" })
			if slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, "broken") }) {
				return // how much arrives before the error depends on timing
			}
			if whole == nil {
				whole = parts
			}
			if diff := cmp.Diff(whole, parts); diff != "" {
				t.Errorf("%q in pieces of %d (-whole +pieces):\n%s", body, size, diff)
			}
		}
	})
}
