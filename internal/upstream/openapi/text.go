package openapi

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
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

// toJSON returns a value from [json.UnmarshalAny] as JSON, with the members of objects sorted and numbers spelled as before.
func toJSON(v any) []byte {
	var text bytes.Buffer
	e := stdjson.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was JSON
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
