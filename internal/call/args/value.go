package args

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

const (
	maxDepth  = 128     // levels of a schema
	maxValues = 1 << 14 // values in one text of arguments: some 200 bytes each while they are examined
	reserved  = 1 << 10 // of these, what is left for the rest by a list that is too long
	fewNames  = 16      // members up to which searching beats an index
)

var (
	errBounds   = errors.New("larger than what is checked")
	errRepeated = errors.New("an object has a name twice")
)

// value is a JSON value that keeps its original text.
type value struct {
	*parts

	kind json.Kind  // n t f " 0 { [
	raw  json.Value // its text, part of the input
}

// parts are what a value consists of.
type parts struct {
	members []property // of an object, in the order sent
	items   []value    // of an array
	more    int        // items after these that are only counted
	index   map[string]int
}

// noParts are those of what is neither an object nor an array.
var noParts = &parts{}

type property struct {
	name  string
	value value
}

// member returns the member of that name, or nil.
func (v *parts) member(name string) *value {
	if v.index != nil {
		if i, ok := v.index[name]; ok {
			return &v.members[i].value
		}
		return nil
	}
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i].value
		}
	}
	return nil
}

// parser builds a value of tokens.
type parser struct {
	lex   lexer.Lexer
	input []byte
	names strings.Builder // of members, one after the other
	left  int             // values that may still follow
}

// parse reads one JSON text of bounded depth and size, in which no object has a name twice.
func parse(input []byte) (*value, error) {
	p := parser{lex: lexer.Lexer{Strict: true}, input: input, left: maxValues}
	v := new(value)
	if err := p.value(v, p.next()); err != nil {
		return nil, err
	}
	if p.next() != lexer.More { // white space may follow
		return nil, p.lex.Err
	}
	return v, p.lex.End()
}

func (p *parser) next() lexer.Token {
	token, _ := p.lex.Next(p.input[p.lex.Pos:])
	return token
}

// name returns the name that the latest token is.
func (p *parser) name() string {
	start := p.names.Len()
	p.names.Write(unquoted(p.input[p.lex.Start:p.lex.Pos]))
	return p.names.String()[start:]
}

// value reads the value that begins with token.
func (p *parser) value(v *value, token lexer.Token) error {
	if p.left--; p.left < 0 {
		return errBounds
	}
	start := p.lex.Start
	var err error
	v.parts = noParts
	switch token {
	case lexer.Object:
		v.kind = '{'
		err = p.object(v)
	case lexer.Array:
		v.kind, v.parts = '[', &parts{}
		err = p.array(v.parts)
	case lexer.More:
		if err = p.lex.End(); err == nil { // a number that the text ends with
			v.kind = '0'
		}
	case lexer.Failed:
		err = p.lex.Err
	default:
		v.kind = json.Kind(p.input[start])
		if token == lexer.Number {
			v.kind = '0'
		}
	}
	v.raw = p.input[start:p.lex.Pos]
	return err
}

// object reads the members of an object. Most have few, which are made with it.
func (p *parser) object(v *value) error {
	token := p.next()
	if token == lexer.End {
		return nil
	}
	room := new(struct {
		parts

		few [4]property
	})
	v.parts = &room.parts
	v.members = room.few[:0]
	for ; token != lexer.End; token = p.next() {
		if token != lexer.Name {
			return p.lex.End()
		}
		name := p.name()
		if len(v.members) < fewNames && v.member(name) != nil {
			return errRepeated
		}
		v.members = append(v.members, property{name: name})
		if err := p.value(&v.members[len(v.members)-1].value, p.next()); err != nil {
			return err
		}
	}
	if len(v.members) <= fewNames {
		return nil
	}
	v.index = make(map[string]int, len(v.members))
	for i := range v.members {
		v.index[v.members[i].name] = i
	}
	if len(v.index) < len(v.members) {
		return errRepeated
	}
	return nil
}

func (p *parser) array(v *parts) error {
	start := p.lex.Pos
	for token := p.next(); token != lexer.End; token = p.next() {
		if p.left <= reserved {
			if err := p.skip(token); err != nil {
				return err
			}
			v.more++
			continue
		}
		if len(v.items) == cap(v.items) {
			v.items = slices.Grow(v.items, p.more(len(v.items), p.lex.Start-start))
		}
		v.items = append(v.items, value{})
		if err := p.value(&v.items[len(v.items)-1], token); err != nil {
			return err
		}
	}
	return nil
}

// more guesses how many items follow so many in as many bytes: not all that may be, since the rest of the text may hold other things.
func (p *parser) more(items, size int) int {
	const some, times = 4, 8
	if items < some {
		return some
	}
	rest := (len(p.input) - p.lex.Pos) / max(size/items, 1)
	return max(min(rest, p.left-reserved, times*items), some)
}

// skip reads the value that begins with token, and keeps nothing of it.
func (p *parser) skip(token lexer.Token) error {
	for depth := 0; ; token = p.next() {
		switch token { //nolint:exhaustive // the others are whole values, or their names
		case lexer.Object, lexer.Array:
			depth++
		case lexer.End:
			depth--
		case lexer.More: // the text ends here
			return errBounds
		case lexer.Failed:
			return p.lex.Err
		}
		if depth == 0 {
			return nil
		}
	}
}

// text returns the text of a string. It is made on demand: most rules only need the type.
func (v *value) text() string { return string(unquoted(v.raw)) }

// unquoted returns the text of a string.
func unquoted(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, _ := json.AppendUnquote(nil, raw) // the lexer has accepted it
	return text
}

// canonical returns a spelling that two values share if and only if they are equal: 1.0 is 1, and the order
// of members does not matter.
func (v *value) canonical() string {
	var b strings.Builder
	v.writeCanonical(&b)
	return b.String()
}

func (v *value) writeCanonical(b *strings.Builder) {
	switch v.kind {
	case '{':
		members := slices.Clone(v.members)
		slices.SortFunc(members, func(x, y property) int { return strings.Compare(x.name, y.name) })
		b.WriteByte('{')
		for i := range members {
			writeText(b, members[i].name)
			members[i].value.writeCanonical(b)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i := range v.items {
			v.items[i].writeCanonical(b)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case '"':
		writeText(b, v.text())
	case '0':
		if d, ok := parseDecimal(string(v.raw)); ok {
			if d.negative {
				b.WriteByte('-')
			}
			b.WriteString(d.digits + "e" + strconv.Itoa(d.exp))
			return
		}
		b.Write(v.raw)
	default:
		b.Write(v.raw)
	}
}

// writeText writes a text after its length, so that no text can be mistaken for two.
func writeText(b *strings.Builder, text string) {
	b.WriteString(`"` + strconv.Itoa(len(text)) + ":" + text)
}
