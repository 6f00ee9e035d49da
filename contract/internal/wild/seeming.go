package wild

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// general is the family to which the forms belong that many systems share: an object that says of itself that it is a failure, or
// the page of an HTTP error. They are not forms of the language, since what counts is what else such an object does not say.
const general = "general"

const (
	// maxWrapped limits how many wrappers are removed from an object, maxBatch how many items of a list are looked at.
	maxWrapped = 2
	maxBatch   = 1000
	// maxPage limits the size of the page of an HTTP error, in bytes.
	maxPage = 16 << 10
)

// saysFailed reports whether an answer that reports success says of itself that it is a failure.
func saysFailed(text string, objects []*json.Node) bool {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") {
		objects = append(slices.Clip(objects), json.NodeOf(json.Value(text)))
	}
	return isErrorPage(text) || slices.ContainsFunc(objects, func(n *json.Node) bool {
		return len(n.Raw) <= maxSearchedObject && isFailed(n, maxWrapped)
	})
}

// isFailed reports whether a value says that all of what was asked for failed.
func isFailed(n *json.Node, wraps int) bool {
	if n.Raw.Kind() == '[' {
		return allFailed(n) && !hasID(&n.Items(1)[0])
	}
	if !n.IsObject() {
		return false
	}
	if wraps > 0 {
		if inner := wrappedIn(n); inner != nil && isFailed(inner, wraps-1) {
			return true
		}
	}
	return isOneFailure(n) || isFailedBatch(n)
}

// wrappedIn returns what an object with one member wraps: FastMCP puts what a tool returns into "result".
func wrappedIn(n *json.Node) *json.Node {
	names, values := n.Parts()
	if len(names) != 1 || !slices.Contains([]string{"result", "response", "json"}, names[0]) {
		return nil
	}
	return &values[0]
}

// isOneFailure reports whether an object says that one thing has failed. What has an id of its own, such as a job, may well be
// asked for because it has failed.
func isOneFailure(n *json.Node) bool {
	flag, status := flagOf(n), statusWord(n)
	reason, sentence := hasReason(n), hasSentence(n)
	switch {
	case flag != 0:
		return flag == 'f' && reason
	case status == "failed":
		return (reason || sentence) && saysNoMore(n)
	case status == "error" || status == "failure" || status == "fail":
		return (reason || sentence) && !hasID(n)
	case status != "" && !strings.HasPrefix(status, "complete"):
		return false
	}
	return hasText(n.Member(errorMember)) && saysNoMore(n) || hasOnlyErrors(n)
}

// hasOnlyErrors reports whether an object lists errors in place of what was asked for, as GraphQL does.
func hasOnlyErrors(n *json.Node) bool {
	errs := n.Member("errors")
	if errs == nil || len(errs.Items(1)) == 0 || !saysNoMore(n) {
		return false
	}
	if names, values := n.Parts(); slices.ContainsFunc(names, func(name string) bool {
		return !isErrorWord(name) && name != "warnings" && isEmpty(&values[slices.Index(names, name)])
	}) {
		return true
	}
	first := &errs.Items(1)[0] // in GraphQL, or in the way of Reddit: a code, a sentence and a field
	located := first.Member("locations") != nil || first.Member("extensions") != nil || first.RawMember("path").Kind() == '['
	return len(first.Items(1)) > 0 || first.Member("message") != nil && located
}

// isFailedBatch reports whether an object has a list of results all of which failed, and nothing that succeeded.
func isFailedBatch(n *json.Node) bool {
	if flagOf(n) == 't' {
		return false
	}
	for _, name := range []string{"results", "responses", "outcomes", "items"} {
		if list := n.Member(name); list != nil && allFailed(list) {
			return true
		}
	}
	succeeded, failed := n.Member("succeeded"), n.Member("failed")
	return succeeded != nil && failed != nil && string(succeeded.Raw) == "[]" && len(failed.Items(1)) > 0
}

// allFailed reports whether each item of a list says that it failed.
func allFailed(list *json.Node) bool {
	items := list.Items(maxBatch)
	for i := range items {
		n := &items[i]
		if flagOf(n) != 'f' && statusWord(n) != "error" || !hasReason(n) && !hasSentence(n) {
			return false
		}
	}
	return len(items) > 0 && len(items) < maxBatch
}

// flagOf returns the kind of the member that says whether it succeeded: 'f' if it did not, 't' whatever else it says; 0: there
// is none.
func flagOf(n *json.Node) json.Kind {
	for _, name := range []string{"ok", "success", "is_success", "isSuccess"} {
		switch kind := n.RawMember(name).Kind(); kind {
		case 0, 'n':
		case 'f':
			return kind
		default:
			return 't'
		}
	}
	return 0
}

// statusWord returns the word in the member status, in lower case.
func statusWord(n *json.Node) string {
	if m := n.Member("status"); m != nil && len(m.Raw) < maxVague {
		if text, ok := m.Text(); ok {
			return strings.ToLower(text)
		}
	}
	return ""
}

// hasReason reports whether an object says what went wrong in a member for that.
func hasReason(n *json.Node) bool {
	return slices.ContainsFunc([]string{errorMember, "errors", "error_message", "errorMessage", "err"}, func(name string) bool {
		m := n.Member(name)
		return hasText(m) || m != nil && len(m.Items(1)) > 0
	})
}

func hasSentence(n *json.Node) bool {
	return slices.ContainsFunc([]string{"message", "detail", "reason", "msg"}, func(name string) bool { return hasText(n.Member(name)) })
}

// hasText reports whether a member is a text, or an object with a sentence.
func hasText(n *json.Node) bool {
	if n == nil {
		return false
	}
	if n.Raw.Kind() == '{' {
		return sentenceIn(n, maxSentenceDepth) != ""
	}
	text, _ := n.Text()
	return strings.TrimSpace(text) != ""
}

// hasID reports whether an object is that of something with an id.
func hasID(n *json.Node) bool {
	names, _ := n.Parts()
	return slices.ContainsFunc(names, func(name string) bool {
		word := strings.ToLower(name)
		return strings.HasSuffix(word, "id") && !isTrace(word) && !isErrorWord(word)
	})
}

func isTrace(word string) bool {
	of := []string{"request", "trace", "correlation", "span"}
	return slices.ContainsFunc(of, func(of string) bool { return strings.Contains(word, of) })
}

// besides are the members of an error object that say nothing of what was asked for.
var besides = []string{
	"ok", "success", "is_success", "issuccess", "status", "statuscode", "status_code", "statustext", "httpstatus", "code",
	"type", "title", "message", "msg", "detail", "details", "description", "reason", "hint", "hints", "help", "suggestion", "cause",
	"timestamp", "startedat", "completedat", "path", "instance", "documentation_url", "doc_url", "more_info", "response_metadata",
	"extensions", "warnings", "stack", "stacktrace", "traceback", "retryable", "retryafter", "retry_after", "retryafterms", "exception",
}

// saysNoMore reports whether an object has nothing besides its error: every other member is empty.
func saysNoMore(n *json.Node) bool {
	names, values := n.Parts()
	for i, name := range names {
		word := strings.ToLower(name)
		if !isErrorWord(word) && !isTrace(word) && !slices.Contains(besides, word) && !isEmpty(&values[i]) {
			return false
		}
	}
	return true
}

func isErrorWord(name string) bool {
	return strings.Contains(strings.ToLower(name), "error") || name == "err"
}

// isEmpty reports whether a value is what stands where an answer would have been: nothing.
func isEmpty(n *json.Node) bool {
	switch string(n.Raw) {
	case "null", `""`, "[]", "{}":
		return true
	default:
		return false
	}
}

// isErrorPage reports whether a text is what a web server says instead of an answer: the status with its reason, or a page with
// that for a title.
func isErrorPage(text string) bool {
	if !strings.HasPrefix(text, "<") {
		return isStatusLine(text)
	}
	if len(text) > maxPage || !hasFold(text, "<!doctype html") && !hasFold(text, "<html") {
		return false
	}
	title, heading := elementIn(text, "title"), elementIn(text, "h1")
	return isStatusLine(title) && (title == heading || heading != "" && strings.HasSuffix(title, heading))
}

// elementIn returns the text of the first element of that name.
func elementIn(page, name string) string {
	from := indexFold(page, "<"+name+">")
	if from < 0 {
		return ""
	}
	from += len("<>") + len(name)
	text, _, _ := strings.Cut(page[from:], "</")
	return strings.TrimSpace(text)
}

// isStatusLine reports whether a text is the status of an HTTP error, and nothing else.
func isStatusLine(text string) bool {
	const longest = 64
	if len(text) < len("404 Gone") || len(text) > longest {
		return false
	}
	for _, before := range []string{"http ", "status ", "error ", "error: ", "code "} {
		if hasFold(text, before) {
			text = text[len(before):]
		}
	}
	if len(text) < len("404 ") {
		return false
	}
	status, err := strconv.Atoi(text[:3])
	if err != nil || !isFailure(status) {
		return false
	}
	reason := strings.Trim(text[3:], " :-()!.")
	return strings.EqualFold(reason, http.StatusText(status)) || strings.EqualFold(reason, "Gateway Time-out")
}
