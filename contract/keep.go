package contract

import (
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// kept is what a result holds beyond the failure that was read from it: it goes
// into the result that takes its place.
type kept struct {
	blocks     []json.Value // content after the first text
	structured json.Value   // structuredContent of the server's own
	members    json.Members
	meta       json.Members
}

// keep sorts out an original result: what is left of it when the failure is taken
// out, which is its first text block and everything in the form of the contract
// that it was read in.
//
// Where e is a record that was cut and no form says the rest, the first text stays, too.
func (call *Call) keep(target *Contract, e *recourse.Error) kept {
	var k kept
	all := e.Truncated() && call.OriginalContract == nil
	for _, m := range json.MembersOf(call.Original) {
		switch m.Name {
		case "content":
			k.blocks = call.otherBlocks(m.Value, all)
		case "structuredContent":
			if all || !call.isFailure(m.Value, target) {
				k.structured, _ = cleanRaw(m.Value)
			}
		case "_meta":
			for _, m := range json.MembersOf(m.Value) {
				if clean, ok := cleanRaw(m.Value); ok && m.Name != recourse.MetaKey {
					k.meta = append(k.meta, json.Member{Name: m.Name, Value: clean})
				}
			}
		case "isError", "resultType", target.layout.result:
		default:
			if clean, ok := cleanRaw(m.Value); ok && (m.Name != "error" || !isErrorObject(m.Value)) {
				k.members = append(k.members, json.Member{Name: m.Name, Value: clean})
			}
		}
	}
	return k
}

// isFailure reports whether an object of the original is the failure in another
// place.
func (call *Call) isFailure(raw json.Value, target *Contract) bool {
	if _, record := readRecord(raw); record {
		return true
	}
	for _, c := range []*Contract{target, call.OriginalContract} {
		if c != nil && c.readObject(raw, newDraft()) {
			return true
		}
	}
	if c := call.OriginalContract; c != nil && c.readOtherObject(raw, true, newDraft()) {
		return true
	}
	kind := kindOf(raw)
	return kind == toolErrorKind
}

// otherBlocks returns the blocks of content that do not tell of the failure, or all of
// them.
func (call *Call) otherBlocks(content json.Value, all bool) []json.Value {
	var blocks []json.Value
	if json.UnmarshalLenient(content, &blocks) != nil {
		return nil
	}
	var others []json.Value
	found := all
	for _, b := range blocks {
		text, ok := textBlock(b)
		if ok && !found {
			found = true
			continue
		}
		if ok && call.OriginalContract != nil && call.OriginalContract.readObject(json.Value(text), newDraft()) {
			continue
		}
		if clean, ok := cleanRaw(b); ok {
			others = append(others, clean)
		}
	}
	return others
}

// answeredInJSON reports whether the original holds a text that is an object of c.
func (call *Call) answeredInJSON(c *Contract) bool {
	if call.OriginalContract != c {
		return false
	}
	var head resultHead
	if json.UnmarshalLenient(call.Original, &head) != nil {
		return false
	}
	return slices.ContainsFunc(head.Content, func(b json.Value) bool {
		text, ok := textBlock(b)
		return ok && c.readObject(json.Value(text), newDraft())
	})
}

// textBlock returns the text of a content block of type text.
func textBlock(block json.Value) (string, bool) {
	var b struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	err := json.UnmarshalLenient(block, &b)
	return b.Text, err == nil && b.Type == "text"
}
