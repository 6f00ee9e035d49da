package toolcall

import (
	"regexp"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// reWrites matches SQL with a statement that writes, and another one after it.
var reWrites = regexp.MustCompile(`(?is)\b(?:insert\s+into|replace\s+into|merge\s+into|delete\s+from|update\s+\S+\s+set|` +
	`(?:create|drop|alter|truncate)\s+(?:table|index|view|schema|database|role|user))\b[^;]*;\s*[^\s;]`)

// isLater reports whether a failure may be that of a later one of several SQL statements: those before it were carried out, unless
// the database undoes them. What is no SQL at all is found before the first.
func (c *Call) isLater(e *recourse.Error) bool {
	switch class := e.Kind.Class(); {
	case !c.Relays:
		return false
	case class == recourse.ClassResource, class == recourse.ClassState, strings.Contains(strings.ToLower(e.Message), "constraint"):
		const deepest = 4
		return hasText(json.NodeOf(c.Arguments), reWrites, deepest)
	default:
		return false
	}
}

// hasText reports whether a text within a value matches.
func hasText(n *json.Node, re *regexp.Regexp, deepest int) bool {
	const most = 64
	if text, ok := n.Text(); ok {
		return re.MatchString(text)
	}
	if deepest == 0 {
		return false
	}
	_, values := n.Parts()
	if values == nil {
		values = n.Items(most)
	}
	for i := range values {
		if hasText(&values[i], re, deepest-1) {
			return true
		}
	}
	return false
}
