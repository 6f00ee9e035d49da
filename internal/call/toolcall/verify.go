package toolcall

import (
	"maps"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/privacy/argument"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Verification is the call that settles whether another one took effect.
type Verification struct {
	Tool string
	// From are JSON Pointers into the arguments of the call in question, and With the constant values, both
	// by the name of the parameter.
	From   map[string]string
	With   map[string]any
	LookAt string
	Landed *contractform.Landed // how to judge its answer; nil: a person does
}

// of fills v in from the arguments of the call in question. A value that shows rejects is left to the caller.
func (v *Verification) of(arguments json.Value, shows func(value []byte) bool) *recourse.Verify {
	call := &recourse.Verify{Tool: v.Tool, LookAt: v.LookAt}
	for _, name := range slices.Sorted(maps.Keys(v.From)) {
		pointer := v.From[name]
		if value := argument.Shown(arguments, pointer); value != nil && shows(value) {
			call.Args = call.Args.With(name, value)
		} else if json.Lookup(arguments, json.Pointer(pointer)) != nil {
			call.From = call.From.With(name, pointer)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.With)) {
		call.Args = call.Args.With(name, v.With[name])
	}
	return call
}
