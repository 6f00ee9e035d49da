package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// A detail goes over the bytes of a text once, line by line. Most of them tell nothing. At the others it asks what a finder would: whether
// something of its sort is there.
type detail struct {
	m      *Masker
	s      string
	begin  *begun
	names  *secret.Words
	places bool // addresses and paths count

	start, end int  // of the line
	mention    int  // where the last word of the name of a secret in this line ends; -1: there is none
	told       bool // one of them is not the name of a member of JSON
	member     bool // there is one in a quiet part of JSON
	nameless   bool // the text has none
	begun      bool // a word in this line may tell of what follows it,
	spoken     bool // after a blank
	candidate  int  // the last word with which something may begin
	foldings   folding
	signs      folding     // which of them it has signs for
	quiet      []quietPart // from here on
	holds      holds
	reach      int // where what was found ends
	colon      int // the last colon
	near       int // how many colons before it are near each other

	// Where each sort is looked for next, as its finder would go on.
	form, named, url, jdbc, oracle, pairs, libpq, command, resolved, inner, ipv6, unix, windows, encoded int
	stop                                                                                                 int // where the word of a URL ends

	words  int         // so far
	isOver func() bool // whether the time is over; nil: it is not limited
	over   bool        // it is: the rest is not looked at

	announced [len(announcers)]int
	kinds     *kinds
}

func (m *Masker) detail(s string) detail {
	return detail{m: m, s: s, begin: begins(), names: secret.Known(), places: m.mode == All || m.addresses}
}

// line returns what the line from start to end may hold, and where that ends.
func (l *detail) line(start, end int) (holds holds, reach int) {
	l.start, l.end, l.holds, l.reach, l.colon, l.mention, l.told = start, end, 0, end, -1, -1, false
	l.member, l.begun, l.spoken, l.foldings, l.signs, l.candidate = false, false, false, 0, 0, start-longestBegin
	for at := start; at < end && !l.over; {
		stop, next := end, end
		for len(l.quiet) > 0 && l.quiet[0].end <= at {
			l.quiet = l.quiet[1:]
		}
		if len(l.quiet) > 0 && l.quiet[0].start < end {
			stop, next = max(at, l.quiet[0].start), min(end, l.quiet[0].end)
			if l.member = l.member || l.quiet[0].mentions; l.quiet[0].folds {
				l.foldings |= foldsQuiet
			}
		}
		l.part(at, stop)
		at = next
	}
	if l.over {
		return 0, end
	}
	l.whole()
	hint := l.holds != 0 || l.mention >= 0 || l.begun || l.spoken
	switch {
	case l.foldings != 0 && (hint || l.foldings&l.signs != 0):
		l.holds |= aSpelling
	case l.foldings != 0:
		l.holds |= aFolding
	case hint:
		l.holds |= aHint
	}
	return l.holds, l.reach
}

// part looks at a part of the line.
func (l *detail) part(start, end int) {
	s, begin := l.s[:end], l.begin
	run := start // where the word of base64 begins
	for i := start; i < len(s); i++ {
		c := s[i]
		kind := begin.kinds[c]
		if kind&inWord != 0 {
			at := i
			if kind&aLetter != 0 { // that the first one is a capital does not matter
				kind &^= aMixer
			}
			for i++; i < len(s); i++ {
				next := begin.kinds[s[i]]
				if next&inWord == 0 {
					break
				}
				kind |= next
			}
			l.word(at, i, kind)
			if l.words++; l.words%(1<<10) == 0 && l.isOver != nil && l.isOver() {
				l.over = true
				return
			}
			i--
			continue
		}
		if kind&endsRun != 0 {
			if i-run >= minRun {
				l.long(run, i)
			}
			run = i + 1
		}
		switch {
		case kind&tellsAny == 0:
		case kind&isWide != 0:
			run = l.beyond(i)
			i = run - 1
		case kind&(always|aValue) != 0 || i+1 < len(s) && begin.after[c][s[i+1]]:
			l.sign(i, kind)
		}
	}
	if end-run >= minRun {
		l.long(run, end)
	}
}

// hashOf returns a hash of the first three bytes of a word, in any case.
func hashOf(s string, at int) int {
	if at+2 < len(s) {
		return int(s[at]&0x1f)<<10 | int(s[at+1]&0x1f)<<5 | int(s[at+2]&0x1f)
	}
	return headOf2((s[at:]+"  "))<<5 | int((s[at:] + "  ")[2]&0x1f)
}

// found notes that the line holds something, up to an end.
func (l *detail) found(holds holds, end int) {
	l.holds |= holds
	l.reach = max(l.reach, end)
}

// number looks for an IP address.
func (l *detail) number(at int) {
	if !l.places {
		return
	}
	if stop, ok := numericAt(l.s, at); ok {
		l.found(anAddress, stop)
	} else if ipv4(l.s, at) > 0 {
		l.signs |= foldsReference
	}
}

// word looks at a word, with bytes of these kinds.
func (l *detail) word(at, end int, kinds kind) {
	s, begin := l.s, l.begin
	if kinds&aLetter == 0 {
		if end-at == 1 && begin.single[s[at]] {
			l.formed(at)
		}
		if end < l.end && s[end] == '.' {
			l.number(at)
		}
		return
	}
	sorts := begin.sorts[hashOf(s, at)]
	if !l.nameless && (kinds&aMixer != 0 || sorts&ofName != 0 || end-at > 5 && l.names.End(s[at:end]) ||
		end < l.end && s[end] >= utf8.RuneSelf) && l.names.Within(s, at, end) {
		l.mention = end
		l.told = l.told || !l.isMember(at, end)
	}
	if sorts &^= ofName; sorts != 0 {
		l.candidate = at
		l.begins(at, sorts)
	} else if begin.single[s[at]] && (end-at >= minSingle || end < l.end && s[end] == '-') {
		l.formed(at)
	}
	switch {
	case end == l.end:
	case s[end] == '.' && isDigit(s[at]):
		l.number(at)
	case s[end-1] == 'z' && strings.HasSuffix(s[at:end+1], "7z "):
		l.commanded(end-len("7z"), "7z")
	}
}

// isMember reports whether a word is the name of a member of JSON, which is neither a value nor an element.
func (l *detail) isMember(at, end int) bool {
	line := l.s[l.start:at]
	if !strings.HasSuffix(line, `"`) || !strings.HasPrefix(l.s[end:l.end], `":`) {
		return false
	}
	line = trimEnd(line[:len(line)-1], &blanks)
	return line != "" && (line[len(line)-1] == ',' || line[len(line)-1] == '{')
}

// begins looks at a word that may begin something of these sorts.
func (l *detail) begins(at int, sorts uint8) {
	s := l.s
	if sorts&ofForm != 0 {
		l.formed(at)
	}
	if sorts&ofAnnouncement != 0 {
		l.announcement(at)
	}
	if sorts&ofCommand != 0 {
		if word := programWords.at(s, at); word != "" && at >= l.command {
			l.command = l.commanded(at+len(word), word)
		}
	}
	if sorts&(ofPairs|ofLibpq) != 0 {
		l.connection(at)
	}
	if sorts&ofResolved != 0 && l.places {
		l.resolution(at)
	}
	if sorts&ofOther != 0 && insertWords.at(s, at) != "" {
		l.begun = true
		l.found(anInsert, min(len(s), at+longestInsert))
	}
	if sorts&ofOther != 0 && otherWords.at(s, at) != "" {
		l.begun = true
		l.writing(at)
	}
}

// writing looks for a secret that is written in a way that names none: at a word, or beginning with a sign before it or within it.
func (l *detail) writing(at int) {
	if l.holds&aWriting != 0 {
		return
	}
	writingsIn(l.s, max(0, at-1), at+2, func(held *heldText, at int) bool {
		if !held.near && held.of.holdsAt(l.s, at, held.text) {
			l.holds |= aWriting
		}
		return l.holds&aWriting == 0
	})
}

// resolution looks for a name that was looked up.
func (l *detail) resolution(at int) {
	word := resolvedWords.at(l.s, at)
	if word == "" || at < l.resolved {
		return
	}
	name, next, ok := resolvedAt(l.s, at, word)
	l.resolved, l.begun = next, true
	if ok {
		l.found(anAddress, name.end)
	}
}

// kinds remember what names say of their values: most of them come again.
type kinds [32]struct {
	name string
	kind secret.Kind
}

func (k *kinds) of(name string) secret.Kind {
	known := &k[(len(name)*5+int(name[0])+int(name[len(name)-1])*3)%len(k)]
	if known.name != name {
		known.name, known.kind = name, secret.Of(name)
	}
	return known.kind
}

// value looks for a value that is named like a secret.
func (l *detail) value(sign int) {
	const longest = 128 // bytes of a name, with what is beside it
	if l.mention < 0 || sign-l.mention > longest || sign < l.named {
		return
	}
	if l.kinds == nil {
		l.kinds = new(kinds)
	}
	if value, ok := valueOf(l.s, sign, l.kinds.of, isNamed); ok {
		l.named = value.end
		l.found(aName, value.end)
	}
}

// formed looks for a credential with a form.
func (l *detail) formed(at int) {
	if at < l.form {
		return
	}
	if end, ok := formAt(l.s, at); ok {
		if end-at >= maxKey { // it may go on
			end = len(l.s)
		}
		l.found(aToken, end)
		l.form = end
	}
}

// announcement looks for a secret that a word announces.
func (l *detail) announcement(at int) {
	if announcing.at(l.s, at) == "" {
		return
	}
	for i, a := range announcers {
		if at < l.announced[i] {
			continue
		}
		if word := a.words.at(l.s, at); word != "" {
			value, next := a.value(l.s, at)
			l.announced[i] = max(next, at+len(word))
			l.begun, l.spoken = l.begun || i > 0, l.spoken || i == 0
			if value.end > value.start {
				l.found(aToken, value.end)
			}
		}
	}
}

// commanded looks for a secret in options, and returns where the command ends.
func (l *detail) commanded(at int, program string) (end int) {
	values, end := optionsOf(l.s, at, program)
	l.begun = true
	if len(values) > 0 {
		l.found(aCommand, end)
	}
	return end
}

// connection looks for a connection string.
func (l *detail) connection(at int) {
	if word := pairWords.at(l.s, at); word != "" && at >= l.pairs {
		pairs, next, ok := pairsAt(l.s, at, word)
		l.pairs, l.begun = next, true
		if ok {
			l.found(aConnection, pairs.end)
		}
	}
	if word := libpqWords.at(l.s, at); word != "" && at >= l.libpq {
		pairs, next, ok := libpqAt(l.s, at, word)
		l.libpq, l.begun = next, true
		if ok {
			l.found(aConnection, pairs.end)
		}
	}
}

// whole looks at the line as a whole.
func (l *detail) whole() {
	line := l.s[l.start:l.end]
	if l.mention >= 0 || l.member && mayGoOn(line) {
		if mayBeMarked(line, l.told) {
			l.holds |= aMark
		}
		if len(options(line)) > 0 {
			l.holds |= aCommand
		}
		if isWritten(line) {
			l.holds |= aWriting
		}
		if mayBeHead(line, l.s[min(l.end+1, len(l.s)):]) {
			l.holds |= aHead
		}
	}
	if l.m.personal && len(people(line)) > 0 {
		l.holds |= aPerson
	}
}

// minSingle is the length of the shortest word that may be a form, if that begins with no more than a letter and has no dash.
const minSingle = 12

// minRun is the length of the shortest word that may be one of base64 with its padding.
const minRun = minEncoded - 2

// long looks at a long word of base64.
func (l *detail) long(start, end int) {
	s := l.s
	if stop := padded(s, end); start >= l.encoded && stop-start >= minEncoded && mayEncode(s[start:stop]) {
		l.encoded = l.m.wrapped(s, start, stop)
		l.found(anEncoding, l.encoded)
	}
	for _, text := range l.begin.inside {
		if end-start >= l.begin.least && strings.Contains(s[start:end], text) {
			l.holds |= aToken
		}
	}
	if end-start < hexKey {
		return
	}
	word := s[start:min(end+1, len(s))]
	if len(bareKeys(word)) > 0 || len(hexKeys(word)) > 0 {
		l.holds |= aToken
	}
	if end-start > (l.end-l.start)/2 { // a line of a key
		l.holds |= aToken
	}
}
