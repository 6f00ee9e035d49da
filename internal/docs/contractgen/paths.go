package contractgen

import (
	"regexp"
	"slices"
	"strings"
)

// Contracts name members of the record as their authors think of them: after.seconds, quota.minute.resetAtMs. In tables
// a path is where the record keeps them, and after a colon the wire type, unless it is text: afterMs:seconds,
// quotas.minute.resetAt:instant. record.py and record.ts say what each type means.

// wireTypes are the types of members, by name.
var wireTypes = map[string][]string{
	"ms":      {"afterMs", "windowMs"},
	"count":   {"remaining"},
	"whole":   {"limit", "status"},
	"texts":   {"hints", "missingScopes", "fields"},
	"objects": {"violations", "quotas", "succeeded", "failed", "missing"},
	"object":  {"verify", "resource", "upstream", "details", "args"},
	"any":     {"got", "value"},
	"flag":    {"retryable"},
}

// computedPaths are the places of members that the record has in another form. Types that only a writer knows are not
// read.
var computedPaths = map[string]string{
	"message.given": "message:given",
	"code.name":     "code:name",
	"code.group":    "code:group",
	"code.number":   "code:number",
	"after":         "afterMs:wait",
	"after.seconds": "afterMs:seconds",
	"verify.call":   "verify:call",
	"http.title":    "http:title",
}

// located converts a contract's path, from the record or from an item of its lists, to a table's.
func located(path string) string {
	outer, inner := "", path
	if at := strings.LastIndex("."+path, ".error."); at >= 0 {
		outer, inner = path[:at+len("error.")], path[at+len("error."):]
	}
	if place, ok := computedPaths[inner]; ok {
		return outer + place
	}
	if name, ok := strings.CutPrefix(inner, "text."); ok {
		return outer + "details." + name
	}
	if rest, ok := strings.CutPrefix(inner, "call."); ok {
		return "call:" + rest
	}
	if member, ok := strings.CutPrefix(inner, "quota."); ok {
		member, isInstant := strings.CutSuffix(member, "AtMs")
		if isInstant {
			return outer + "quotas." + member + "At:instant"
		}
		return located(outer + "quotas." + member)
	}
	steps := strings.Split(inner, ".")
	name := steps[len(steps)-1]
	if len(steps) > 1 && slices.Contains([]string{"details", "args"}, steps[len(steps)-2]) {
		return path + ":any"
	}
	for wire, names := range wireTypes {
		if slices.Contains(names, name) {
			return path + ":" + wire
		}
	}
	return path
}

// placeholder matches a placeholder for a member in a template, and doubled braces.
var placeholder = regexp.MustCompile(`\{\{|\}\}|\{[^{}]*\}`)

// locatedTemplate converts the paths in a template to those of tables.
func locatedTemplate(template string) string {
	return placeholder.ReplaceAllStringFunc(template, func(found string) string {
		if found == "{{" || found == "}}" {
			return found
		}
		path, other, hasOther := strings.Cut(found[1:len(found)-1], "|")
		if hasOther {
			other = "|" + other
		}
		return "{" + located(path) + other + "}"
	})
}
