package failures

import (
	"bytes"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// maxSeeming limits the size of the successes that are looked at, in bytes: a failure that says success is rarely long.
const maxSeeming = 64 << 10

// Seems returns what a success, as scanned, plainly says of itself to be: a failure; nil: it is a success. It is passed on all
// the same.
func (r *Reader) Seems(text []byte, signs *wire.Signs, mask func([]byte) []byte) *observe.Seeming {
	result := signs.Result.Of(text)
	if len(result) > maxSeeming || !maySeem(signs.Content.Of(text), signs.Structured.Of(text)) {
		return nil
	}
	reading, reads, ok := r.full().Seems(mask(result))
	if !ok || slices.Contains(r.entry.Reads, reads) {
		return nil
	}
	line := "reads: " + reads
	if len(r.entry.Reads) > 0 {
		line = "reads: [" + strings.Join(append(slices.Clone(r.entry.Reads), reads), ", ") + "]"
	}
	return &observe.Seeming{Error: reading.Error(), Sign: reading.Sign, Line: line}
}

// beginnings of texts that are no object and may look like a failure. A < may be escaped.
var beginnings = []string{
	"<", "u003c", "HTTP ", "[Errno", "ENO", "EACC", "EEX", "EIS", "EPERM", "connect E", "getaddrinfo E", "Request failed",
}

// maySeem reports whether a success may look like a failure: by the beginning of its text, where an object says what it is, or of
// its structured content if no text repeats that. It takes a tenth of a microsecond, and no memory.
func maySeem(content, structured []byte) bool {
	const beginning = 64
	text := firstText(content)
	if text == nil {
		return hasWord(structured[:min(len(structured), beginning)])
	}
	if len(text) > len("404 ") && (text[0] == '4' || text[0] == '5') && text[1] <= '9' && text[2] <= '9' {
		return true
	}
	if hasWord(text[:min(len(text), beginning)]) {
		return bytes.Contains(text, []byte("rror")) || bytes.Contains(text, []byte("essa"))
	}
	begins := func(b string) bool { return bytes.HasPrefix(text, []byte(b)) }
	return len(text) > 0 && text[0] != '{' && slices.ContainsFunc(beginnings, begins)
}

// firstText returns the content from its first text on, without what stands before the first letter; nil: it has none.
func firstText(content []byte) []byte {
	const near = 256
	head := content[:min(len(content), near)]
	for at := bytes.Index(head, wordText); at >= 0; {
		text := skip(content[at+len(wordText):], " \t\r\n")
		if len(text) > 0 && text[0] == ':' {
			return skip(text, ": \t\r\n\"\\")
		}
		next := bytes.Index(head[at+1:], wordText) // the last was the type of the block
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
}

var wordText = []byte(`"text"`)

// skip returns text without the bytes at its beginning that are among those.
func skip(text []byte, those string) []byte {
	for len(text) > 0 && strings.IndexByte(those, text[0]) >= 0 {
		text = text[1:]
	}
	return text
}

// hasWord reports whether a text has one of the words with which objects begin that say that they are a failure: error, failed,
// message, success, ok, results, responses, outcomes.
func hasWord(text []byte) bool {
	for ; len(text) >= 4; text = text[1:] {
		switch string(text[:4]) {
		case "rror", "aile", "essa", "succ", `"ok\`, `"ok"`, "esul", "espo", "utco":
			return true
		}
	}
	return false
}
