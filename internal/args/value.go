package args

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/json"
)

const (
	maxDepth  = 128     // levels of a schema and of arguments
	maxValues = 1 << 14 // values in one text of arguments: some 300 bytes each while they are examined
	fewNames  = 16      // members up to which searching beats an index
)

var errBounds = errors.New("deeper or larger than what is checked")

// value is a JSON value that keeps its original text.
type value struct {
	kind    json.Kind // n t f " 0 { [
	raw     []byte    // its text, part of the input
	members []member  // of an object, in the order sent
	items   []value   // of an array
	index   map[string]int
}

type member struct {
	name  string
	value value
}

// member returns the member of that name, or nil.
func (v *value) member(name string) *value {
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

// parser builds values from tokens.
type parser struct {
	dec   *json.Decoder
	from  bytes.Buffer // the whole text that dec reads
	input []byte
	left  int // values that may still follow
}

var parsers = sync.Pool{New: func() any { return newParser() }}

func newParser() *parser { return &parser{dec: json.NewDecoder(new(bytes.Buffer))} }

// parse reads one JSON text of bounded depth and size.
func parse(input []byte) (*value, error) {
	p, _ := parsers.Get().(*parser) // the pool holds nothing else
	defer parsers.Put(p)
	return p.parse(input)
}

// parse keeps nothing of the input afterwards.
func (p *parser) parse(input []byte) (*value, error) {
	p.reset(input)
	defer p.reset(nil)
	var v value
	if err := p.value(&v, 0); err != nil {
		return nil, err
	}
	return &v, nil
}

func (p *parser) reset(input []byte) {
	p.from, p.input, p.left = *bytes.NewBuffer(input), input, maxValues
	p.dec.Reset(&p.from)
}

func (p *parser) value(v *value, depth int) error {
	if p.left--; p.left < 0 || depth > maxDepth {
		return errBounds
	}
	v.kind = p.dec.PeekKind()
	switch v.kind {
	case '{':
		return p.object(v, depth)
	case '[':
		return p.array(v, depth)
	default:
		raw, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		v.raw = p.input[int(p.dec.InputOffset())-len(raw) : p.dec.InputOffset()]
		return nil
	}
}

func (p *parser) object(v *value, depth int) error {
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	start := p.dec.InputOffset() - 1
	for p.dec.PeekKind() != '}' {
		name, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		v.members = append(v.members, member{name: name.String()})
		if err := p.value(&v.members[len(v.members)-1].value, depth+1); err != nil {
			return err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	v.raw = p.input[start:p.dec.InputOffset()]
	if len(v.members) > fewNames {
		v.index = make(map[string]int, len(v.members))
		for i, m := range v.members {
			v.index[m.name] = i
		}
	}
	return nil
}

func (p *parser) array(v *value, depth int) error {
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	start := p.dec.InputOffset() - 1
	for p.dec.PeekKind() != ']' {
		v.items = append(v.items, value{})
		if err := p.value(&v.items[len(v.items)-1], depth+1); err != nil {
			return err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	v.raw = p.input[start:p.dec.InputOffset()]
	return nil
}

// text returns the text of a string. It is made on demand: most rules only need the type.
func (v *value) text() string {
	if !bytes.ContainsRune(v.raw, '\\') {
		return string(v.raw[1 : len(v.raw)-1])
	}
	text, _ := json.AppendUnquote(nil, v.raw) // the decoder has accepted it
	return string(text)
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
		slices.SortFunc(members, func(x, y member) int { return strings.Compare(x.name, y.name) })
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
