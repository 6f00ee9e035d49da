package toolcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// An Entry is a tool's entry in a list. Its inputSchema is compiled when it is first needed. The exported
// fields are set before it is used, and then left alone; it is safe for concurrent use.
type Entry struct {
	Name         string
	OutputSchema bool // the tool declares one
	ReadOnly     bool // by its annotations, like Idempotent
	Idempotent   bool

	DeniesReading    bool // its annotations say that it does not only read
	DeniesIdempotent bool

	// Source is what the tool was read from: a tool from another source is a different tool, even under the
	// same name.
	Source any
	// InputSchema returns the inputSchema, and Budget limits the cost of compiling it; nil means a budget of
	// its own.
	InputSchema func() ([]byte, error)
	Budget      *args.Budget
	// Native says that the tool takes numbers as int64 and float64, so that others do not fit.
	Native bool
	// Flawed is called in each check that leaves out a part of the inputSchema, with the reason.
	Flawed func(t *Entry, err error)

	ready  sync.Once
	raw    json.Value
	schema *args.Schema // nil if it cannot be compiled; if there is a flaw, only its outermost level
	flaw   error        // why it cannot be, as a whole
	params []wire.ParamHeader
}

// make prepares the inputSchema, once.
func (t *Entry) make() {
	t.ready.Do(func() {
		if t.raw, t.flaw = t.InputSchema(); t.flaw != nil {
			return
		}
		if t.schema, t.flaw = args.Compile(t.raw, t.Budget); errors.Is(t.flaw, args.ErrTooLarge) {
			t.schema, _ = args.CompileOutermost(t.raw, t.Budget) // nil: for the same reason
		}
		if len(t.raw) <= args.MaxSchema {
			t.params, _ = wire.ParamHeaders(t.raw) // clients do not know a tool that breaks the rules, and send no headers for it
		}
	})
}

// ParamHeaders returns the arguments that clients repeat in headers.
func (t *Entry) ParamHeaders() []wire.ParamHeader {
	t.make()
	return t.params
}

// Takes reports whether the tool has a parameter of that name.
func (t *Entry) Takes(parameter string) bool {
	if parameter == "" {
		return false
	}
	t.make()
	return json.Lookup(t.raw, json.Pointer("/properties").AppendToken(parameter)) != nil
}

// takesNothing reports whether the tool declares that it has no parameters.
func (t *Entry) takesNothing() bool {
	t.make()
	return string(json.Compact(json.Lookup(t.raw, "/properties"))) == "{}"
}

// Refuse returns what is wrong with the arguments of a call, as far as that can be determined: every
// violation at once, or nil.
func (t *Entry) Refuse(ctx context.Context, arguments json.Value) *recourse.Error {
	t.make()
	if t.schema == nil {
		t.Flawed(t, fmt.Errorf("%w; arguments are not checked", t.flaw))
		return nil
	}
	if t.flaw != nil {
		t.Flawed(t, fmt.Errorf("%w; only the outermost arguments are checked", t.flaw))
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

// begin returns the beginning of a text for a message.
func begin(s string) string {
	const most = 64
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// Secrets returns the values in the arguments of a call that the tool's inputSchema marks as secret.
func (t *Entry) Secrets(ctx context.Context, arguments json.Value) []string {
	raw, err := t.InputSchema()
	if err != nil || !bytes.Contains(raw, []byte("writeOnly")) && !bytes.Contains(raw, []byte(`"password"`)) {
		return nil
	}
	t.make()
	if t.schema == nil {
		return nil
	}
	return t.schema.Secrets(ctx, arguments)
}
