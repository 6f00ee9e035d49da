// Package json is the one place where Recourse touches its JSON library, and the
// one place where its strictness is chosen.
//
// Input is I-JSON (RFC 7493): valid UTF-8, no name twice in an object, names
// matched case-sensitively. Output is deterministic (maps sorted by name) and
// does not escape for HTML. Two rules of the library differ from encoding/json
// and are worth knowing: a nil slice or map is written as [] or {}, not as null,
// and `omitempty` leaves out what is written as "", null, [] or {}, so that a
// zero number or boolean needs `omitzero`.
package json

import (
	stdjson "encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Types of the library that appear in the signatures and fields of others.
type (
	// Value is one raw JSON value. A struct field of this type keeps the bytes as
	// they were sent. Its methods Compact and Indent keep numbers, strings and the
	// order of members; Canonicalize sorts them (RFC 8785).
	Value = jsontext.Value
	// Pointer is a JSON Pointer (RFC 6901).
	Pointer = jsontext.Pointer
	// Kind is the kind of a value or token, its first byte: n t f " 0 { } [ ].
	Kind = jsontext.Kind
	// Decoder reads tokens and values from a stream.
	Decoder = jsontext.Decoder
	// SyntaxError says where a text breaks the grammar or repeats a name.
	SyntaxError = jsontext.SyntacticError
	// SemanticError says which value does not fit which Go type.
	SemanticError = json.SemanticError
)

// Errors that SyntaxError and SemanticError wrap.
var (
	// ErrDuplicateName marks a name that stands twice in an object.
	ErrDuplicateName = jsontext.ErrDuplicateName
	// ErrUnknownName marks a member that [UnmarshalKnown] has no field for.
	ErrUnknownName = json.ErrUnknownName
)

// Marshal returns v as compact JSON.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true))
}

// Canonical returns the form that is the same for the same value (RFC 8785), but that whole numbers keep all their digits: there,
// ids of 64 bits that are close to each other are the same. What is not JSON is returned as it is.
func Canonical(v Value) Value {
	c := slices.Clone(v)
	if c.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return v
	}
	return c
}

// Sorted is [Canonical] with all numbers as they are written.
func Sorted(v Value) Value {
	c := slices.Clone(v)
	if c.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return v
	}
	return c
}

// LenOfText returns the length of the text with which raw begins, quotes included.
func LenOfText[T ~string | ~[]byte](raw T) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// Compact returns v without the white space between its tokens. What is not JSON is returned as it is.
func Compact(v Value) Value {
	compact, err := AppendCompact(nil, v)
	if err != nil {
		return v
	}
	return compact
}

// Unmarshal stores the JSON text b in the value that v points to. Members without
// a field are ignored.
func Unmarshal(b []byte, v any) error {
	return json.Unmarshal(b, v)
}

// UnmarshalKnown is [Unmarshal] for texts of our own form: a member without a
// field is an error.
func UnmarshalKnown(b []byte, v any) error {
	return json.Unmarshal(b, v, json.RejectUnknownMembers(true))
}

// UnmarshalLenient is [Unmarshal] for answers of other people's servers: invalid UTF-8 and halves of surrogate pairs
// become U+FFFD, and a repeated name is allowed (its later value is merged over the earlier one).
func UnmarshalLenient(b []byte, v any) error {
	return json.Unmarshal(b, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// UnmarshalAny returns the JSON text b as nil, bool, string, []any,
// map[string]any and, for numbers, the Number of encoding/json, which keeps every
// digit. It is the form that schema validators take.
func UnmarshalAny(b []byte) (any, error) {
	var v any
	if err := json.Unmarshal(b, &v, exactNumbers); err != nil {
		return nil, err
	}
	return v, nil
}

// exactNumbers is made once, since it holds the library's cache of types.
var exactNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(exactNumber))

// exactNumber decodes a number without going through float64, and leaves all else
// to the library.
func exactNumber(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != jsontext.KindNumber {
		return errors.ErrUnsupported
	}
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	*v = stdjson.Number(raw)
	return nil
}

// NewDecoder returns a strict decoder that reads from r. Its Reset makes it read
// another.
func NewDecoder(r io.Reader) *Decoder {
	return jsontext.NewDecoder(r)
}

// NewLenientDecoder returns a decoder for texts of other people's servers: repeated names are allowed, and invalid
// UTF-8 and halves of surrogate pairs become U+FFFD.
func NewLenientDecoder(r io.Reader) *Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Valid reports whether b is one strict JSON text.
func Valid(b []byte) bool {
	return Value(b).IsValid()
}

// AppendQuote appends src as a JSON string in its shortest spelling. Invalid UTF-8
// becomes U+FFFD.
func AppendQuote[Bytes ~[]byte | ~string](dst []byte, src Bytes) []byte {
	dst, _ = jsontext.AppendQuote(dst, src) // the error only repeats that UTF-8 was replaced
	return dst
}

// AppendMembers appends the members of an object, sorted, with their values as they
// are spelled.
func AppendMembers(dst []byte, members map[string]Value) []byte {
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(AppendQuote(dst, name), ':'), members[name]...)
	}
	return dst
}

// AppendUnquote appends the text that the JSON string src stands for. Invalid UTF-8
// and halves of surrogate pairs become U+FFFD, with an error; other errors mean
// that src is not a JSON string.
func AppendUnquote[Bytes ~[]byte | ~string](dst []byte, src Bytes) ([]byte, error) {
	return jsontext.AppendUnquote(dst, src)
}

// AppendCompact appends src without the white space between its tokens. Numbers,
// strings and the order of members stay as they are spelled.
func AppendCompact(dst, src []byte) ([]byte, error) {
	return appendFormat(dst, src)
}

// AppendIndent appends src with each member and element on a line of its own,
// indented by indent (spaces and tabs only) for each level.
func AppendIndent(dst, src []byte, indent string) ([]byte, error) {
	return appendFormat(dst, src, jsontext.WithIndent(indent))
}

// appendFormat restores dst when src is not JSON: the library would append src as
// it is.
func appendFormat(dst, src []byte, opts ...jsontext.Options) ([]byte, error) {
	opts = append(opts,
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true))
	out, err := jsontext.AppendFormat(dst, src, opts...)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Position says where in the input err arose: the pointer to the value, and the
// offset in bytes at or after which it stands. ok is false when err is not about
// a place in a JSON text.
func Position(err error) (pointer Pointer, offset int64, ok bool) {
	if e, found := errors.AsType[*SyntaxError](err); found {
		return e.JSONPointer, e.ByteOffset, true
	}
	if e, found := errors.AsType[*SemanticError](err); found {
		return e.JSONPointer, e.ByteOffset, true
	}
	return "", 0, false
}
