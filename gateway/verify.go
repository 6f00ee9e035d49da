package gateway

import (
	"maps"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/json"
)

// verifyOf fills in the call that settles whether a failed call took effect, from
// that call's arguments.
func verifyOf(rule *config.Verify, arguments json.Value) *recourse.Verify {
	v := &recourse.Verify{Tool: rule.Call, LookAt: rule.Look}
	for _, name := range slices.Sorted(maps.Keys(rule.Args)) {
		if value := contract.Argument(arguments, rule.Args[name]); value != nil {
			v.Args = v.Args.With(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rule.With)) {
		v.Args = v.Args.With(name, rule.With[name])
	}
	return v
}
