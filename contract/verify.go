package contract

import (
	stdjson "encoding/json"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/settle"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/privacy/argument"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// verifies reads the calls that check whether others took effect. The tools that they call only read.
func (k *compiler) verifies() {
	for _, v := range k.file.Verify {
		k.c.verify[v.Key] = k.verify(v.Value)
	}
	for _, v := range k.file.Verify {
		if _, writes := k.c.verify[v.Value.Tool]; writes {
			k.Mistakef(v.Value.Node.Get("tool"), "name a tool that only reads",
				"%s has an entry in `verify` itself, which is for tools that write", v.Value.Tool)
		}
		k.c.readers[v.Value.Tool] = true
	}
	for _, x := range k.file.Expects {
		k.c.expects[x.Key] = k.expectations(x.Value)
	}
	for _, b := range k.file.Batch {
		k.c.batch[b.Key] = b.Value
	}
	for _, o := range k.file.Once {
		k.c.once[o.Key] = k.pointers(o.Value)
	}
}

// pointers reads a JSON Pointer into a call's arguments, or a list of them.
func (k *compiler) pointers(n *strictyaml.Node) (pointers []string) {
	for _, item := range language.Items(n) {
		pointer := ""
		if item.Decode(&pointer) != nil || !strings.HasPrefix(pointer, "/") {
			k.Mistakef(item, "write a JSON Pointer into the call's arguments, such as /reference", "this is no JSON Pointer")
			continue
		}
		pointers = append(pointers, pointer)
	}
	return pointers
}

func (k *compiler) verify(v contractform.VerifyFile) contractform.VerifyCall {
	rule := contractform.VerifyCall{Tool: v.Tool, LookAt: v.LookAt, Landed: settle.Compile(k.Compiler, v.Landed)}
	for _, a := range v.From {
		arg := contractform.VerifyArg{Name: a.Key, List: a.Value.Kind() == strictyaml.KindSequence}
		if arg.List && a.Value.Len() != 1 {
			k.Mistakef(a.Value, "for example [/reference]", "a list holds one JSON Pointer")
			continue
		}
		if pointer := language.Items(a.Value)[0]; pointer.Decode(&arg.Pointer) == nil && !strings.HasPrefix(arg.Pointer, "/") {
			k.Mistakef(pointer, "write a JSON Pointer into the call's arguments, such as /reference",
				"%q is no JSON Pointer", arg.Pointer)
		}
		rule.Args = append(rule.Args, arg)
	}
	for _, w := range v.With {
		rule.Args = append(rule.Args, contractform.VerifyArg{Name: w.Key, Value: k.JSON(w.Value)})
	}
	return rule
}

// VerifyFor returns the call that checks whether a failed one took effect, filled in from its arguments; nil
// if the contract names none for the tool. What may not be shown of them is left to the caller. Only Tool, Arguments and
// Shows of call are used.
func (c *Contract) VerifyFor(call *Call) *recourse.Verify {
	rule, ok := c.verify[call.Tool]
	if !ok {
		return nil
	}
	v := recourse.Verify{Tool: rule.Tool, LookAt: rule.LookAt}
	for _, a := range rule.Args {
		value, to := a.Value, &v.Args
		if a.Pointer != "" {
			if value = call.argument(a.Pointer); value == nil {
				if json.Lookup(json.Value(call.Arguments), json.Pointer(a.Pointer)) == nil {
					continue
				}
				value, to = json.AppendQuote(nil, a.Pointer), &v.From
			}
		}
		if a.List {
			value = slices.Concat(json.Value("["), value, json.Value("]"))
		}
		*to = append(*to, recourse.Arg{Name: a.Name, Value: stdjson.RawMessage(value)})
	}
	return &v
}

// argument returns the value of an argument that may be shown, or nil.
func (call *Call) argument(pointer string) json.Value {
	value := argument.Shown(call.Arguments, pointer)
	if value == nil || call.Relay.Shows != nil && !call.Relay.Shows(value) {
		return nil
	}
	return value
}

// Landed reports whether a write took effect, judging by the answer to the call that [Contract.VerifyFor]
// returns. data is that answer as JSON: its structured content, else its text; nil means that the call failed
// because the thing does not exist. known is false if the contract has no rule for the tool, or data lacks
// what the rule checks: the question is then open. Only Tool and Arguments of call are used.
func (c *Contract) Landed(call *Call, data []byte) (landed, known bool) {
	verify := c.verify[call.Tool]
	if !hasAll(verify.Args, call) {
		return false, false
	}
	return verify.Landed.Judge(data, json.Value(call.Arguments))
}

// hasAll reports whether the call has every argument that the verify call takes from it. If one is missing, the
// verify call asks about something else.
func hasAll(args []contractform.VerifyArg, call *Call) bool {
	for _, a := range args {
		if a.Pointer != "" && call.argument(a.Pointer) == nil {
			return false
		}
	}
	return true
}

// OnceKey returns JSON Pointers to the arguments that tell a repetition of a tool's call from another call; nil if the
// contract names none.
func (c *Contract) OnceKey(tool string) []string { return c.once[tool] }

// BatchArgument returns the argument that lists a call's items, each of which may fail on its own; "" if the
// contract names none for the tool.
func (c *Contract) BatchArgument(tool string) string { return c.batch[tool] }

// How values are written in calls that texts mention.
const (
	literalsJSON   = "json"
	literalsPython = "python"
)

// callText writes a call as texts mention it: order_get(reference="A-17").
func (c *Contract) callText(v *recourse.Verify) string {
	if c.literals != literalsPython {
		return v.String()
	}
	spelled := *v
	spelled.Args = slices.Clone(v.Args)
	for i, arg := range v.Args {
		spelled.Args[i].Value = stdjson.RawMessage(c.literal(json.Value(arg.Value)))
	}
	return spelled.String()
}

// literal formats a JSON value.
func (c *Contract) literal(raw json.Value) string {
	if c.literals != literalsPython {
		return string(raw)
	}
	var b strings.Builder
	for rest := string(raw); rest != ""; {
		at := strings.IndexByte(rest, '"')
		if at < 0 {
			at = len(rest)
		}
		b.WriteString(pythonWords.Replace(rest[:at]))
		end := at + json.LenOfText(rest[at:])
		b.WriteString(rest[at:end])
		rest = rest[end:]
	}
	return b.String()
}

var pythonWords = strings.NewReplacer("true", "True", "false", "False", "null", "None")
