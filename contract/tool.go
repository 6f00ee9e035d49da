package contract

import (
	stdjson "encoding/json"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Tool is a tool as tools/list describes it, and as SDKs write it in JSON.
type Tool struct {
	Name        string
	InputSchema stdjson.RawMessage
	// Annotations are what the server says that the tool does; nil if it says nothing.
	Annotations *Annotations
	// Description is the tool's own description, for its page.
	Description string
	// Errors are the codes that the tool can fail with, if the server lists them under [ErrorsKey]; otherwise
	// nil.
	Errors []string
}

// Annotations are those annotations of a tool that say whether a call may be repeated.
type Annotations struct {
	ReadOnly   bool `json:"readOnlyHint"`
	Idempotent bool `json:"idempotentHint"`
}

// ErrorsKey is the `_meta` member of a tool in tools/list in which a server lists, as strings, the codes of
// its contract that the tool can fail with.
const ErrorsKey = "io.github.recoursehq/errors"

// UnmarshalJSON reads a tool of tools/list.
func (t *Tool) UnmarshalJSON(b []byte) error {
	var form struct {
		Name        string                        `json:"name"`
		InputSchema stdjson.RawMessage            `json:"inputSchema"`
		Annotations *Annotations                  `json:"annotations"`
		Description string                        `json:"description"`
		Meta        map[string]stdjson.RawMessage `json:"_meta"`
	}
	if err := stdjson.Unmarshal(b, &form); err != nil {
		return err
	}
	*t = Tool{Name: form.Name, InputSchema: form.InputSchema, Annotations: form.Annotations, Description: form.Description}
	var listed []json.Value
	if raw, ok := form.Meta[ErrorsKey]; !ok || json.Unmarshal(json.Value(raw), &listed) != nil {
		return nil
	}
	t.Errors = []string{}
	for _, item := range listed {
		if word, ok := json.TextOf(item); ok {
			t.Errors = append(t.Errors, word)
		}
	}
	return nil
}
