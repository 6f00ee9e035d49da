package contract

import (
	"bytes"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// kept is what a result holds beyond the failure that was read from it: it goes
// into the result that takes its place.
type kept struct {
	blocks     []json.Value // content after the first text
	structured json.Value   // structuredContent of the server's own
	members    []member
	meta       []member
}

type member struct {
	name  string
	value json.Value
}

// keep sorts out an original result. Its first text block is the failure itself,
// and so is structuredContent in the form of a contract.
func keep(original json.Value, c *Contract) kept {
	var k kept
	for name, value := range members(original) {
		switch name {
		case "content":
			k.blocks = otherBlocks(value)
		case "structuredContent":
			var e recourse.Error
			if _, record := readRecord(value); !record && !c.readShape(value, &e) {
				k.structured = value
			}
		case "_meta":
			for name, value := range members(value) {
				if name != recourse.MetaKey {
					k.meta = append(k.meta, member{name, value})
				}
			}
		case "isError", "resultType", c.layout.result:
		default:
			k.members = append(k.members, member{name, value})
		}
	}
	return k
}

// members ranges over the members of an object in their order; over none of
// anything else.
func members(object json.Value) func(yield func(string, json.Value) bool) {
	return func(yield func(string, json.Value) bool) {
		dec := json.NewDecoder(bytes.NewReader(object))
		if open, err := dec.ReadToken(); err != nil || open.Kind() != '{' {
			return
		}
		for dec.PeekKind() == '"' {
			name, err := dec.ReadToken()
			if err != nil {
				return
			}
			text := name.String()
			value, err := dec.ReadValue()
			if err != nil || !yield(text, value.Clone()) {
				return
			}
		}
	}
}

func otherBlocks(content json.Value) []json.Value {
	var blocks []json.Value
	if json.UnmarshalLenient(content, &blocks) != nil {
		return nil
	}
	for i, b := range blocks {
		if _, ok := textBlock(b); ok {
			return append(blocks[:i:i], blocks[i+1:]...)
		}
	}
	return blocks
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
