package failures_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// An answered is what a real server once answered to a call of a tool that failed, and what is right about it. Recorded from
// servers as they come from npm, and from published runs of agents; Source says where.
type answered struct {
	Source, Server, Tool string
	Args                 stdjson.RawMessage
	Writes               bool               // the tool writes by its nature, though it does not say so
	Result               stdjson.RawMessage // the member of the JSON-RPC answer; nil if it is Error
	Error                stdjson.RawMessage
	// Passes says that the server passed the failure off as a success: left as it is, it is as good as ever.
	Passes bool

	// Doubt says that the call may have taken effect. Otherwise nothing can have happened.
	Doubt bool
	// Kinds are those that are right.
	Kinds []recourse.Kind
	// Repeat says what a sensible agent may do next.
	Repeat []nextStep
}

// nextStep is what an agent does after a failure.
type nextStep string

// What an agent may do.
const (
	later    nextStep = "later"     // the same call, after a wait
	afterFix nextStep = "after_fix" // with other arguments, or after another call
	person   nextStep = "person"    // somebody has to act first
	never    nextStep = "never"
)

// Bare returns what an agent reads if nothing is between it and the server.
func (a *answered) Bare() string {
	if a.Error != nil {
		text, _ := json.TextOf(json.Lookup(json.Value(a.Error), "/message"))
		return text
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = stdjson.Unmarshal(a.Result, &result) // without texts, it is empty
	var text bytes.Buffer
	for _, block := range result.Content {
		text.WriteString(block.Text)
	}
	return text.String()
}

// recordedAnswers returns the recorded failures, and texts that are successes.
func recordedAnswers() (failures []*answered, successes []string, err error) {
	failures, err = lines[*answered]("failures.jsonl")
	if err != nil {
		return nil, nil, err
	}
	type success struct{ Text string }
	list, err := lines[success]("successes.jsonl")
	for _, one := range list {
		successes = append(successes, one.Text)
	}
	return failures, successes, err
}

// recalledAnswers returns failures of further servers and services, as they are known to spell them: written down from memory
// before anybody looked at what is recognised.
func recalledAnswers() ([]*answered, error) { return lines[*answered]("recalled.jsonl") }

// lines reads a file with a JSON object a line.
func lines[T any](name string) ([]T, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "answers", name))
	if err != nil {
		return nil, fmt.Errorf("read the recorded answers: %w", err)
	}
	var list []T
	for line := range bytes.Lines(text) {
		var one T
		if err := stdjson.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(list)+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}

// May reports whether an agent may do any of that.
func (a *answered) May(next ...nextStep) bool {
	return slices.ContainsFunc(next, func(n nextStep) bool { return slices.Contains(a.Repeat, n) })
}
