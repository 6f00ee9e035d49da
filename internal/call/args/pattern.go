package args

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxPattern = 4096  // length of a pattern in bytes
	maxProgram = 20000 // instructions that a pattern may compile to
	// classSize is what reading one \p{...} costs, in instructions.
	classSize = 16
)

// pattern is a regular expression of a schema, in the dialect of ECMAScript. It is compiled when it is first
// needed. Patterns that Go's engine cannot run (look-around, back references) match everything: one such
// pattern must not switch off the rest of a schema. The same goes for patterns that the budget does not
// allow.
type pattern struct {
	source string

	once    sync.Once
	expr    *regexp.Regexp // nil: matches everything
	size    int            // instructions, about
	refused bool           // it would cost too much
}

var _ jsonschema.Regexp = (*pattern)(nil)

// newPattern satisfies [jsonschema.RegexpEngine]. It returns no error.
func newPattern(source string) (jsonschema.Regexp, error) { return &pattern{source: source}, nil }

// String returns the pattern as written in the schema.
func (p *pattern) String() string { return p.source }

// MatchString satisfies [jsonschema.Regexp]; the library matches nothing.
func (p *pattern) MatchString(string) bool { return true }

// matches reports whether text contains a match, as far as the steps left allow.
func (c *check) matches(p *pattern, text string) bool {
	if c.ctx.Err() != nil {
		c.steps = 0
		return true
	}
	p.once.Do(func() { p.compile(c.budget) })
	if p.refused {
		c.unchecked.CompareAndSwap(nil, &p.source)
	}
	if p.expr == nil {
		c.spend(1)
		return true
	}
	return !c.spend(4+len(text)*p.size/32) || p.expr.MatchString(text)
}

// compile compiles the pattern, unless that costs more than is left. The cost is computed beforehand: a
// repetition {1,500} makes 500 copies of what it repeats.
func (p *pattern) compile(budget *Budget) {
	reading := len(p.source) + classSize*strings.Count(strings.ToLower(p.source), `\p`)
	if len(p.source) > maxPattern || !take(&budget.instructions, reading) {
		p.refused = true
		return
	}
	translated := translate(p.source)
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return
	}
	if p.size = programSize(tree); p.size > maxProgram || !take(&budget.instructions, p.size) {
		p.refused = true
		return
	}
	p.expr, _ = regexp.Compile(translated) // patterns that it cannot run match everything
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
