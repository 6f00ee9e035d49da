package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// A listedTool is what a tools/list says of a tool. Lists that say the same of it
// share it, so that nothing is made ready twice.
type listedTool struct {
	name         string
	outputSchema bool
	readOnly     bool
	idempotent   bool

	input  json.Value // the inputSchema
	budget *args.Budget

	key  [sha256.Size]byte // of what was said
	size int               // bytes that it is counted for
	uses int               // lists that it is in; guarded by toolLists.mu

	ready    sync.Mutex // guards what follows, made when the tool is first called
	made     bool
	schema   *args.Schema // nil where it could not be compiled
	why      error        // why it could not
	mirrored []wire.ParamHeader
}

// maxToolName bounds the names that are kept of tools; others are not known.
const maxToolName = 1 << 10

// readTool reads what a list says of a tool; nil where it has no name.
func readTool(raw json.Value, budget *args.Budget) *listedTool {
	var tool struct {
		Name         string     `json:"name"`
		InputSchema  json.Value `json:"inputSchema"`
		OutputSchema json.Value `json:"outputSchema"`
		Annotations  struct {
			ReadOnly   bool `json:"readOnlyHint"`
			Idempotent bool `json:"idempotentHint"`
		} `json:"annotations"`
	}
	_ = json.UnmarshalLenient(raw, &tool) // what cannot be read of a tool is not known of it
	if tool.Name == "" || len(tool.Name) > maxToolName {
		return nil
	}
	return &listedTool{
		name:         tool.Name,
		outputSchema: tool.OutputSchema.Kind() == '{',
		readOnly:     tool.Annotations.ReadOnly,
		idempotent:   tool.Annotations.Idempotent,
		input:        tool.InputSchema, // a copy
		budget:       budget,
		size:         len(tool.InputSchema) + toolOverhead,
	}
}

// toolOverhead is about what a tool takes beside its schema.
const toolOverhead = 512

// make makes the schema ready, once. What it costs is bounded by the list's budget.
func (t *listedTool) make() {
	t.ready.Lock()
	defer t.ready.Unlock()
	if t.made {
		return
	}
	t.made = true
	if t.schema, t.why = args.Compile(t.input, t.budget); t.why != nil {
		t.schema = nil
	}
	if len(t.input) > args.MaxSchema {
		return
	}
	t.mirrored, _ = wire.ParamHeaders(t.input) // clients do not know a tool that breaks the rules, and send no headers for it
}

// mirrors returns the arguments that go into headers.
func (t *listedTool) mirrors() []wire.ParamHeader {
	t.make()
	return t.mirrored
}

// takes reports whether the tool has a parameter of that name.
func (t *listedTool) takes(parameter string) bool {
	return parameter != "" && json.Lookup(t.input, json.Pointer("/properties").AppendToken(parameter)) != nil
}

// check returns what is wrong with arguments, as far as that can be found out.
func (t *listedTool) check(ctx context.Context, arguments []byte, log func(tool string, err error)) []recourse.Violation {
	t.make()
	if t.why != nil {
		log(t.name, fmt.Errorf("%w; arguments are not checked", t.why))
		return nil
	}
	violations := t.schema.Check(ctx, arguments)
	if pattern := t.schema.Unchecked(); pattern != "" {
		log(t.name, fmt.Errorf("%w: %q; it counts as kept", errPattern, clip(pattern)))
	}
	return violations
}

// secrets returns what is secret in arguments by the tool's schema.
func (t *listedTool) secrets(ctx context.Context, arguments []byte) []string {
	if !bytes.Contains(t.input, []byte("writeOnly")) && !bytes.Contains(t.input, []byte(`"password"`)) {
		return nil
	}
	if t.make(); t.why != nil {
		return nil
	}
	return t.schema.Secrets(ctx, arguments)
}

var errPattern = errors.New("a pattern would take more time and memory than the patterns of one list may")

// maxNoted bounds how many tools are remembered whose schema was complained of.
const maxNoted = 10_000

// logOnce says what is not checked of a tool's arguments, once for as long as the
// reason stays the same.
func (t *toolLists) logOnce(server string) func(tool string, err error) {
	return func(tool string, err error) {
		reason := err.Error()
		reason = reason[:min(len(reason), maxReason)]
		t.mu.Lock()
		known := t.noted[tool] == reason
		if len(t.noted) >= maxNoted {
			clear(t.noted)
		}
		t.noted[tool] = reason
		t.mu.Unlock()
		if !known {
			t.log.Warn("inputSchema cannot be used in full",
				slog.String("server", server), slog.String("tool", tool), slog.Any("cause", logged{err: errors.New(reason)}))
		}
	}
}

// maxReason bounds a reason that is remembered, in bytes.
const maxReason = 500
