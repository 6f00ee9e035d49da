package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// maxFrame is how many bytes of a message a report shows.
const maxFrame = 2000

// frames returns what was sent and what came back, with secrets masked.
func frames(x *exchange) []string {
	shown := []string{frame("> ", x.sent)}
	switch {
	case x.answer.Text != nil:
		shown = append(shown, frame("< ", x.answer.Text))
	case x.answer.Err != nil:
		shown = append(shown, "< "+x.why())
	}
	return shown
}

// frame returns the beginning of a message.
func frame(mark string, text []byte) string {
	const half = maxFrame / 2
	if len(text) > maxFrame {
		text = slices.Concat(text[:half], []byte(" ... "), text[len(text)-half:])
		return mark + redact.New(redact.Secrets).String(string(text))
	}
	return mark + string(redact.New(redact.Secrets).JSON(text))
}

// repeat returns the tool and arguments with which `recourse call` shows it again, or "".
func (x *exchange) repeat() string {
	if x.step.tool == nil || len(x.step.args) > maxFrame {
		return ""
	}
	return ShellWord(x.step.tool.Name) + " " + ShellWord(string(x.step.args))
}

// plainWord matches what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:@%+=,-]*$`)

// ShellWord quotes a word for a shell: a server chooses the names of its tools, and people paste what a report shows.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// sortByHarm puts the worst first, and keeps the order of the rules.
func sortByHarm(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int { return b.Harm.Weight() - a.Harm.Weight() })
}
