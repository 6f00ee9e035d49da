package toolcall

import (
	"path"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// resourceFile is the type of a resource that an operating system's error names.
const resourceFile = "file"

// ownFile turns an error about a file that the caller did not name into one that a person has to set right: the path is the
// server's setting, and other arguments would not help. A file that does not exist may follow from any argument, unless the tool
// takes none.
func (c *Call) ownFile(r *recourse.Error, file recourse.Resource) {
	if !c.Relays || r.Code != "" || file.Type != resourceFile || file.ID == "" || len(r.Violations) > 0 || c.namesFile(file.ID) {
		return
	}
	switch r.Kind {
	case recourse.KindInvalidValue, recourse.KindInvalidState, recourse.KindConflict:
		r.Kind = recourse.KindInvalidState
	case recourse.KindPermissionDenied:
	case recourse.KindNotFound:
		if c.Tool == nil || !c.Tool.takesNothing() {
			return
		}
	default:
		return
	}
	if r.Retry = recourse.RetryAfterSetup; r.Origin == recourse.OriginCaller {
		r.Origin = recourse.OriginServer
	}
}

// codeArguments are the names of arguments that can name any file, in a language of their own.
var codeArguments = []string{"code", "command", "cmd", "script", "args", "expression", "program", "source", "input", "query", "sql"}

// namesFile reports whether the arguments of the call have to do with a file.
func (c *Call) namesFile(file string) bool {
	return namesFile(json.NodeOf(c.Arguments), strings.ToLower(file), 0)
}

func namesFile(n *json.Node, file string, depth int) bool {
	const deepest, most = 4, 64
	if text, ok := n.Text(); ok || n.Raw.Kind() == '0' {
		if !ok {
			text = string(n.Raw)
		}
		return related(strings.ToLower(text), file)
	}
	if depth == deepest {
		return true // it may be anywhere below
	}
	names, values := n.Parts()
	if values == nil {
		values = n.Items(most)
	}
	for i := range values {
		if i < len(names) && slices.Contains(codeArguments, strings.ToLower(names[i])) || namesFile(&values[i], file, depth+1) {
			return true
		}
	}
	return false
}

// related reports whether a path can follow from an argument: one has the other in it, or both look like paths. Both are in
// lower case.
func related(argument, file string) bool {
	argument = strings.Trim(argument, `/\ `)
	if strings.ContainsAny(argument, `/\`) {
		return true
	}
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return argument != "" && (strings.Contains(file, argument) || strings.Contains(argument, strings.TrimSuffix(base, path.Ext(base))))
}
