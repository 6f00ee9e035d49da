package wild

import (
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// errorMember is where a failure stands in many answers: a sentence, or the object that has it.
const errorMember = "error"

// sentenceMembers are where systems put the sentence of a failure, the usual ones first.
var sentenceMembers = []string{
	"message", "detail", "error_description", "error_message", "errorMessage", "errorSummary", "msg", "Message",
	"description", "explanation", "help_message", "reason", errorMember, "errors", "errorCauses", "details", "title",
}

// wordMembers are those in which a single word counts as a sentence.
var wordMembers = []string{"message", "detail", errorMember, "title"}

const (
	// maxSentenceDepth limits how deep a sentence is looked for, maxSentences how many of a list are joined.
	maxSentenceDepth = 4
	maxSentences     = 5
	// maxVague is the length up to which a sentence can be a vague one, in bytes.
	maxVague = 40
)

// sentenceIn returns the sentence in an error object; "" if there is none. One that says no more than a status does is
// followed by the first that says more.
func sentenceIn(n *json.Node, depth int) string {
	if depth == 0 {
		return ""
	}
	vague := ""
	for _, name := range sentenceMembers {
		member := n.Member(name)
		if member == nil {
			continue
		}
		switch said := spoken(member, depth-1); {
		case said == "":
		case !isVague(said):
			if vague != "" && !strings.Contains(strings.ToLower(said), strings.ToLower(vague)) {
				said = vague + ": " + said
			}
			return withList(said, n.Member("errors"), depth-1)
		case vague == "" && (strings.Contains(said, " ") || slices.Contains(wordMembers, name)):
			vague = said
		}
	}
	return vague
}

// withList adds to a sentence the texts listed beside it, which say what it is about. A long list is told whole elsewhere.
func withList(said string, list *json.Node, depth int) string {
	if list == nil || list.Raw.Kind() != '[' {
		return said
	}
	items := list.Items(maxSentences + 1)
	if len(items) > maxSentences || slices.ContainsFunc(items, func(n json.Node) bool { return n.Raw.Kind() != '"' }) {
		return said
	}
	if more := spoken(list, depth); more != "" && !strings.Contains(said, more) {
		return strings.TrimRight(said, ".: ") + ": " + more
	}
	return said
}

// spoken returns what a value says: a text, a list of texts, or an object that has or is one.
func spoken(n *json.Node, depth int) string {
	switch n.Raw.Kind() {
	case '"':
		text, _ := n.Text()
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "{") { // an object, printed
			if inner := json.NodeOf(json.Value(text)); inner.IsObject() {
				if said := sentenceIn(inner, depth); said != "" {
					return said
				}
			}
		}
		return text
	case '[':
		return spokenList(n, depth)
	case '{':
		if said := sentenceIn(n, depth); said != "" || depth == 0 {
			return said
		}
		return spokenFields(n, depth)
	default:
		return ""
	}
}

// spokenList joins the sentences in a list.
func spokenList(n *json.Node, depth int) string {
	var said []string
	items := n.Items(maxSentences)
	for i := range items {
		if text := strings.TrimRight(spoken(&items[i], depth), "."); text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}

// spokenFields joins what an object of lists says of its members: {"name": ["can't be blank"]}.
func spokenFields(n *json.Node, depth int) string {
	names, values := n.Parts()
	var said []string
	for i := range values[:min(len(values), maxSentences)] {
		if values[i].Raw.Kind() != '[' {
			return ""
		}
		if text := spokenList(&values[i], depth); text != "" {
			said = append(said, names[i]+": "+text)
		}
	}
	return strings.Join(said, "; ")
}

// vagueSentences say that something went wrong, and not what. The phrases of the HTTP statuses are added to them.
var vagueSentences = withStatusTexts(map[string]bool{
	"validation failed": true, "validation error": true, "invalid request": true, "invalid argument": true,
	"invalid arguments": true, "invalid argument(s)": true, "invalid parameter": true, "invalid parameters": true,
	"invalid input": true, "error": true, "failed": true, "failure": true, "generic error": true, "an error occurred": true,
	"server error": true, "invalid_request": true, "invalid_argument": true, "bad_request": true, "record not found": true,
	"request validation failed": true,
})

func withStatusTexts(sentences map[string]bool) map[string]bool {
	for status := http.StatusBadRequest; status < 600; status++ {
		if text := http.StatusText(status); text != "" {
			sentences[strings.ToLower(text)] = true
		}
	}
	return sentences
}

// isVague reports whether a sentence says no more than a status or a code does.
func isVague(text string) bool {
	if len(text) > maxVague {
		return false
	}
	text = strings.TrimRight(strings.ToLower(text), ".! ")
	return vagueSentences[text] || !strings.ContainsFunc(text, unicode.IsSpace)
}

// moreTelling returns the sentence that says more: the first, unless it is vague.
func moreTelling(text, other string) string {
	if other != "" && (text == "" || isVague(text) && !isVague(other)) {
		return other
	}
	return text
}

// sentence returns the sentence of an error object, shortened if need be; "" if there is none.
func sentence(n *json.Node) string { return clean.Message(sentenceIn(n, maxSentenceDepth)) }

// maxSpoken limits how long the body of an HTTP answer can be, in bytes, to count as a sentence.
const maxSpoken = 400

var reMessageElement = regexp.MustCompile(`(?is)<(message|faultstring)[^>]*>\s*([^<]+?)\s*</`)

// SentenceOf returns the sentence in the body of an HTTP answer that is no JSON: all of a short text, or the message in
// XML; "" if there is none, since a page is not a sentence.
func SentenceOf(body string) string {
	body = strings.TrimSpace(body)
	if strings.HasPrefix(body, "<") {
		if m := reMessageElement.FindStringSubmatch(body); m != nil {
			return clean.Message(html.UnescapeString(m[2]))
		}
		return ""
	}
	if len(body) > maxSpoken || isVague(body) || strings.ContainsAny(body, "{[<\x00") || strings.Count(body, "\n") > 3 {
		return ""
	}
	return clean.Message(body)
}

// toldMembers are the members of an error object that are told in other words, or tell a model nothing.
var toldMembers = map[string]bool{
	"success": true, "ok": true, "isError": true, "failed": true,
	"retryable": true, "retryAfter": true, "retryAfterMs": true, "retry_after": true,
	"requestId": true, "request_id": true, "timestamp": true, "stack": true, "stackTrace": true, "trace": true, "traceback": true,
}

// maxRest limits what is kept of an object beside its sentence, in bytes.
const maxRest = 4 << 10

// Rest returns what an error object says beside its sentence, such as the values that would be valid, as an object on one
// line; "" if that is nothing.
func Rest(n *json.Node, said string) string {
	var left json.Members
	rest(n, &left, maxSentenceDepth, func(value *json.Node) bool {
		isWhole := len(value.Items(maxSentences+1)) <= maxSentences
		return isWhole && isIn(said, spoken(value, maxSentenceDepth))
	})
	if len(left) == 0 {
		return ""
	}
	return clean.Cut(string(left.AppendTo(nil)), maxRest)
}

// Beside returns the members of an error object beside its sentence, whole: what it lists too, of which a sentence has a part.
func Beside(n *json.Node, said string) (left json.Members) {
	rest(n, &left, maxSentenceDepth, func(value *json.Node) bool {
		text, _ := value.Text()
		return isIn(said, strings.TrimRight(strings.TrimSpace(text), "."))
	})
	return left
}

func isIn(said, text string) bool { return text != "" && strings.Contains(said, text) }

func rest(n *json.Node, left *json.Members, depth int, isTold func(*json.Node) bool) {
	names, values := n.Parts()
	for i, name := range names {
		value := &values[i]
		kind := value.Raw.Kind()
		switch {
		case kind == '{' && name == errorMember && depth > 0:
			rest(value, left, depth-1, isTold)
		case toldMembers[name], kind == 'n', isTold(value):
		case kind == 't' && name == errorMember, kind == 'f' && (name == errorMember || name == "status"):
		default:
			if raw, ok := clean.Raw(value.Raw); ok {
				left.Add(name, raw)
			}
		}
	}
}
