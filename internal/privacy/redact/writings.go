package redact

import (
	"regexp"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// A writing is a way to write a secret that has no sign of its own between name and value.
type writing struct {
	holds []string // one of them is in every text of that kind
	expr  func() *regexp.Regexp
	// The groups of expr are the name and the value, or the value alone; wanted decides.
	wanted func(name, value string) bool
}

// writings are lists of arguments, parts of forms, statements of SQL, arrows, and keys in JSON (RFC 7517).
var writings = []writing{
	{[]string{`"-`, `'-`}, lazily(`["']--?([A-Za-z][\w\-]{1,60})\\?["']\s{0,4},\s{0,4}\\?["']([^"'\\\n]{1,1000})`), namesSecret},
	{[]string{"form-data"}, lazily(`(?i)form-data;[^\n]{0,200}?\bname="?([\w.\-\[\]]{1,80})"?[^\n]{0,200}\r?\n` +
		`(?:[^\r\n]{1,200}\r?\n){0,4}\r?\n([^\r\n]{1,1000})`), namesSecret},
	{[]string{"dentified", "DENTIFIED"}, lazily(`(?i)\bidentified\s{1,4}(?:with\s{1,4}\S{1,80}\s{1,4})?` +
		`(?:by|as)\s{1,4}(?:password\s{1,4})?['"]([^'"\n]{1,1000})`), nil},
	{[]string{"assword(", "assword (", "ASSWORD(", "ASSWORD ("}, lazily(`(?i)\bpassword ?\(\s{0,4}['"]([^'"\n]{1,1000})`), nil},
	{[]string{"->", "→"}, lazily(`([A-Za-z][\w.\-]{2,60})["'\]]{0,2}[ \t]{0,4}(?:->|→)[ \t]{0,4}["']?([^\s"',;()]{4,1000})`), func(
		name, value string,
	) bool {
		return namesSecret(name, value) && strings.ContainsAny(value, "0123456789") && !strings.ContainsAny(value, ".:[")
	}},
	{[]string{`"kty`, `kty"`}, lazily(`"(?:d|p|q|dp|dq|qi|k)\\?"\s{0,4}:\s{0,4}\\?"([A-Za-z0-9_\-]{20,1000})`), nil},
}

func namesSecret(name, value string) bool {
	return secret.Name(name) && !isMark(value) && !saysNothing(value) && !isPlaceholder(value)
}

// written finds the secrets so written.
func written(s string) []span {
	var found []span
	for i := range writings {
		of := &writings[i]
		if !holdsOne(s, of.holds) {
			continue
		}
		for _, part := range of.parts(s) {
			text := s[part.start:part.end]
			for _, m := range of.expr().FindAllStringSubmatchIndex(text, -1) {
				value := span{m[len(m)-2], m[len(m)-1]}
				if of.wanted == nil && !isMark(text[value.start:]) ||
					of.wanted != nil && of.wanted(text[m[2]:m[3]], text[value.start:value.end]) {
					found = append(found, span{part.start + value.start, part.start + value.end})
				}
			}
		}
	}
	return found
}

// parts returns where the pattern is tried: in a long text, the lines that hold one of its texts, and those around them.
func (of *writing) parts(s string) []span {
	if len(s) < long {
		return []span{{0, len(s)}}
	}
	return partsOfText(s, func(line string) (is, following bool) { return holdsOne(line, of.holds), false })
}

func holdsOne(s string, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}
