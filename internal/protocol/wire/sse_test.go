package wire_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// dispatched is an event as a client would see it.
type dispatched struct {
	ID, Type, Data string
	HasID          bool
	Retry          time.Duration
}

// readAll reads a stream to its end. It returns the events that a client would
// dispatch, the raw bytes, and the error at the end.
func readAll(t *testing.T, r *wire.EventReader) (events []dispatched, raw string, err error) {
	t.Helper()
	var data string
	complete := true
	for {
		e, err := r.Next()
		if err != nil {
			return events, raw, err
		}
		if len(e.Raw) == 0 {
			t.Fatal("a piece without bytes")
		}
		if e.First != complete {
			t.Errorf("First is %t after a piece with Complete %t", e.First, complete)
		}
		complete = e.Complete
		raw += string(e.Raw)
		data += string(e.Data)
		if e.Complete {
			if e.HasData {
				events = append(events, dispatched{ID: string(e.ID), Type: string(e.Type), Data: data, HasID: e.HasID, Retry: e.Retry})
			}
			data = ""
		}
	}
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	one := func(data string) []dispatched { return []dispatched{{Data: data, Retry: -1}} }
	tests := []struct {
		name, in string
		want     []dispatched
		err      error
	}{
		{"nothing", "", nil, io.EOF},
		{"an event", "data: {}\n\n", one("{}"), io.EOF},
		{"without the space", "data:{}\n\n", one("{}"), io.EOF},
		{"with two spaces", "data:  {}\n\n", one(" {}"), io.EOF},
		{
			"all fields", "event: message\nid: 7\nretry: 1500\ndata: x\n\n",
			[]dispatched{{Type: "message", ID: "7", HasID: true, Data: "x", Retry: 1500 * time.Millisecond}},
			io.EOF,
		},
		{"lines that end in CR LF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []dispatched{{Data: "a\nb", Retry: -1}, {Data: "c", Retry: -1}}, io.EOF},
		{"lines that end in CR", "data: a\rdata: b\r\rdata: c\r\r", []dispatched{{Data: "a\nb", Retry: -1}, {Data: "c", Retry: -1}}, io.EOF},
		{"line ends of all kinds", "data: a\ndata: b\r\n\rdata: c\r\n\n", []dispatched{{Data: "a\nb", Retry: -1}, {Data: "c", Retry: -1}}, io.EOF},
		{"a byte order mark", "\ufeffdata: x\n\n", one("x"), io.EOF},
		{"a byte order mark later", "\n\ufeffdata: x\n\n", nil, io.EOF},
		{"half of a byte order mark", "\xef\xbbdata: x\ndata: y\n\n", one("y"), io.EOF},
		{"comments", ": ping\n\n:\n:data: x\ndata: y\n: z\n\n", one("y"), io.EOF},
		{"a comment without a line end", ": ping", nil, io.EOF},
		{"an empty data field", "id: 1\ndata:\n\n", []dispatched{{ID: "1", HasID: true, Retry: -1}}, io.EOF},
		{"fields without colon", "data\nid\ndata\n\n", []dispatched{{Data: "\n", HasID: true, Retry: -1}}, io.EOF},
		{"no data field", "id: 1\nevent: x\n\n", nil, io.EOF},
		{"fields do not last", "id: 1\nevent: x\n\ndata: y\n\n", one("y"), io.EOF},
		{"a NUL in the id", "id: a\x00b\ndata: x\n\n", one("x"), io.EOF},
		{"an id too long", "id: " + strings.Repeat("i", 1025) + "\ndata: x\n\n", one("x"), io.EOF},
		{"retry that is not a number of milliseconds", "retry: 1e3\nretry: -1\nretry: 99999999999999999999\ndata: x\n\n", one("x"), io.EOF},
		{"unknown fields and cases", "Data: a\ndatax: b\ndat: c\n data: d\ndata : e\ndata: x\n\n", one("x"), io.EOF},
		{"blank lines", "\n\r\n\rdata: x\n\n\n", one("x"), io.EOF},
		{"the end in the middle of an event", "data: a\n\ndata: b\n", one("a"), wire.ErrUnfinishedEvent},
		{"the end in the middle of a name", "dat", nil, wire.ErrUnfinishedEvent},
		{"the end after a field without data", "id: 1\n", nil, wire.ErrUnfinishedEvent},
	}
	for _, tt := range tests {
		for mode, source := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader,
			"by halves": iotest.HalfReader, "with the error": iotest.DataErrReader,
		} {
			events, raw, err := readAll(t, wire.NewEventReader(source(strings.NewReader(tt.in)), 0))
			if diff := cmp.Diff(tt.want, events); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, mode, diff)
			}
			if diff := cmp.Diff(tt.in, raw); diff != "" {
				t.Errorf("%s, %s, raw (-want +got):\n%s", tt.name, mode, diff)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("%s, %s: ends with %v, want %v", tt.name, mode, err, tt.err)
			}
		}
	}
}

func TestEventReaderBrokenStream(t *testing.T) {
	t.Parallel()
	source := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(io.ErrUnexpectedEOF))
	events, raw, err := readAll(t, wire.NewEventReader(source, 0))
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, wire.ErrUnfinishedEvent) {
		t.Errorf("ends with %v", err)
	}
	if len(events) != 1 || raw != "data: a\n\ndata: b" {
		t.Errorf("events %v, raw %q", events, raw)
	}
}

func TestEventReaderNoProgress(t *testing.T) {
	t.Parallel()
	_, _, err := readAll(t, wire.NewEventReader(idle{}, 0))
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("ends with %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// A script returns one string per Read, and fails the test if it is read once more.
type script struct {
	t     *testing.T
	lines []string
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.lines) == 0 {
		s.t.Error("Next reads on although an event is complete")
		return 0, io.EOF
	}
	n := copy(p, s.lines[0])
	s.lines = s.lines[1:]
	return n, nil
}

// A complete event is returned before anything more is read.
func TestEventReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"two LFs":                       {"data: x\n\n"},
		"two CRs":                       {"data: x\r\r"},
		"CR LF CR, the last LF is late": {"data: x\r\n\r"},
		"byte by byte":                  {"d", "ata: x\r", "\n", "\r"},
		"a comment":                     {": ping\n"},
		"a comment that ends in CR":     {": ping\r"},
		"a blank line":                  {"\n"},
		"fields only":                   {"id: 1\n\n"},
	} {
		r := wire.NewEventReader(&script{t: t, lines: lines}, 0)
		e, err := r.Next()
		if err != nil || !e.Complete {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if got := string(e.Raw); got != strings.Join(lines, "") {
			t.Errorf("%s: raw %q", name, got)
		}
	}
}

func TestEventReaderLateLF(t *testing.T) {
	t.Parallel()
	r := wire.NewEventReader(&script{t: t, lines: []string{"data: x\r\n\r", "\ndata: y\r\n\r\n"}}, 0)
	var got []string
	for range 2 {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Raw), string(e.Data))
	}
	if diff := cmp.Diff([]string{"data: x\r\n\r", "x", "\ndata: y\r\n\r\n", "y"}, got); diff != "" {
		t.Errorf("raw and data (-want +got):\n%s", diff)
	}
}

func TestEventReaderWindow(t *testing.T) {
	t.Parallel()
	const window = 1 << 10
	long := strings.Repeat("0123456789", 2000)
	lines := strings.Repeat("data: 0123456789\n", 2000)
	tests := []struct {
		name, in, data string
		whole          bool // the event comes in one piece
	}{
		{"an event that fits", "data: " + strings.Repeat("x", 1000) + "\n\n", strings.Repeat("x", 1000), true},
		{"one long line", "id: 1\ndata: " + long + "\n\n", long, false},
		{"many lines", lines + "\n", strings.TrimSuffix(strings.Repeat("0123456789\n", 2000), "\n"), false},
		{"a long line and a short one", "data: " + strings.Repeat("x", 900) + "\ndata: y\n\n", strings.Repeat("x", 900) + "\ny", false},
		{"a long comment", ": " + long + "\ndata: x\n\n", "x", false},
		{"many comments", strings.Repeat(": ping\n", 1000) + "data: x\n\n", "x", false},
		{"many empty lines of data", strings.Repeat("data\n", 3000) + "\n", strings.Repeat("\n", 2999), false},
		{"a long unknown field", long + ": x\ndata: x\n\n", "x", false},
	}
	for _, tt := range tests {
		in := "data: before\n\n" + tt.in + "data: after\n\n"
		r := wire.NewEventReader(strings.NewReader(in), window)
		largest, pieces := 0, 0
		var data []string
		var raw, current []byte
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			pieces++
			largest = max(largest, len(e.Raw))
			raw = append(raw, e.Raw...)
			current = append(current, e.Data...)
			if e.Complete && e.HasData {
				data = append(data, string(current))
				current = nil
			}
		}
		if diff := cmp.Diff([]string{"before", tt.data, "after"}, data); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if string(raw) != in {
			t.Errorf("%s: the raw bytes differ from the stream", tt.name)
		}
		if (pieces == 3) != tt.whole {
			t.Errorf("%s: %d pieces", tt.name, pieces)
		}
		if largest > window+1 { // plus an LF that belongs to the last CR
			t.Errorf("%s: a piece of %d bytes", tt.name, largest)
		}
	}
}

// An event of 50 MB passes through in constant memory.
func TestEventReaderHugeEvent(t *testing.T) {
	block := strings.Repeat("x", 64<<10)
	source := []io.Reader{strings.NewReader("data: ")}
	for range 50 << 20 / len(block) {
		source = append(source, strings.NewReader(block))
	}
	r := wire.NewEventReader(io.MultiReader(append(source, strings.NewReader("\n\n"))...), 0)
	total := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		total += len(e.Data)
	}
	runtime.ReadMemStats(&after)
	if total != 50<<20 {
		t.Errorf("%d bytes of data", total)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated", got)
	}
}

func TestEventReaderReset(t *testing.T) {
	in := "event: message\nid: 1\ndata: {}\ndata: {}\n\n"
	source := strings.NewReader(in)
	r := wire.NewEventReader(source, 0)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(100, func() {
		source.Reset(in)
		r.Reset(source, 0)
		if e, err := r.Next(); err != nil || string(e.Data) != "{}\n{}" || !e.First {
			t.Errorf("%+v, %v", e, err)
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, id, kind, data, want string }{
		{"data only", "", "", "{}", "data: {}\n\n"},
		{"all", "7", "message", "{}", "id: 7\nevent: message\ndata: {}\n\n"},
		{"several lines", "", "", "a\nb\r\nc\rd\n", "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"no data", "1", "", "", "id: 1\ndata: \n\n"},
		{"an id that would end the line", "1\ndata: x", "a\rb", "y", "data: y\n\n"},
	}
	for _, tt := range tests {
		got := string(wire.AppendEvent([]byte("+"), tt.id, tt.kind, []byte(tt.data)))
		if diff := cmp.Diff("+"+tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "\ufeffid: 1\r\nevent: e\r\ndata: a\r\ndata: b\r\n\r\n", ": c\rdata\r\r\ndata:x\n", "retry: 5\n\ndata: x",
		"data: 0123456789012345678901234567890123456789\ndata: y\n\n",
	} {
		f.Add([]byte(seed), uint8(20), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, window, size uint8) {
		want, raw, err := readAll(t, wire.NewEventReader(bytes.NewReader(in), 0))
		if raw != string(in) {
			t.Errorf("%q becomes %q", in, raw)
		}
		got, raw, errPieces := readAll(t, wire.NewEventReader(&chunks{in, int(size)%8 + 1}, int(window)+2))
		if raw != string(in) {
			t.Errorf("in pieces %q becomes %q", in, raw)
		}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(errPieces, err) {
			t.Errorf("%q, %v and in pieces %v (-one +several):\n%s", in, err, errPieces, diff)
		}
		for _, e := range want {
			if strings.Contains(e.Data, "\r") {
				t.Errorf("%q: the data %q contains a line end", in, e.Data)
			}
			written := wire.AppendEvent(nil, e.ID, e.Type, []byte(e.Data))
			again, _, _ := readAll(t, wire.NewEventReader(bytes.NewReader(written), 0))
			e.Retry, e.HasID = -1, e.ID != ""
			if diff := cmp.Diff([]dispatched{e}, again); diff != "" {
				t.Errorf("written and read again (-want +got):\n%s", diff)
			}
		}
	})
}

// chunks returns its text in reads of a fixed size.
type chunks struct {
	text []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.text)
	c.text = c.text[n:]
	return n, nil
}
