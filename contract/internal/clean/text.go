package clean

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/argument"
)

// maxMessage limits a message from a server's text, in bytes. It is as much as the gateway reads to tell
// failures from successes.
const maxMessage = 256 << 10

// Message returns a sentence in valid UTF-8. If it is too long, it is shortened, and says so.
func Message(text string) string {
	if len(text) <= maxMessage {
		return strings.ToValidUTF8(text, replacement)
	}
	kept := strings.ToValidUTF8(text[:maxMessage], "")
	return fmt.Sprintf("%s … (The text is cut here: %d bytes of it are left out.)", kept, len(text)-len(kept))
}

// Cut returns a text in valid UTF-8, and at most that many bytes of it.
func Cut(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, replacement)
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Line folds line breaks, so that a sentence stays on its line.
func Line(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// VisibleLine folds line ends of any kind and invisible characters into spaces.
func VisibleLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Name returns a name from a server if it can be used in a sentence; "" if it contains sentences itself.
func Name(name string) string {
	if name = VisibleLine(name); len(name) > argument.MaxShown || strings.ContainsAny(name, "!?") || strings.Contains(name, ". ") {
		return ""
	}
	return name
}

// IsPlain reports whether a text is a name or an identifier, and so cannot be prose.
func IsPlain(text string) bool {
	return text != "" && len(text) <= argument.MaxShown && strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/@#+*[]", r)
	}) < 0
}

// IsWord reports whether a text is one word, as a code is.
func IsWord(text string) bool {
	const most = 64
	return text != "" && len(text) <= most && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}

// MaxCode limits a server's own error code, in bytes.
const MaxCode = 128

// Wait converts seconds into a duration with an upper limit.
func Wait(seconds float64) time.Duration {
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, recourse.MaxWait.Seconds()) * float64(time.Second))
}
