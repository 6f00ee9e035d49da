// Package prose finds the names of tools in sentences that advise somebody.
package prose

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Mentions reports whether a text contains the name of a tool.
func Mentions(text, tool string) bool {
	for rest := text; ; {
		i := strings.Index(rest, tool)
		if i < 0 || tool == "" {
			return false
		}
		before, after := rest[:i], rest[i+len(tool):]
		if (before == "" || !isWordByte(before[len(before)-1])) && (after == "" || !isWordByte(after[0])) {
			return true
		}
		rest = after
	}
}

func isWordRune(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
}

func isWordByte(b byte) bool {
	return isWordRune(rune(b))
}

// notation matches the words in a hint that are not tools: placeholders, and parameters in front of their
// values.
var notation = regexp.MustCompile(`\{[^{}]*\}|[A-Za-z0-9_-]+=`)

// Words returns the words in a hint that can be names of tools.
func Words(hint string) iter.Seq[string] {
	return strings.FieldsFuncSeq(notation.ReplaceAllString(hint, " "), func(r rune) bool { return !isWordRune(r) })
}

// calledInProse matches what a hint tells the reader to call or use, quoted or not.
var calledInProse = regexp.MustCompile("(?i)\\b(?:call|calls|calling|use|using|run|invoke|with|ask)\\s+[`'\"]?" +
	"([A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9])")

// calledIn returns what a text tells the reader to call.
func calledIn(text string) map[string]bool {
	called := map[string]bool{}
	for _, found := range calledInProse.FindAllStringSubmatch(text, -1) {
		called[found[1]] = true
	}
	return called
}

// Tools returns the words in a hint that must be names of tools.
func Tools(hint string) iter.Seq[string] {
	called := calledIn(notation.ReplaceAllString(hint, " "))
	return func(yield func(string) bool) {
		for word := range Words(hint) {
			if looksLikeTool(word, called[word]) && !yield(word) {
				return
			}
		}
	}
}

// looksLikeTool reports whether a word in a sentence must be a name: it has an underscore between lower-case
// letters, or follows "call" or "use" and is not an English word.
func looksLikeTool(word string, called bool) bool {
	if strings.ToUpper(word) == word {
		return false // a code
	}
	return strings.Contains(strings.Trim(word, "_"), "_") || called && (strings.Contains(word, "-") || hump.MatchString(word))
}

// hump matches the middle of a name such as getOrder.
var hump = regexp.MustCompile(`[a-z][A-Z]`)

// Rename returns a text with other names for the tools in it: those of advised, and any other word that must be the
// name of a tool. offered returns the other name, or "" if there is none, and whether there is such a tool. It reports
// false if the text names a tool without another name.
func Rename(text string, advised []string, offered func(tool string) (name string, known bool)) (string, bool) {
	called := calledIn(text)
	var out strings.Builder
	for rest := text; rest != ""; {
		n := strings.IndexFunc(rest, isWordRune)
		if n < 0 {
			n = len(rest)
		}
		out.WriteString(rest[:n])
		if rest = rest[n:]; rest == "" {
			break
		}
		n = strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) })
		if n < 0 {
			n = len(rest)
		}
		word := rest[:n]
		rest = rest[n:]
		if slices.Contains(advised, word) || looksLikeTool(word, called[word]) || strings.HasPrefix(rest, "(") {
			switch name, known := offered(word); {
			case known && name == "":
				return "", false
			case known:
				word = name
			}
		}
		out.WriteString(word)
	}
	return out.String(), true
}
