package contract

import (
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// A verifyRule makes the call that settles whether a tool's call took effect.
type verifyRule struct {
	call   string
	args   []verifyArg
	lookAt string
}

type verifyArg struct {
	name    string
	pointer string     // into the failed call's arguments
	value   json.Value // a constant, where pointer is empty
}

func (k *compiler) verify(v verifyFile) verifyRule {
	rule := verifyRule{call: v.Call, lookAt: v.Look}
	for _, a := range v.Args {
		if !strings.HasPrefix(a.Value, "/") {
			k.mistakef(v.Node.Get("args").Get(a.Key), "write a JSON Pointer into the call's arguments, such as /reference",
				"%q is no JSON Pointer", a.Value)
		}
		rule.args = append(rule.args, verifyArg{name: a.Key, pointer: a.Value})
	}
	for _, w := range v.With {
		rule.args = append(rule.args, verifyArg{name: w.Key, value: k.constant(w.Value)})
	}
	return rule
}

// verifyFor fills in the verify call of a tool from the failed call's arguments,
// or returns nil where there is none.
func (c *Contract) verifyFor(call *Call) *recourse.Verify {
	rule, ok := c.verify[call.Tool]
	if !ok {
		return nil
	}
	v := recourse.Verify{Tool: rule.call, LookAt: rule.lookAt}
	for _, a := range rule.args {
		value := a.value
		if a.pointer != "" {
			if value = lookup(call.Arguments, a.pointer); value == nil {
				continue
			}
		}
		v.Args = append(v.Args, recourse.Arg{Name: a.name, Value: rawMessage(value)})
	}
	return &v
}

// lookup returns the value at a JSON Pointer, or nil.
func lookup(raw json.Value, pointer string) json.Value {
	value := raw
	for token := range json.Pointer(pointer).Tokens() {
		switch {
		case len(value) == 0:
			return nil
		case value[0] == '{':
			var object map[string]json.Value
			if json.UnmarshalLenient(value, &object) != nil {
				return nil
			}
			value = object[token]
		case value[0] == '[':
			var list []json.Value
			i, err := strconv.Atoi(token)
			if err != nil || json.UnmarshalLenient(value, &list) != nil || i < 0 || i >= len(list) {
				return nil
			}
			value = list[i]
		default:
			return nil
		}
	}
	return value
}
