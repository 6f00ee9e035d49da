package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// pieces reads src, and returns its lines, joined from their pieces, and the length of the longest piece.
func pieces(src io.Reader, window int) (lines []string, longest int, err error) {
	reader := wire.NewLineReader(src, window)
	var line []byte
	for {
		piece, last, err := reader.Piece()
		if err != nil {
			return lines, longest, err
		}
		longest = max(longest, len(piece))
		if line = append(line, piece...); last {
			lines, line = append(lines, string(line)), nil
		}
	}
}

func TestLinesAreCut(t *testing.T) {
	t.Parallel()
	const window = 8
	reader := wire.NewLineReader(strings.NewReader("\n \r\n1234567\n12345678\n"+strings.Repeat("x", 100)+"\n end"), window)
	var got []wire.Line
	for line, err := reader.Next(); err == nil; line, err = reader.Next() {
		got = append(got, line)
	}
	want := []wire.Line{
		{Text: []byte("1234567"), Size: 7}, {Text: []byte("12345678"), Size: 9}, {Text: []byte("xxxxxxxx"), Size: 101}, {Text: []byte("end"), Size: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	lines, _, err := pieces(strings.NewReader("a\r\n\n\rb\nlonger than the window\nrest"), 8)
	if want := []string{"a\r", "", "\rb", "longer than the window", "rest"}; !errors.Is(err, io.EOF) || fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("got %q, %v, want %q", lines, err, want)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\nthree"), uint8(3), uint8(1))
	f.Add([]byte("\n\n\n"), uint8(1), uint8(200))
	f.Add(bytes.Repeat([]byte("long"), 100), uint8(16), uint8(7))
	f.Fuzz(func(t *testing.T, text []byte, window, read uint8) {
		w := int(window) + 1
		lines, longest, err := pieces(&chunks{text: text, size: int(read) + 1}, w)
		want := strings.Split(string(text), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if !errors.Is(err, io.EOF) || strings.Join(lines, "\n") != strings.Join(want, "\n") || len(lines) != len(want) {
			t.Errorf("window %d, reads of %d: got %q, %v, want %q", w, read, lines, err, want)
		}
		if longest > w {
			t.Errorf("a piece of %d bytes, with a window of %d", longest, w)
		}
	})
}
