package args

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxPattern = 4096  // length of a pattern in bytes
	maxProgram = 20000 // instructions that a pattern may compile to
)

// pattern is a regular expression of a schema, in the dialect of ECMAScript. What
// Go's engine, which knows neither look-around nor back references, cannot run
// matches everything: one such pattern must not switch off the rest of a schema.
type pattern struct {
	source string
	expr   *regexp.Regexp // nil: matches everything
	size   int            // instructions, about
}

var _ jsonschema.Regexp = (*pattern)(nil)

// compilePattern satisfies [jsonschema.RegexpEngine]. It returns no error.
func compilePattern(source string) (jsonschema.Regexp, error) {
	p := &pattern{source: source}
	if len(source) > maxPattern {
		return p, nil
	}
	translated := translate(source)
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return p, nil //nolint:nilerr // see pattern
	}
	if p.size = programSize(tree); p.size > maxProgram {
		return p, nil
	}
	if p.expr, err = regexp.Compile(translated); err != nil {
		p.expr = nil
	}
	return p, nil
}

// String returns the pattern as the schema has it.
func (p *pattern) String() string { return p.source }

// MatchString reports whether s contains a match.
func (p *pattern) MatchString(s string) bool { return p.expr == nil || p.expr.MatchString(s) }

// cost returns how many steps matching s takes at most, in the currency of
// [check.spend].
func (p *pattern) cost(s string) int {
	if p.expr == nil {
		return 1
	}
	return 4 + len(s)*p.size/32
}

// translate rewrites the escapes that ECMAScript and Python spell differently.
func translate(source string) string {
	if !strings.Contains(source, `\`) {
		return source
	}
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		if source[i] != '\\' || i+1 == len(source) {
			b.WriteByte(source[i])
			continue
		}
		i++
		switch rest := source[i+1:]; {
		case source[i] == 'u' && len(rest) >= 4 && hex(rest[:4]):
			b.WriteString(`\x{` + rest[:4] + `}`)
			i += 4
		case source[i] == 'u' && strings.HasPrefix(rest, "{"):
			b.WriteString(`\x`)
		case source[i] == 'Z': // Python's end of text
			b.WriteString(`\z`)
		default:
			b.WriteString(source[i-1 : i+1])
		}
	}
	return b.String()
}

func hex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// programSize estimates how many instructions a pattern compiles to: a counted
// repetition multiplies.
func programSize(re *syntax.Regexp) int {
	size := 1
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxProgram+1)
	}
	switch re.Op { //nolint:exhaustive // the others are as large as their parts
	case syntax.OpLiteral:
		size += len(re.Rune)
	case syntax.OpCharClass:
		size += len(re.Rune) / 32
	case syntax.OpRepeat:
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxProgram+1)
}
