package openapi

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// errNested means that a style cannot express a value.
var errNested = errors.New("it must be a single value, or a list or an object of single values")

// A pair is a name and its value, both unescaped.
type pair struct{ name, value string }

// pairs writes a value in the style of a query, form or cookie.
func (p *param) pairs(v any) ([]pair, error) {
	if p.asJSON {
		if text, single := single(v); single {
			return []pair{{p.name, text}}, nil
		}
		return []pair{{p.name, string(toJSON(v))}}, nil
	}
	switch v := v.(type) {
	case []any:
		texts, err := singles(v)
		if err != nil {
			return nil, err
		}
		if p.explode || p.style == styleDeepObject {
			list := make([]pair, len(texts))
			for i, text := range texts {
				list[i] = pair{p.name, text}
			}
			return list, nil
		}
		return []pair{{p.name, strings.Join(texts, p.separator())}}, nil
	case map[string]any:
		return p.object(v)
	default:
		text, ok := single(v)
		if !ok {
			return nil, errNested
		}
		return []pair{{p.name, text}}, nil
	}
}

func (p *param) separator() string {
	switch p.style {
	case styleSpaceDelimited:
		return " "
	case stylePipeDelimited:
		return "|"
	default:
		return ","
	}
}

func (p *param) object(v map[string]any) ([]pair, error) {
	if p.style == styleDeepObject {
		return deep(nil, p.name, v)
	}
	var list []pair
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		text, ok := single(v[name])
		if !ok {
			return nil, errNested
		}
		list, texts = append(list, pair{name, text}), append(texts, name, text)
	}
	if p.explode {
		return list, nil
	}
	return []pair{{p.name, strings.Join(texts, p.separator())}}, nil
}

// deep writes an object as name[member]=value, to any depth, which most providers understand.
func deep(list []pair, name string, v any) (_ []pair, err error) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(v)) {
			if list, err = deep(list, fmt.Sprintf("%s[%s]", name, member), v[member]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case []any:
		for _, item := range v {
			text, ok := single(item)
			if !ok {
				return nil, errNested
			}
			list = append(list, pair{name + "[]", text})
		}
		return list, nil
	default:
		text, _ := single(v)
		return append(list, pair{name, text}), nil
	}
}

// simple writes a value in the style of a path or header; each part is escaped separately.
func (p *param) simple(v any, escape func(string) string) (string, error) {
	if p.asJSON {
		return escape(string(toJSON(v))), nil
	}
	switch v := v.(type) {
	case []any:
		texts, err := singles(v)
		for i := range texts {
			texts[i] = escape(texts[i])
		}
		return strings.Join(texts, ","), err
	case map[string]any:
		between := ","
		if p.explode {
			between = "="
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, ok := single(v[name])
			if !ok {
				return "", errNested
			}
			parts = append(parts, escape(name)+between+escape(text))
		}
		return strings.Join(parts, ","), nil
	default:
		text, ok := single(v)
		if !ok {
			return "", errNested
		}
		return escape(text), nil
	}
}

// single returns the text of a value other than a list or an object.
func single(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case stdjson.Number:
		return v.String(), true
	case nil:
		return "", true
	default:
		return "", false
	}
}

func singles(list []any) ([]string, error) {
	texts := make([]string, len(list))
	for i, v := range list {
		text, ok := single(v)
		if !ok {
			return nil, errNested
		}
		texts[i] = text
	}
	return texts, nil
}

// reservedKept are the reserved characters that have no meaning in a query.
const reservedKept = ":/?[]@!$'()*,;"

// escape replaces all but unreserved characters (RFC 3986, section 2.3) and those in keep.
func escape(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~", c) >= 0, strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func escapeAll(s string) string { return escape(s, "") }
