package wild

import (
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
)

// waitUnits are units of time as people and programs write them.
var waitUnits = func() map[string]time.Duration {
	units := map[string]time.Duration{}
	for size, spellings := range map[time.Duration]string{
		time.Millisecond: "ms msec msecs millisecond milliseconds",
		time.Second:      "s sec secs second seconds",
		time.Minute:      "m min mins minute minutes",
		time.Hour:        "h hr hrs hour hours",
		24 * time.Hour:   "d day days",
	} {
		for spelling := range strings.FieldsSeq(spellings) {
			units[spelling] = size
		}
	}
	return units
}()

// spelledWait reads the wait at the start of text, such as 12s, 1m30.5s, "2 minutes and 5 seconds" or PT30S.
// It also returns the length of the text that it read, or 0 if there is no wait. A number alone counts as
// seconds, unless it can only be a point in time.
func spelledWait(text string) (total time.Duration, n int) {
	if len(text) > 2 && (text[0] == 'P' || text[0] == 'p') && (text[1] == 'T' || text[1] == 't') {
		n = 2 // ISO 8601
	}
	for parts := 0; ; parts++ {
		at := n + len(text[n:]) - len(strings.TrimLeft(text[n:], " ,"))
		if parts > 0 && strings.HasPrefix(text[at:], "and ") {
			at += len("and ")
		}
		number := span(text[at:], isNumberByte)
		value, err := strconv.ParseFloat(strings.TrimRight(text[at:at+number], "."), 64)
		if err != nil || value < 0 {
			return min(total, recourse.MaxWait), n
		}
		after := at + number
		word := after + span(text[after:], func(b byte) bool { return b == ' ' })
		unit := span(text[word:], isLetterByte)
		if size, ok := waitUnits[strings.ToLower(text[word:word+unit])]; ok && word-after <= 1 {
			total += time.Duration(min(value*float64(size), float64(recourse.MaxWait)))
			n = word + unit
			continue
		}
		alone := unit == 0 || word > after
		if parts == 0 && alone && value < minEpochSeconds && (after == len(text) || strings.IndexByte("-:/_", text[after]) < 0) { // no date
			return clean.Wait(value), at + len(strings.TrimRight(text[at:after], "."))
		}
		return min(total, recourse.MaxWait), n
	}
}

// WaitSaid returns the wait that a sentence states, such as "Try again in 9 seconds."; 0 if it states none.
func WaitSaid(text string, now time.Time) (wait time.Duration) {
	s := &search{now: now}
	s.text(builtinIndex(), text)
	for _, f := range s.findings {
		if !f.quoted {
			wait = max(wait, f.e.RetryAfter) // it is a minimum
		}
	}
	return wait
}

// span returns the length of the longest prefix of text whose bytes are all of a class.
func span(text string, is func(byte) bool) int {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

func isNumberByte(b byte) bool { return b >= '0' && b <= '9' || b == '.' }

func isLetterByte(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
