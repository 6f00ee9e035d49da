package recourse

// NeedsInput says that a call cannot run before a person or a model has been
// asked. It is not a failure: nothing was done, and the call is made again
// with the answer.
type NeedsInput struct {
	Message     string              `json:"message"`               // the question
	Reason      string              `json:"reason,omitempty"`      // why it is asked, one machine-readable word
	Fields      []string            `json:"fields,omitempty"`      // the parameters that the answer goes into
	Suggestions map[string][]string `json:"suggestions,omitempty"` // possible values by field
	Options     []Option            `json:"options,omitempty"`
}

// Option is one answer to choose from.
type Option struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Field       string `json:"field,omitempty"` // the parameter that Value goes into
}

// Error returns the question.
func (n *NeedsInput) Error() string { return n.Message }

func (n *NeedsInput) failure() {}
