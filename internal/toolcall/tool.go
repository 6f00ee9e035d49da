package toolcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// A Tool is what a list says of a tool. Its inputSchema is compiled when it is first needed.
// The exported fields are set before it is used, and then left alone; it is safe for
// concurrent use.
type Tool struct {
	Name         string
	OutputSchema bool // it declares one
	ReadOnly     bool // by its annotations, as Idempotent is
	Idempotent   bool

	// Source is what the tool was read from: another source is another tool, even under
	// the same name.
	Source any
	// InputSchema returns the inputSchema, and Budget bounds what compiling it may take;
	// nil is a budget of its own.
	InputSchema func() ([]byte, error)
	Budget      *args.Budget
	// Native says that the tool takes numbers as int64 and float64, so that others do not fit.
	Native bool
	// Flawed is told what of the inputSchema is not checked, with each check.
	Flawed func(t *Tool, err error)

	ready  sync.Once
	raw    json.Value
	schema *args.Schema // nil where it cannot be compiled
	flaw   error        // why it cannot
	params []wire.ParamHeader
}

// make makes the inputSchema ready, once.
func (t *Tool) make() {
	t.ready.Do(func() {
		if t.raw, t.flaw = t.InputSchema(); t.flaw != nil {
			return
		}
		if t.schema, t.flaw = args.Compile(t.raw, t.Budget); t.flaw != nil {
			t.schema = nil
		}
		if len(t.raw) <= args.MaxSchema {
			t.params, _ = wire.ParamHeaders(t.raw) // clients do not know a tool that breaks the rules, and send no headers for it
		}
	})
}

// ParamHeaders returns the arguments that clients repeat in headers.
func (t *Tool) ParamHeaders() []wire.ParamHeader {
	t.make()
	return t.params
}

// Takes reports whether the tool has a parameter of that name.
func (t *Tool) Takes(parameter string) bool {
	if parameter == "" {
		return false
	}
	t.make()
	return json.Lookup(t.raw, json.Pointer("/properties").AppendToken(parameter)) != nil
}

// Refuse returns what is wrong with the arguments of a call, as far as that can be found out:
// every violation at once, or nil.
func (t *Tool) Refuse(ctx context.Context, arguments json.Value) *recourse.Error {
	t.make()
	if t.schema == nil {
		t.Flawed(t, fmt.Errorf("%w; arguments are not checked", t.flaw))
		return nil
	}
	if string(arguments) == "null" { // some SDKs write null for none
		arguments = nil
	}
	check := t.schema.Check
	if t.Native {
		check = t.schema.CheckNative
	}
	violations := check(ctx, arguments)
	if pattern := t.schema.Unchecked(); pattern != "" {
		t.Flawed(t, fmt.Errorf("%w: %q; it counts as kept", errPattern, begin(pattern)))
	}
	if len(violations) == 0 {
		return nil
	}
	return args.Error(t.Name, violations)
}

var errPattern = errors.New("a pattern would take more time and memory than the patterns of one list may")

// begin returns the beginning of a text that is told of.
func begin(s string) string {
	const most = 64
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// Secrets returns what is secret in the arguments of a call by the tool's inputSchema.
func (t *Tool) Secrets(ctx context.Context, arguments json.Value) []string {
	raw, err := t.InputSchema()
	if err != nil || !bytes.Contains(raw, []byte("writeOnly")) && !bytes.Contains(raw, []byte(`"password"`)) {
		return nil
	}
	if t.make(); t.schema == nil {
		return nil
	}
	return t.schema.Secrets(ctx, arguments)
}
