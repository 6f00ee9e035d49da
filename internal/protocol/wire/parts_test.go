package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// said are messages as a server's end hands them out.
type said []*wire.Part

// Next implements [wire.Parts].
func (s *said) Next() (*wire.Part, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	part := (*s)[0]
	*s = (*s)[1:]
	return part, nil
}

// scanned returns the signs of a text, or nil if it is no message.
func scanned(text []byte) *wire.Signs {
	var scan wire.Scanner
	if _, err := scan.Write(text); err != nil || scan.Close() != nil {
		return nil
	}
	signs := scan.Signs().Edited()
	return &signs
}

// A text with another id has the signs that a scanner would find in it.
func FuzzEditedSigns(f *testing.F) {
	f.Add([]byte(reply), []byte(`"a longer one"`))
	f.Add([]byte(`{"result":{"content":[1],"_meta":{"a":{}},"isError":true},"jsonrpc":"2.0","id":123456789}`), []byte("1"))
	f.Add([]byte(`{"id":7,"error":{"code":1},"jsonrpc":"2.0"}`), []byte(`"x"`))
	f.Add([]byte(notice), []byte(`1`))
	f.Fuzz(func(t *testing.T, text, id []byte) {
		signs := scanned(text)
		with := []byte(`{"id":` + string(id) + `}`)
		if signs == nil || signs.ID == nil || signs.Duplicate == "/id" || len(id) > wire.MaxID || scanned(with) == nil ||
			!bytes.Equal(scanned(with).ID, id) {
			t.Skip()
		}
		edit := wire.Edit{At: signs.IDAt, With: id}
		got, want := signs.Edited(edit), scanned(wire.Splice(nil, text, edit))
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("%s with id %s: got %+v, want %+v", text, id, got, want)
		}
	})
}

// What has been scanned is not scanned again: its signs are those that came with it. Anything else is scanned as it is
// read: whole if it fits the window, otherwise in pieces.
func TestMessageReaderOfParts(t *testing.T) {
	t.Parallel()
	signs := scanned([]byte(reply))
	signs.Duplicate = "/whoever scans it again does not find this"
	known, unknown, large := wire.Whole([]byte(reply)), wire.Whole([]byte(notice)), wire.Whole([]byte(reply))
	known.Signs = signs
	large.Data = append(bytes.TrimSuffix(large.Data, []byte("}")), strings.Repeat(" ", 300)+"}"...)
	begun, rest := wire.Whole([]byte(reply[:9])), wire.Whole([]byte(reply[9:]))
	begun.Complete, rest.First = false, false
	resp := wire.RespondParts(&said{&known, &unknown, &begun, &rest, &large, &known, &begun}, io.NopCloser(nil))
	messages := wire.NewMessageReader(resp, 200)
	var got []string
	for part := range messages.Parts() {
		if part.Signs.Duplicate == signs.Duplicate {
			got = append(got, "as it was scanned")
			continue
		}
		got = append(got, describe(part))
	}
	got = append(got, messages.End().Error())
	want := []string{
		"as it was scanned", "notification", "response to 1", "response to 1, begun", "response to 1, ended", "as it was scanned",
		wire.ErrUnfinishedEvent.Error(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Over HTTP, messages are events; the first of them can be looked at before that.
func TestAnswerOfPartsIsAnEventStream(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		one, two := wire.Whole([]byte(notice)), wire.Whole([]byte("{}"))
		one.Complete, two.First = whole, whole
		resp := wire.RespondParts(&said{&one, &two}, io.NopCloser(nil))
		if begun, err := resp.Peek(5); err != nil || string(begun) != notice[:5] {
			t.Errorf("got %q, %v", begun, err)
		}
		text, err := io.ReadAll(resp)
		want := "event: message\ndata: " + notice + "\n\nevent: message\ndata: {}\n\n"
		if !whole {
			want = "event: message\ndata: " + notice + "{}\n\n"
		}
		if err != nil || string(text) != want || resp.ContentType() != wire.TypeEventStream {
			t.Errorf("got %q, %v, want %q", text, err, want)
		}
	}
	failed := errors.New("gone")
	resp := wire.RespondText(io.NopCloser(io.MultiReader(strings.NewReader("ab"), failing{failed})))
	begun, err := resp.Peek(5)
	text, again := io.ReadAll(resp)
	if string(begun) != "ab" || !errors.Is(err, failed) || string(text) != "ab" || !errors.Is(again, failed) {
		t.Errorf("got %q, %v, then %q, %v", begun, err, text, again)
	}
}

type failing struct{ error }

// Read implements [io.Reader].
func (f failing) Read([]byte) (int, error) { return 0, f.error }
