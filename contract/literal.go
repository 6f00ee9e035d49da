package contract

import (
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// How values are spelled in the calls that texts name.
const (
	literalsJSON   = "json"
	literalsPython = "python"
)

// callText writes a call as a text names it: order_get(reference="A-17").
func (c *Contract) callText(v *recourse.Verify) string {
	if c.literals != literalsPython {
		return v.String()
	}
	args := make([]string, len(v.Args))
	for i, arg := range v.Args {
		args[i] = arg.Name + "=" + c.literal(json.Value(arg.Value))
	}
	return v.Tool + "(" + strings.Join(args, ", ") + ")"
}

// literal spells a JSON value.
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
		end := at + textLen(rest[at:])
		b.WriteString(rest[at:end])
		rest = rest[end:]
	}
	return b.String()
}

var pythonWords = strings.NewReplacer("true", "True", "false", "False", "null", "None")

// textLen returns the length of the JSON string with which raw begins, quotes
// included.
func textLen(raw string) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
