package wild

import (
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// maxBeginnings limits how many brackets in a text are tried as the start of an object.
const maxBeginnings = 64

// objectIn returns the JSON object or list inside a text, or nil.
func objectIn(text string) json.Value {
	if strings.IndexByte(text, '{') < 0 && strings.IndexByte(text, '[') < 0 {
		return nil
	}
	lastBrace, lastBracket := strings.LastIndexByte(text, '}'), strings.LastIndexByte(text, ']')
	from := -1
	for range maxBeginnings {
		next := strings.IndexAny(text[from+1:], "{[")
		if next < 0 {
			return nil
		}
		from += 1 + next
		to := lastBrace
		if text[from] == '[' {
			to = lastBracket
		}
		if to < from {
			continue
		}
		if to-from > maxSearchedObject {
			return nil
		}
		if raw := json.Value(text[from : to+1]); json.Valid(raw) {
			return raw
		}
		if raw := pythonJSON(text[from : to+1]); json.Valid(raw) {
			return raw
		}
		if text[from] == '{' { // anything inside is only a part
			return nil
		}
	}
	return nil
}

// pythonLiterals maps Python's literals to JSON's.
var pythonLiterals = map[string]string{
	"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false",
}

// pythonJSON converts a value as Python prints it to JSON, if possible.
func pythonJSON(text string) json.Value {
	if !strings.Contains(text, "'") {
		return nil
	}
	var out []byte
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '\'' || b == '"':
			end := i + 1
			for end < len(text) && text[end] != b {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil
			}
			inner := strings.NewReplacer(`\'`, `'`, `\"`, `"`, `\n`, "\n", `\\`, `\`).Replace(text[i+1 : end])
			out = json.AppendQuote(out, inner)
			i = end + 1
		case isLetterByte(b):
			n := span(text[i:], isLetterByte)
			word := pythonLiterals[text[i:i+n]]
			if word == "" {
				return nil
			}
			out = append(out, word...)
			i += n
		default:
			out = append(out, b)
			i++
		}
	}
	return out
}
