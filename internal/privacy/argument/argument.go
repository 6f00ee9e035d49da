// Package argument says which of a call's arguments may be shown in another call, and in which form they may be kept.
package argument

import (
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// MaxShown bounds an argument that is shown, in bytes.
const MaxShown = 128

// Shown returns the value at a JSON Pointer into a call's arguments. It returns nil if there is no value, if its name
// marks it as a secret, or if it is longer than [MaxShown]: a part of it would be another value.
func Shown(arguments []byte, pointer string) json.Value {
	value := json.Lookup(arguments, json.Pointer(pointer))
	if len(value) > MaxShown || secret.Name(json.Pointer(pointer).LastToken()) {
		return nil
	}
	return value
}
