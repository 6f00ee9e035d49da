package hosts

import "bytes"

// plain returns text as plain JSON of the same length: comments, trailing commas and a byte order mark become
// spaces, so that offsets do not change.
func plain(text []byte) []byte {
	out := bytes.Clone(text)
	if bytes.HasPrefix(out, []byte("\ufeff")) {
		blank(out[:len("\ufeff")])
	}
	comma := -1 // the last one, while nothing has followed it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i = stringEnd(out, i)
			comma = -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := i + len(line(out[i:]))
			blank(out[i:end])
			i = end - 1
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return out // the decoder reports it
			}
			end += i + len("/**/")
			blank(out[i:end])
			i = end - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// stringEnd returns the offset of the last byte of the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"', '\n':
			return i
		}
	}
	return len(text)
}

// line returns text up to its first line end.
func line(text []byte) []byte {
	if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
		return text[:end]
	}
	return text
}

// blank replaces text by spaces, and keeps line ends.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' && c != '\r' {
			text[i] = ' '
		}
	}
}
