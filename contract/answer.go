package contract

import (
	"cmp"
	"strings"

	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// evidence holds the parts of a tool result that can show a failure.
type evidence struct {
	text    string       // of the first text block
	whole   *json.Node   // the text as an object; nil if it does not look like one or was not parsed
	failed  *json.Node   // the member error of the result
	objects []*json.Node // every place that may hold an error object
	sure    bool         // it is marked as a failure
	blocks  int          // how many content blocks there are
	wrapped bool         // a runtime has put a prefix before the text
	code    string       // the code in that prefix
}

// textAsObject returns the text as an object, which may be broken, or nil if it does not look like one.
func (a *evidence) textAsObject() *json.Node {
	if a.whole != nil {
		return a.whole
	}
	if text := strings.TrimSpace(a.text); strings.HasPrefix(text, "{") {
		a.whole = json.NodeOf(json.Value(text))
	}
	return a.whole
}

// memberIsError is the member of a result that says that it is a failure.
const memberIsError = "isError"

// resultHead holds the members of a result that can show a failure.
type resultHead struct {
	Content    []json.Value          `json:"content"`
	Structured json.Value            `json:"structuredContent"`
	IsError    bool                  `json:"isError"`
	Error      json.Value            `json:"error"`
	Meta       map[string]json.Value `json:"_meta"`
}

// readEach stores the members of an object in the fields of into, one at a time, so that a member of an
// unexpected type does not hide the others.
func readEach[T any](object json.Value, into *T) {
	for _, m := range json.MembersOf(object) {
		one := append(append(json.AppendQuote([]byte{'{'}, m.Name), ':'), m.Value...)
		if read := *into; json.UnmarshalLenient(append(one, '}'), &read) == nil {
			*into = read
		}
	}
}

// headOf returns the members of a result that can show a failure.
func headOf(result json.Value) (head resultHead) {
	if json.UnmarshalLenient(result, &head) != nil {
		head = resultHead{}
		readEach(result, &head)
	}
	return head
}

// lookInto adds to a what stands in the members of a result.
func (r *Reader) lookInto(a *evidence, head *resultHead) {
	r.readTexts(a, head.Content)
	a.blocks = len(head.Content)
	a.objects = append(a.objects, json.NodeOf(head.Structured), a.failed)
}

// maxBlocks limits how many text blocks are read.
const maxBlocks = 8

// readTexts fills in the first text of content and the texts that are JSON objects.
func (r *Reader) readTexts(a *evidence, content []json.Value) {
	n := 0
	for _, block := range content {
		text, ok := textBlock(block)
		if !ok {
			continue
		}
		object := r.objectOf(text)
		if n == 0 {
			a.text, a.whole = text, object
		}
		if object != nil {
			a.objects = append(a.objects, object)
		}
		if n++; n == maxBlocks {
			break
		}
	}
	if r.Cut != "" { // the objects may have been completed by us
		a.whole = nil
	}
}

// objectOf returns a text as an object, or nil if it does not look like one.
func (r *Reader) objectOf(text string) *json.Node {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	return json.NodeOf(r.completed(json.Value(text)))
}

// textBlock returns the text of a content block of type text.
func textBlock(block json.Value) (string, bool) {
	n := json.NodeOf(block)
	kind := n.Member("type")
	if kind == nil {
		return "", false
	}
	if kind, ok := kind.Text(); !ok || kind != "text" {
		return "", false
	}
	text := n.Member("text")
	if text == nil || text.Raw.Kind() == 'n' {
		return "", true
	}
	return text.Text()
}

// peeled returns a, then a without the prefixes of runtimes, one layer at a time.
func (r *Reader) peeled(a evidence) []evidence {
	list := []evidence{a}
	for range wild.MaxWraps {
		rest, code, ok := wild.Unwrap(r.families(), a.text)
		if !ok {
			break
		}
		a = r.inside(a, rest)
		a.code = cmp.Or(a.code, code)
		list = append(list, a)
	}
	return list
}

// inside returns an answer with the rest of its text alone.
func (r *Reader) inside(a evidence, rest string) evidence {
	a.text, a.wrapped = rest, true
	a.objects, a.whole = nil, nil
	if object := r.objectOf(a.text); object != nil {
		a.objects = []*json.Node{object}
		if r.Cut == "" {
			a.whole = object
		}
	}
	return a
}
