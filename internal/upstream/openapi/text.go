package openapi

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	maxTitle       = 128
	maxDescription = 1024 // of a tool
	maxNote        = 300  // of a parameter or property
)

// clip shortens a text to the given number of bytes, at the end of a word if possible.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	if end := strings.LastIndexAny(s, " \n"); end > most/2 {
		s = s[:end]
	}
	return s + "…"
}

// plain returns a text without control and invisible characters, except for line breaks.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case !unicode.IsPrint(r) && !unicode.IsSpace(r), r == '\r':
			return -1
		default:
			return r
		}
	}, s)
	return clip(strings.TrimSpace(s), most)
}

// oneLine is plain for titles.
func oneLine(s string, most int) string {
	return clip(strings.Join(strings.Fields(plain(s, len(s)+3)), " "), most)
}

// appendJSON appends a value from [json.UnmarshalAny], with the members of objects sorted and numbers
// spelled as before.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case stdjson.Number:
		return append(dst, v...)
	case string:
		return json.AppendQuote(dst, v)
	case []string:
		return append(dst, json.Texts(v)...)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(append(json.AppendQuote(dst, name), ':'), v[name])
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...) // there is nothing else
	}
}
