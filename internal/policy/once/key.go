package once

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// KeyMembers are the members of _meta in which a client sends a call's idempotency key, the most likely first.
var KeyMembers = []string{"io.github.recoursehq/idempotencyKey", "idempotency-key", "idempotency_key"}

// KeyHeader is the header in which a client sends it, and by which a provider recognises repetitions.
const KeyHeader = "Idempotency-Key"

// AgainArgument is the argument that a gateway adds to a tool by choice: its value tells apart calls that are meant.
const AgainArgument = "recourse_again"

// MaxKey is the longest key that a client may give, in bytes.
const MaxKey = 255

// Given returns the key that a client has sent in its headers or in _meta, or what is wrong with it. Both are "" if there is none.
func Given(header []string, meta json.Value) (key, wrong string) {
	keys := slices.Clone(header)
	for _, name := range KeyMembers {
		raw := json.Lookup(meta, json.Pointer("").AppendToken(name))
		if raw == nil {
			continue
		}
		text, ok := json.TextOf(raw)
		if !ok {
			return "", "it is not a text"
		}
		keys = append(keys, text)
	}
	switch keys = slices.Compact(keys); len(keys) {
	case 0:
		return "", ""
	case 1:
		return keys[0], CheckKey(keys[0])
	default:
		return "", "there are different ones"
	}
}

// By says what tells a call from others.
type By string

// What does.
const (
	ByChosen    By = "chosen" // the values at pointers into the arguments
	ByGiven     By = "given"  // the client's own key
	ByArguments By = "arguments"
)

// RowOf returns the row of a call with its ID, and by what that tells it from other calls in its scope: by the values at pointers, if
// there are all of them; without pointers, by the key that the client has given; else by the arguments.
func RowOf(arguments json.Value, pointers []string, given string, scope []string) (row Row, by By) {
	row.Print = Print(arguments)
	by, key := ByArguments, row.Print
	if picked, whole := Pick(arguments, pointers); len(pointers) > 0 && whole {
		by, key = ByChosen, Print(picked)
	} else if len(pointers) == 0 && given != "" {
		by, key = ByGiven, given
	}
	if by != ByArguments {
		row.Fields = Fields(arguments) // for those who use the key for something else
	}
	row.ID = ID(append(slices.Clip(scope), string(by), key)...)
	return row, by
}

// CheckKey returns what is wrong with a client's key; "" if nothing is.
func CheckKey(key string) string {
	switch {
	case key == "":
		return "it is empty"
	case len(key) > MaxKey:
		return fmt.Sprintf("it is longer than %d bytes", MaxKey)
	case !utf8.ValidString(key), strings.ContainsFunc(key, unicode.IsControl):
		return "it has characters that are not text"
	default:
		return ""
	}
}

// ID returns the ID of the row for a key in a scope. Words of different number or length never have the same ID.
func ID(words ...string) string {
	sum := sha256.New()
	for _, word := range words {
		fmt.Fprintf(sum, "%d:%s", len(word), word)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Print returns the fingerprint of a JSON value: that of its canonical form (RFC 8785), except that numbers keep their exact
// value. A double has no room for long ids, and two of them must not be taken for the same.
func Print(value json.Value) string {
	sum := sha256.Sum256(canonical(value))
	return hex.EncodeToString(sum[:])
}

// Pick returns the values at these pointers as an array; false if one is missing.
func Pick(arguments json.Value, pointers []string) (json.Value, bool) {
	picked := json.Value("[")
	for i, pointer := range pointers {
		value := json.Lookup(arguments, json.Pointer(pointer))
		if value == nil || value.Kind() == 'n' {
			return nil, false
		}
		if i > 0 {
			picked = append(picked, ',')
		}
		picked = append(picked, value...)
	}
	return append(picked, ']'), true
}

// canonical returns the canonical form of a JSON text; that of none is that of an empty object.
func canonical(value json.Value) json.Value {
	if len(bytes.TrimSpace(value)) == 0 {
		return json.Value("{}")
	}
	sorted := json.Sorted(value)
	out := make(json.Value, 0, len(sorted))
	for i := 0; i < len(sorted); {
		switch b := sorted[i]; {
		case b == '"':
			end := i + json.LenOfText(sorted[i:])
			out, i = append(out, sorted[i:end]...), end
		case b == '-' || '0' <= b && b <= '9':
			end := i + len(sorted[i:]) - len(bytes.TrimLeft(sorted[i:], "0123456789+-.eE"))
			out, i = appendNumber(out, string(sorted[i:end])), end
		default:
			out, i = append(out, b), i+1
		}
	}
	return out
}

// appendNumber appends a number as its digits, without zeros at either end, and the power of ten that they are multiplied by.
// However long it is, no digit is lost.
func appendNumber(dst []byte, number string) []byte {
	number, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	negative := strings.HasPrefix(number, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	shift := -len(fraction)
	if trimmed := strings.TrimRight(digits, "0"); trimmed != digits {
		digits, shift = trimmed, shift+len(digits)-len(trimmed)
	}
	if digits == "" {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	return fmt.Appendf(dst, "%se%s", digits, added(exponent, shift))
}

// added returns a decimal exponent of any length plus a small number.
func added(exponent string, shift int) string {
	sum, ok := parse(exponent)
	if !ok {
		return strings.TrimLeft(exponent, "+") + "+" + strconv.Itoa(shift) // beyond any use, but still told apart
	}
	return strconv.Itoa(sum + shift)
}

func parse(exponent string) (n int, ok bool) {
	if exponent == "" {
		return 0, true
	}
	n, err := strconv.Atoi(exponent)
	return n, err == nil
}

const (
	maxFields = 100 // that are told apart
	maxNames  = 4 << 10
	fieldBits = 2 // bytes of a field's fingerprint: enough to tell values apart, too few to find out what they are
)

// Fields returns the fingerprints of the single arguments, by JSON Pointer.
func Fields(arguments json.Value) string {
	found := map[string]string{}
	size := 0
	collect(arguments, "", func(at string, value json.Value) bool {
		sum := sha256.Sum256(canonical(value))
		size += len(at)
		found[at] = hex.EncodeToString(sum[:fieldBits])
		return len(found) < maxFields && size < maxNames
	})
	text, _ := json.Marshal(found) // of texts: it cannot fail
	return string(text)
}

// collect calls do for each value that is no object, until that returns false.
func collect(value json.Value, at string, do func(at string, value json.Value) bool) bool {
	members := json.MembersOf(value)
	if value.Kind() != '{' || members == nil {
		return at == "" || do(at, value)
	}
	for _, m := range members {
		if !collect(m.Value, string(json.Pointer(at).AppendToken(m.Name)), do) {
			return false
		}
	}
	return true
}

// Differing returns the names of the arguments in which a call differs from the one whose fields were kept.
func Differing(kept string, arguments json.Value) []string {
	var before, now map[string]string
	if json.Unmarshal([]byte(kept), &before) != nil || json.Unmarshal([]byte(Fields(arguments)), &now) != nil {
		return nil
	}
	var names []string
	for _, at := range slices.Sorted(maps.Keys(before)) {
		if now[at] != before[at] {
			names = append(names, at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[at]; !ok {
			names = append(names, at)
		}
	}
	return names
}
