package faults

import (
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// TruncatedJSON answers 200 with a truncated JSON text, whose Content-Length is right.
func TruncatedJSON() testkit.Fault {
	return testkit.Fault{Name: "truncated JSON with 200", Runs: true, Happen: func(e *testkit.Exchange) {
		msg := protocol.Answer(e.ID(), e.PlainResult())
		e.Reply(http.StatusOK, protocol.TypeJSON, msg[:len(msg)/2])
	}}
}

// HTMLWith200 answers 200 with a web page, like a proxy's sign-in page.
func HTMLWith200() testkit.Fault {
	return testkit.Fault{Name: "HTML with 200", Happen: func(e *testkit.Exchange) {
		e.Reply(http.StatusOK, "text/html; charset=utf-8", htmlPage("Sign in"))
	}}
}

// Empty200 answers 200 with application/json and an empty body.
func Empty200() testkit.Fault {
	return testkit.Fault{Name: "empty 200", Runs: true, Happen: func(e *testkit.Exchange) { e.Reply(http.StatusOK, protocol.TypeJSON, "") }}
}

// wrongID is an id that no client of these tests sends.
const wrongID = `"testkit-wrong-id"`

// WrongID answers a request that was not made, in either form.
func WrongID(form testkit.AnswerForm) testkit.Fault {
	return testkit.Fault{Name: "wrong id, " + form.String(), Runs: true, Happen: func(e *testkit.Exchange) {
		e.SendAs(form, protocol.Answer([]byte(wrongID), e.PlainResult()))
	}}
}

// DuplicateAnswer answers twice: as two events with the same id, or as two JSON objects one after the other. The second
// answer's text is "again".
func DuplicateAnswer(form testkit.AnswerForm) testkit.Fault {
	return testkit.Fault{Name: "duplicate answer, " + form.String(), Runs: true, Happen: func(e *testkit.Exchange) {
		first := protocol.Answer(e.ID(), e.PlainResult())
		second := protocol.Answer(e.ID(), e.Result(protocol.TextResult("again")))
		if form == testkit.JSON {
			e.Reply(http.StatusOK, protocol.TypeJSON, first+second)
			return
		}
		out := e.Events()
		out.Send("", first)
		out.Send("", second)
	}}
}

// An Ending is how a [Large] answer ends. In each of them, `id` is the last member.
type Ending int

const (
	// Whole is a valid answer.
	Whole Ending = iota
	// Wrong is an answer with a wrong id.
	Wrong
	// Broken is an answer that is not JSON, as only its last byte shows.
	Broken
	// Failed is a tool error: isError comes after the text.
	Failed
)

// String returns what the ending adds to a fault's name.
func (n Ending) String() string {
	switch n {
	case Wrong:
		return ", wrong id at its end"
	case Broken:
		return ", broken at its end"
	case Failed:
		return ", isError at its end"
	case Whole:
	}
	return ""
}

// Large answers with a text of that many bytes, streamed.
func Large(form testkit.AnswerForm, size int64, ending Ending) testkit.Fault {
	const block = 64 << 10
	return testkit.Fault{Name: "large answer, " + form.String() + ending.String(), Runs: true, Happen: func(e *testkit.Exchange) {
		head, tail := splitLarge(e, ending)
		contentType := protocol.TypeJSON
		if form == testkit.SSE {
			contentType = protocol.TypeSSE
			head, tail = "event: message\ndata: "+head, tail+"\n\n"
		}
		e.Writer().Header().Set("Content-Type", contentType)
		body := io.MultiReader(strings.NewReader(head), io.LimitReader(letters(filler(block)), size), strings.NewReader(tail))
		_, _ = io.Copy(e.Writer(), body) // the client may have gone, which is fine
	}}
}

// splitLarge returns the parts before and after the text of a large answer.
func splitLarge(e *testkit.Exchange, ending Ending) (head, tail string) {
	const seam = "\x00"
	id := e.ID()
	if ending == Wrong {
		id = []byte(wrongID)
	}
	result := `{"content":[{"type":"text","text":"` + seam + `"}]}`
	if ending == Failed {
		result = `{"content":[{"type":"text","text":"` + seam + `"}],"isError":true}`
	}
	head, tail, _ = strings.Cut(idLast(e.Result(result), id), seam)
	if ending == Broken {
		tail = strings.TrimSuffix(tail, "}") + "]"
	}
	return head, tail
}

// letters is a reader that repeats its text forever.
type letters string

// Read implements [io.Reader].
func (l letters) Read(p []byte) (int, error) { return copy(p, l), nil }

func filler(size int) string { return strings.Repeat("a", size) }

func htmlPage(title string) string {
	return "<!DOCTYPE html><html><head><title>" + title + "</title></head><body><h1>" + title + "</h1>" +
		"<p>upstream " + secretAddr + "</p></body></html>\n"
}
