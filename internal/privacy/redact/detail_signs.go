package redact

import "strings"

// sign looks at a sign of such a kind.
func (l *detail) sign(i int, kind kind) {
	s, c := l.s, l.s[i]
	var before, next byte
	if i > 0 {
		before = s[i-1]
	}
	if i+1 < len(s) {
		next = s[i+1]
	}
	if kind&aValue != 0 {
		l.value(i)
	}
	if c != ':' {
		l.signs |= foldingOf[c]
	}
	switch c {
	case '.':
		if l.places && innerDomains.begins[next] {
			l.domain(i)
		}
	case '/':
		if l.places && !endsUnix[next] && i >= l.unix && (before == ':' || mayBegin(s, i)) {
			l.path(i)
		}
	case '~':
		if file, ok := homeAt(s, i); ok && l.places {
			l.found(aPath, file.end)
		}
	case '-':
		l.dash(i, before, next)
	case ':':
		l.atColon(i, before, next)
	case '@':
		l.login(i)
	case '\\':
		l.backslash(i, next)
	}
	if kind&inForm != 0 && l.begin.after[c][next] {
		l.formed(i)
		l.hold(i)
	}
	if l.holds&aSpelling == 0 && mayBeSpelled[c] {
		l.spelling(i)
	}
}

// spelling looks for a spelling of characters.
func (l *detail) spelling(i int) {
	if l.s[i] == '&' && l.isCalm(i) {
		l.foldings |= foldsReference
	} else if _, size := unspell(l.s[i:]); size > 0 {
		l.holds |= aSpelling
	}
}

// beyond looks at a character beyond ASCII, and returns where to go on.
func (l *detail) beyond(i int) int {
	const size = 2 // all characters have so many bytes
	rest, next := l.s[i:], i+size
	if len(rest) < size || rest[1]&0xc0 != 0x80 { // it has been cut off
		return i + 1
	}
	may := l.begin.wide[pairOf(rest)]
	if may&aMention != 0 && !l.nameless && l.names.BeginBeyond(rest) {
		l.mention, l.told = i+1, true
	}
	if may&aLookalike == 0 || l.holds&aSpelling != 0 {
		return next
	}
	if end, ok := l.lookalikes(i); ok {
		l.foldings |= foldsLetters
		return end
	}
	l.spelling(i)
	return next
}

// login looks for a user and a password before an @.
func (l *detail) login(at int) {
	if login, ok := driverLogin(l.s, at); ok {
		l.found(aConnection, login.end)
	}
	if at < l.oracle {
		return
	}
	if login, ok := oracleLogin(l.s, at); ok {
		l.oracle = login.end
		l.found(aConnection, login.end)
	}
}

// domain looks for a name in a network.
func (l *detail) domain(dot int) {
	if name, ok := innerAt(l.s, dot, l.inner); ok {
		l.inner = name.end
		l.found(anAddress, name.end)
	}
}

// path looks for a path.
func (l *detail) path(slash int) {
	file, end, ok := unixAt(l.s, slash)
	l.unix = end
	if ok {
		l.found(aPath, file.end)
	}
}

// hold looks for the texts with a sign that forms contain.
func (l *detail) hold(i int) {
	for _, h := range l.begin.held[l.s[i]] {
		if i >= h.at && strings.HasPrefix(l.s[i-h.at:], h.text) {
			l.holds |= aToken
		}
	}
}

// dash looks at a dash of an option for a user and a password, or of an argument in a list.
func (l *detail) dash(i int, before, next byte) {
	if quoted := isQuote(before); i == 0 || quoted || isSpace(before) {
		if value, ok := loginAt(l.s, i); ok {
			l.found(aCommand, value.end)
		}
		if quoted && (next == '-' || isLetter(next)) {
			l.writing(i - 1)
		}
	}
}

// backslash looks at a backslash, behind which a path or a word may begin.
func (l *detail) backslash(i int, next byte) {
	s := l.s
	switch next {
	case '\\':
		l.drive(i)
	case 'n', 'r', 't':
		if i+2 < len(s) && ofWords[s[i+2]] {
			l.formed(i + 2)
		}
	}
}

// atColon looks at a colon: of an address, a URL, a path with a drive, or a file with passwords.
func (l *detail) atColon(i int, before, next byte) {
	s := l.s
	if l.colon >= 0 && i-l.colon <= longestGroup {
		l.near++
	} else {
		l.near = 0
	}
	l.colon = i
	if before == 'c' && i >= l.jdbc && strings.HasSuffix(s[:i], "jdbc") {
		url, ok := jdbcAt(s, i-len("jdbc"))
		l.jdbc = url.end
		if ok {
			l.found(aConnection, url.end)
		}
	}
	if before == 'p' {
		if value, ok := slashedAt(s, i); ok {
			l.found(aCommand, value.end)
		}
	}
	switch {
	case next == '/' && strings.HasPrefix(s[i:], "://"):
		l.address(i)
		fallthrough
	case next == '/' || next == '\\':
		l.drive(i)
	case (isDigit(next) || next == '*') && (ofHosts[before] || before == '*'):
		if login, ok := passFile(s, i); ok {
			l.found(aConnection, login.end)
		}
		if host, ok := portAt(s, i); ok && l.places {
			l.found(anAddress, host.end)
		}
		l.signs |= foldsReference
	}
	if l.places && i >= l.ipv6 && (next == ':' || l.near >= colonsOfIPv6-1) {
		l.signs |= foldsReference
		address, end, ok := ipv6At(s, i, l.ipv6)
		l.ipv6 = end
		if ok {
			l.ipv6 = max(end, address.end)
			l.found(anAddress, address.end)
		}
	}
}

// address looks for a connection string that is a URL.
func (l *detail) address(i int) {
	if i < l.url {
		return
	}
	if begin := i + len("://"); l.stop < begin {
		l.stop = begin + indexOfSet(l.s[begin:], &endsURL)
	}
	if url, ok := urlAt(l.s, i, max(l.start, l.url), l.stop); ok {
		l.url = url.end
		l.found(aConnection, url.end)
	}
}

// drive looks for a path of Windows.
func (l *detail) drive(i int) {
	if !l.places || i < l.windows {
		return
	}
	file, next, ok := windowsAt(l.s, i)
	l.windows = next
	if ok {
		l.found(aPath, file.end)
	}
}

// An IPv6 address without "::" has so many colons, each at most so far from the next one.
const colonsOfIPv6, longestGroup = 6, 5
