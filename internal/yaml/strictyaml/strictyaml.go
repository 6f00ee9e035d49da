// Package strictyaml reads the YAML files that people write by hand, configuration and contracts, into Go structs
// and reports every mistake in them at once: with file, line, column, the line itself, a caret and a hint.
//
//	recourse.yaml:7:5: unknown key `timout`
//	  7 |     timout: 20s
//	    |     ^~~~~~
//	  hint: did you mean `timeout`?
//
// [Parse] fails only for a file that is not YAML; that is then the one mistake. Everything later (duplicate and
// unknown keys, wrong types, missing keys, and what the caller adds with [Document.Reportf]) is collected in the
// [Document] and comes out of [Document.Err] as one sorted list.
//
// # Values
//
// Plain scalars are read by the core schema of YAML 1.2, section 10.3.2, so that `no` and `012` are texts. Where a
// Go bool is wanted, `yes` and `no` are accepted beside `true` and `false`, because authors used to YAML 1.1 write
// them. A text is never made of a number or a boolean: quotes are asked for instead. Anchors, aliases and merge keys
// (`<<`) work; of the tags only those of the core schema are known.
//
// # Struct tags
//
//	yaml:"name"            the key of this field; fields without a yaml tag are not keys
//	yaml:"name,required"   a mistake when the key is missing
//	yaml:"name,secret"     the value is shown neither in messages nor in excerpts
//	yaml:",pos"            a [Pos] or *[Node] that receives where the struct's mapping stands
//	yaml:",key"            a text that receives the key of the struct, where a mapping by names is read into a []*struct
//	default:"20s"          the value of a scalar whose key is missing; one in parentheses is meant for readers only
//	gone:"name"            a key that there was once: whoever still has it is told why it is gone, by the tag why
//
// Embedded structs contribute their fields. Pointers are nil for a missing or null value. A text whose type has a method Words() []string
// must be one of these words.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The limits of a file. They are far above what people write, and low enough that a hostile file costs little.
const (
	maxBytes  = 256 << 10
	maxTokens = 50_000
	maxDepth  = 128     // levels of nesting, including aliased ones
	maxNodes  = 100_000 // values, with aliases expanded
)

// A Pos is a position in a file. Line and Column count from 1, Column in characters. The zero Pos is not a position.
type Pos struct {
	Line, Column int
}

// Before reports whether p is before q.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// A Document is a parsed file together with the mistakes found in it so far. It is not safe for concurrent use.
type Document struct {
	name    string
	lines   [][]rune   // of all files, one after the other
	files   []filePart // in the order in which they were read
	root    *Node
	scalars []*Node     // every scalar value, in file order
	ends    map[Pos]Pos // where the token that starts at a position ends
	secrets map[Pos]bool
	types   map[reflect.Type]*structType

	rootType reflect.Type // that the file is read into

	mistakes []*Error
	reported map[mistakeKey]bool
	broken   map[Pos]bool // values that could not be decoded

	// The current value of an Unmarshaler, and its name in messages.
	reading     *Node
	readingName string
}

// Parse reads src as one YAML document; name is the file's name in mistakes. The error, if any, is an [Errors] with the
// one mistake that makes src unreadable: bad YAML, not UTF-8, empty, a second document, or beyond a limit (256 KiB, 128
// levels, 100,000 values with aliases expanded).
func Parse(name string, src []byte) (*Document, error) {
	d := newDocument(name)
	root, fatal := d.parse(src)
	if fatal != nil {
		return nil, Errors{d.shown(fatal)}
	}
	d.root = root
	return d, nil
}

// newDocument returns a document without values.
func newDocument(name string) *Document {
	return &Document{
		name:     name,
		files:    []filePart{{name: name}},
		ends:     map[Pos]Pos{},
		secrets:  map[Pos]bool{},
		types:    map[reflect.Type]*structType{},
		reported: map[mistakeKey]bool{},
		broken:   map[Pos]bool{},
	}
}

// Decode reads src into v, a pointer, and returns every mistake as [Errors]. It does what [Parse], [Document.Decode]
// and [Document.Err] do together.
func Decode(name string, src []byte, v any) error {
	d, err := Parse(name, src)
	if err != nil {
		return err
	}
	d.Decode(v)
	return d.Err()
}

// Root returns the document's outermost value.
func (d *Document) Root() *Node { return d.root }

// Decode reads the document into v, a pointer. Mistakes are collected for [Document.Err]; values without mistakes are
// set.
func (d *Document) Decode(v any) {
	// Its mistakes are in the document already.
	_ = d.root.Decode(v)
}

// parse reads the last of the document's files and returns its outermost value, or the mistake that prevents it.
func (d *Document) parse(src []byte) (*Node, *Error) {
	if len(src) > maxBytes {
		return nil, d.fault(Pos{}, "make it smaller or split it", "the file is larger than %d KiB", maxBytes>>10)
	}
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return nil, d.fault(Pos{}, "save it as UTF-8", "the file is UTF-16")
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		d.lines = append(d.lines, []rune(line))
	}
	if fatal := d.checkCharacters(text); fatal != nil {
		return nil, fatal
	}

	var file *ast.File
	var tokens token.Tokens
	err := guard(func() error { tokens = lexer.Tokenize(text); return nil })
	d.shift(tokens)
	if err == nil {
		if fatal := d.checkTokens(tokens); fatal != nil {
			return nil, fatal
		}
		err = guard(func() (err error) {
			file, err = parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
			return err
		})
		d.correct(tokens)
		d.measure(tokens)
	}
	if err != nil {
		return nil, d.syntaxFault(err)
	}

	body, fatal := d.onlyDocument(file)
	if fatal != nil {
		return nil, fatal
	}
	b := builder{doc: d, anchors: map[string]*Node{}}
	var root *Node
	if err := guard(func() error { root = b.value(body, d.start()); return nil }); err != nil {
		return nil, d.syntaxFault(err)
	}
	return root, b.fatal
}

// guard turns a panic of the YAML parser into an error: a few broken files make it panic.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the file cannot be read as YAML")
		}
	}()
	return f()
}

// checkCharacters finds the first character that YAML does not allow (YAML 1.2, section 5.1).
func (d *Document) checkCharacters(text string) *Error {
	at := d.start()
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return d.fault(at, "save the file as UTF-8", "byte 0x%02x is not UTF-8", text[i])
			}
		}
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\u0085' {
			return d.fault(at, `write it as an escape in double quotes`, "the control character U+%04X is not allowed in YAML", r)
		}
		at.Column++
		if r == '\n' {
			at = Pos{Line: at.Line + 1, Column: 1}
		}
	}
	return nil
}

// onlyDocument returns the body of the file's one document.
func (d *Document) onlyDocument(file *ast.File) (ast.Node, *Error) {
	var body ast.Node
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); doc.Body == nil || directive {
			continue
		}
		if body == nil {
			body = doc.Body
			continue
		}
		at := startOf(doc.Body)
		if doc.Start != nil {
			at = tokenPos(doc.Start)
		}
		return nil, d.fault(at, "keep one document in a file", "a second YAML document begins here")
	}
	if body == nil {
		return nil, d.fault(Pos{}, "", "the file is empty")
	}
	return body, nil
}

// syntaxFault rewords an error of the YAML parser.
func (d *Document) syntaxFault(err error) *Error {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return d.fault(Pos{}, "", "%s", err)
	}
	at := tokenPos(syntax.GetToken())
	if tab, ok := d.indentingTab(at.Line); ok {
		return d.fault(tab, "indent with spaces", "a tab cannot indent YAML")
	}
	message := syntax.GetMessage()
	hint := ""
	switch {
	case d.lineHas(strings.HasPrefix, at.Line, "*"):
		hint = "a text that begins with `*` must be in quotes"
	case d.lineHas(strings.Contains, at.Line, "${"):
		hint = "inside { } and [ ] a value with ${NAME} must be in quotes"
	case strings.Contains(message, "mapping value is not allowed"):
		hint = "a text with `: ` in it must be in quotes; otherwise look at the indentation"
	case strings.Contains(message, "reserved character"):
		hint = "put the text in quotes"
	case strings.Contains(message, "must be specified"):
		hint = "look for a missing comma or bracket; a tab inside quotes must be written as \\t"
	case strings.Contains(message, "quoted text"):
		hint = "close the quotes"
	case strings.Contains(message, "unexpected key name"), strings.Contains(message, "non-map value"):
		hint = "look for a missing `:` and at the indentation"
	case strings.Contains(message, "directive"):
		hint = "a text that begins with `%` must be in quotes"
	}
	e := d.fault(at, hint, "not valid YAML: %s", unquoted(message))
	e.bare = true // it is not known yet which values are secret
	return e
}

// unquoted returns a message of the parser without what it quotes from the file. A single character is a sign of the
// language, and not a secret.
func unquoted(message string) string {
	return quotedPart.ReplaceAllString(message, "...")
}

var quotedPart = regexp.MustCompile(`"(?:\\.|[^"\\]){2,}"|'[^']*\w{3}[^']*'`)

// indentingTab returns the position of a tab in the indentation of the line, or of the one before: the parser is
// sometimes a line late.
func (d *Document) indentingTab(line int) (Pos, bool) {
	for l := max(line-1, d.start().Line); l <= min(line, len(d.lines)); l++ {
		for i, r := range d.lines[l-1] {
			if r == '\t' {
				return Pos{Line: l, Column: i + 1}, true
			}
			if r != ' ' {
				break
			}
		}
	}
	return Pos{}, false
}

// lineHas reports whether test is true of the given line, without its indentation, and text.
func (d *Document) lineHas(test func(line, text string) bool, line int, text string) bool {
	return line >= 1 && line <= len(d.lines) && test(strings.TrimSpace(string(d.lines[line-1])), text)
}

// fault returns a mistake without recording it.
func (d *Document) fault(at Pos, hint, format string, args ...any) *Error {
	return &Error{File: d.name, Pos: at, Message: fmt.Sprintf(format, args...), Hint: hint}
}
