package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// signs are what a model reads of a failure that helps it to go on.
var signs = []struct {
	letter string
	form   *regexp.Regexp
}{
	{"W", regexp.MustCompile(`\b(7|30) s\b|7000|after["\\: ]*30`)},
	{"R", regexp.MustCompile(`(?i)(safe to|do not) repeat|(calling|call) again|listed by tools/list|retryable`)},
	{"E", regexp.MustCompile(`(?i)not known whether|nothing was (done|changed)|safe to repeat|took effect|\beffect\b`)},
	{"V", regexp.MustCompile(`order_get\(`)},
}

// text is all that the model has read of the call.
func (c *cell) text() string { return strings.Join(c.Told, "\n") }

// letters are the cell in the page's table.
func (c *cell) letters() string {
	switch {
	case c == nil: // not run
		return "."
	case c.End == hangs:
		return "HANGS"
	case c.End != done:
		return "DIES"
	case c.Called == "":
		return "BLIND"
	}
	letters := cmp.Or(c.read(), "-")
	if c.Arrived > 1 {
		letters += " x" + strconv.Itoa(c.Arrived)
	}
	return letters
}

// read is "ok", or the letters of what the model has read of a failure.
func (c *cell) read() string {
	text := c.text()
	if strings.Contains(text, "is confirmed") {
		return "ok"
	}
	var b strings.Builder
	for _, sign := range signs {
		if sign.form.MatchString(text) {
			b.WriteString(sign.letter)
		}
	}
	return b.String()
}
