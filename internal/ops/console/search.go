package console

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/store"
)

const searchPath = "/search"

// maxAnswer limits the size of an answer that is read.
const maxAnswer = 4 << 20

var (
	// reID matches anything that may be the id of a request, and reOwnID an id from a gateway, within a text.
	reID    = regexp.MustCompile(`^[\w.:-]{1,128}$`)
	reOwnID = regexp.MustCompile(`\breq-[0-9a-f]{24}\b`)
)

// A searchResult is the result of a search for a text that somebody pasted.
type searchResult struct {
	text    string
	reading *explain.Reading
	lines   explain.Lines
	problem string        // why it cannot be read as an answer
	call    string        // the id of a request that is in the journal; "": none is
	unknown string        // one that is not
	same    templ.SafeURL // the failures with the same message; "": none
	count   int64         // how many there are
	back    time.Time     // only failures since then were searched for the message; zero: all were
	older   templ.SafeURL // searches those before
}

// search looks for the call that a text is about, and reads the text as an answer.
func (c *Console) search(r *http.Request) (*view, error) {
	if err := r.ParseForm(); err != nil {
		return nil, &problem{http.StatusRequestEntityTooLarge, "This is too long to be read.", "Paste at most 4 MiB."}
	}
	text := strings.TrimSpace(r.Form.Get("q"))
	switch {
	case text == "":
		return &view{title: "Search", body: searchHelp()}, nil
	case len(text) > maxAnswer:
		return nil, &problem{http.StatusRequestEntityTooLarge, "This is too long to be read.", "Paste at most 4 MiB."}
	}
	f := &searchResult{text: text}
	if to, err := c.identify(r.Context(), f); err != nil || to != "" {
		return &view{to: string(to)}, err
	}
	return &view{title: "Search", search: clipped(text), body: searchPage(f)}, nil
}

// clipped is the text as the search box shows it again.
func clipped(text string) string {
	const most = 1 << 10
	if len(text) > most {
		return ""
	}
	return text
}

// identify fills in what was found. A text that is only an id or a message leads to a page of its own.
func (c *Console) identify(ctx context.Context, f *searchResult) (to templ.SafeURL, err error) {
	if reID.MatchString(f.text) {
		if known, err := c.knows(ctx, f.text); known || err != nil {
			return callURL(f.text), err
		}
	}
	f.reading, err = explain.Read([]byte(f.text), &contract.Reader{Contracts: c.readable().All()})
	if err != nil {
		f.problem = err.Error()
	} else {
		f.lines = f.reading.Lines(c.readable(), explain.ToolFacts{})
	}
	for _, id := range f.ids() {
		known, err := c.knows(ctx, id)
		if err != nil {
			return "", err
		}
		if known {
			f.call, f.unknown = id, ""
			break
		}
		f.unknown = id
	}
	for _, message := range f.messages() {
		list, err := c.sameMessage(ctx, message)
		if err != nil {
			return "", err
		}
		if f.back = list.back; !f.back.IsZero() {
			f.older = list.furtherBack()
		}
		if f.count = list.total; f.count == 0 {
			continue
		}
		f.same = list.at(failuresPath)
		if message == f.text && f.call == "" {
			return f.same, nil
		}
		break
	}
	return "", nil
}

// ids returns the ids of requests in a text.
func (f *searchResult) ids() []string {
	var ids []string
	if f.reading != nil && f.reading.Failure != nil && reID.MatchString(f.reading.Failure.RequestID) {
		ids = append(ids, f.reading.Failure.RequestID)
	}
	const most = 5
	return append(ids, reOwnID.FindAllString(f.text, most)...)
}

// messages returns texts that may be a failure's message: the text itself, or the message read from it.
func (f *searchResult) messages() []string {
	const most = 512
	var messages []string
	if len(f.text) <= most && !strings.ContainsAny(f.text, "{}") {
		messages = append(messages, f.text)
	}
	if f.reading != nil && f.reading.Failure != nil {
		said := f.reading.Failure.Sentence()
		first, _, several := strings.Cut(said, ". ") // the rest may be the contract's advice
		messages = append(messages, said)
		if several {
			messages = append(messages, first+".")
		}
	}
	const least = 4 // anything shorter occurs too often
	return slices.DeleteFunc(slices.Compact(messages), func(m string) bool { return len(m) < least || len(m) > most })
}

// knows reports whether the journal contains a request.
func (c *Console) knows(ctx context.Context, id string) (bool, error) {
	if c.Journal == nil {
		return false, nil
	}
	done, err := c.reading(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	entries, err := c.Journal.Of(ctx, id)
	return len(entries) > 0, err
}

// sameMessage returns the failures with that message.
func (c *Console) sameMessage(ctx context.Context, message string) (*failureList, error) {
	q := &query{Filter: store.Filter{Text: message, Limit: 1}}
	if c.Journal == nil {
		return &failureList{query: q}, nil
	}
	return c.list(ctx, q)
}

// readable returns the contracts that answers are read by.
func (c *Console) readable() *contract.Set {
	if c.Gateway != nil {
		return c.Gateway.Contracts()
	}
	return contract.Builtin()
}
