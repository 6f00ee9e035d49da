package gateway

import (
	"maps"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/json"
)

// verifyOf fills in the call that settles whether a failed call took effect, from
// that call's arguments.
func verifyOf(rule *config.Verify, arguments json.Value, shows func([]byte) bool) *recourse.Verify {
	v := &recourse.Verify{Tool: rule.Call, LookAt: rule.Look}
	for _, name := range slices.Sorted(maps.Keys(rule.Args)) {
		if value := argument.Shown(arguments, rule.Args[name]); value != nil && shows(value) {
			v.Args = v.Args.With(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rule.With)) {
		v.Args = v.Args.With(name, rule.With[name])
	}
	return v
}

// shows reports whether a value of the call's arguments may stand in a call that is
// advised: nothing of it is what the server's entry, or its contract, has masked.
func (x *exchange) shows(value []byte) bool {
	return x.masker().String(string(value)) == string(value)
}
