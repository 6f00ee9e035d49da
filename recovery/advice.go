package recovery

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// Advice is a call suggested by a failure's hints, such as one that finds a valid id.
type Advice struct {
	Tool string
	// Arguments are those given in the hint; the caller knows the others.
	Arguments json.RawMessage
	Hint      string
}

// Advised returns the calls that the hints of e suggest, of tools that c knows: study_get(study_id="s-1"), or "Use
// deere_list_resources with resourceType='fields'". A hint that names no call is for a person or a model to read.
func Advised(c *contract.Contract, e *recourse.Error) []Advice {
	var list []Advice
	for _, hint := range e.Hints {
		tool, rest := firstTool(c, hint)
		if tool == "" {
			continue
		}
		arguments := json.RawMessage("{}")
		if end := strings.Index(rest, ")"); strings.HasPrefix(rest, "(") && end > 0 {
			if _, given, ok := parseCall(tool + rest[:end+1]); ok {
				arguments = given
			}
		} else if given := withArguments.FindString(rest); given != "" {
			members := map[string]any{}
			for _, pair := range givenArgument.FindAllStringSubmatch(given, -1) {
				members[pair[1]] = pair[2]
			}
			arguments = withMembers(nil, members)
		}
		list = append(list, Advice{Tool: tool, Arguments: arguments, Hint: hint})
	}
	return list
}

var (
	// withArguments matches arguments in a sentence: with a='x' and b='y'.
	withArguments = regexp.MustCompile(`^ with [A-Za-z_][A-Za-z0-9_]*='[^']*'(,? and [A-Za-z_][A-Za-z0-9_]*='[^']*')*`)
	givenArgument = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)='([^']*)'`)
)

// firstTool returns the first tool named in a text, and the text after it.
func firstTool(c *contract.Contract, text string) (tool, rest string) {
	at := len(text)
	for _, name := range c.AdvisedTools() {
		for from := 0; ; {
			i := strings.Index(text[from:], name)
			if i < 0 {
				break
			}
			begin, end := from+i, from+i+len(name)
			from = end
			if (begin > 0 && isNameByte(text[begin-1])) || (end < len(text) && isNameByte(text[end])) {
				continue
			}
			if begin < at {
				at, tool, rest = begin, name, text[end:]
			}
			break
		}
	}
	return tool, rest
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
