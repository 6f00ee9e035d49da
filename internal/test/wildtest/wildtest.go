// Package wildtest has the corpus with which the recognition of failures in the wild is measured: answers as real
// servers and tools give them, and successes that must not be taken for failures. It is for tests.
//
// Every failure states its source, and what should be read from it. A family has its failures in two files,
// testdata/seen and testdata/held. [Held] decides which by the name of the entry, and [Load] refuses an entry in the
// wrong half. Only the seen half may be looked at while the recognition is improved; the other half measures how well
// it works on unseen answers. A test prints entries of the held half only on request.
//
// The values in the answers (names, identifiers, addresses, times) are made up. Their fixed phrases and forms are those
// of the products.
//
// An entry expects every kind that can be justified, and exactly the wait and the arguments that the answer states. If
// it states two waits, the longer one counts. An argument is named as the caller knows it, without words that only
// locate arguments (body, query, data, data.attributes). If no product can be recognised in an answer, its own sentence
// is expected, and any advice but never.
package wildtest

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Specimen is an answer that reports a failure, and what should be read from it.
type Specimen struct {
	Family, Name string
	Held         bool
	Source       string // where the form of the answer is documented
	Answer       Sample
	Want         Want
}

// An Innocent is the result of a tool that succeeded, even though it may be about errors.
type Innocent struct {
	Topic, Name string
	Result      json.Value // a CallToolResult without isError
}

// A Sample is a tool's result or an HTTP response.
type Sample struct {
	Result json.Value // a CallToolResult; empty for an HTTP response
	// Unmarked says that the result does not have isError: only a reader who knows the server can tell that it is a
	// failure.
	Unmarked bool

	Status int
	Header http.Header
	Body   []byte
}

// Want is what should be read from a failure.
type Want struct {
	Kinds      []recourse.Kind  // any of them
	After      time.Duration    // the stated wait; 0: none is stated
	Violations []string         // the params, in any order; nil: not checked
	Retries    []recourse.Retry // the advice for a tool that reads, any of them; nil: not checked
	Message    string           // a part of the message
}

// slack is by how much a wait may exceed the stated one: a wait is a minimum, and may be rounded up.
const slack = time.Second

// Wrong says what is wrong with a record that was read from a failure, or "".
func (w *Want) Wrong(e *recourse.Error) string {
	if e == nil {
		return "not read as a failure"
	}
	var wrong []string
	if !slices.Contains(w.Kinds, e.Kind) {
		wrong = append(wrong, "kind "+string(e.Kind)+" instead of "+join(w.Kinds))
	}
	if e.RetryAfter < w.After || e.RetryAfter > w.After+slack || w.After == 0 && e.RetryAfter != 0 {
		wrong = append(wrong, "wait "+e.RetryAfter.String()+" instead of "+w.After.String())
	}
	if w.Violations != nil {
		var params []string
		for _, v := range e.Violations {
			params = append(params, v.Param)
		}
		want := slices.Sorted(slices.Values(w.Violations))
		slices.Sort(params)
		if !slices.Equal(params, want) {
			wrong = append(wrong, "violations of ["+strings.Join(params, " ")+"] instead of ["+strings.Join(want, " ")+"]")
		}
	}
	if advice := e.WithEffect(recourse.EffectNone).RetryAdvice(); w.Retries != nil && !slices.Contains(w.Retries, advice) {
		wrong = append(wrong, "retry "+string(advice)+" instead of "+join(w.Retries))
	}
	if !strings.Contains(e.Message, w.Message) {
		wrong = append(wrong, "message without "+w.Message)
	}
	return strings.Join(wrong, ", ")
}

func join[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, " or ")
}

// Held reports whether an entry belongs to the held half: the lowest bit of the SHA-256 sum of its family and name
// decides.
func Held(family, name string) bool {
	sum := sha256.Sum256([]byte(family + "/" + name))
	return sum[len(sum)-1]&1 == 1
}
