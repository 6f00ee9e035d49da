package redact

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// connections finds connection strings.
func connections(s string) []span {
	found := append(urls(s), logins(s)...)
	if strings.Contains(s, "=") {
		if strings.Contains(s, ";") {
			found = append(found, pairWords.find(s, pairsAt)...)
		}
		found = append(found, libpqWords.find(s, libpqAt)...)
	}
	slices.SortFunc(found, bySpan)
	return found
}

// pairWords begin connection strings of ADO.NET and ODBC: Server=...;Password=...
var pairWords = newWords("server", "data source", "host", "address", "addr", "endpoint", "defaultendpointsprotocol", "driver", "provider",
	"initial catalog", "database", "user id", "uid", "username", "accountname", "sharedaccesskeyname")

// tellingNames are endings of names that only occur in connection strings.
var tellingNames = []string{
	"password", "pwd", "user id", "uid", "initial catalog", "data source", "database", "accountkey", "sharedaccesskey",
	"sharedaccesssignature",
	"integrated security", "trusted_connection", "endpointsuffix", "accountname",
}

func tells(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.ContainsFunc(tellingNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// pairsAt returns the connection string that begins with a word of pairWords, and where to go on.
func pairsAt(s string, at int, word string) (pairs span, end int, ok bool) {
	const longest = 256
	sign := skip(s, at+len(word), 1, isSpace)
	if sign == len(s) || s[sign] != '=' {
		return span{}, at + len(word), false
	}
	start := skip(s, sign+1, 1, isSpace)
	end = skip(s, start, longest, outside(";\n\"'="))
	if end == start || end == len(s) || s[end] != ';' {
		return span{}, at + len(word), false
	}
	end, telling := morePairs(s, end+1)
	return trimmed(s, []int{at, end}), end, telling || tells(word)
}

// morePairs returns the end of the pairs that begin at a position, and whether one of them proves that they are a connection
// string.
func morePairs(s string, at int) (end int, telling bool) {
	const longestName = 41
	for {
		start := skip(s, at, 1, isSpace)
		sign := skip(s, start, longestName, func(c byte) bool { return isWord(c) || c == ' ' || c == '.' || c == '-' })
		if sign == start || sign == len(s) || s[sign] != '=' || !isLetter(s[start]) {
			return at, telling
		}
		if value := skip(s, sign+1, len(s), outside(";\n\"'")); value < len(s) && s[value] == ';' {
			telling = telling || tells(s[start:sign])
			at = value + 1
			continue
		}
		if last := skip(s, sign+1, len(s), outside("; \t\r\n\"')")); last > sign+1 {
			return last, telling || tells(s[start:sign])
		}
		return at, telling
	}
}

// libpqWords are the names in connection strings of PostgreSQL's library: host=... user=...
var libpqWords = newWords("host", "hostaddr", "port", "user", "dbname", "database", "password", "passfile", "sslmode", "sslrootcert",
	"connect_timeout", "application_name", "options", "target_session_attrs")

// libpqAt returns the connection string that begins with a word of libpqWords, and where to go on.
func libpqAt(s string, at int, word string) (pairs span, end int, ok bool) {
	const few = 2
	end, telling := libpqPair(s, at, word)
	if end == 0 {
		return span{}, at + len(word), false
	}
	n := 1
	for end+1 < len(s) && isSpace(s[end]) {
		next, tells := libpqPair(s, end+1, libpqWords.at(s, end+1))
		if next == 0 {
			break
		}
		end, telling = next, telling || tells
		n++
	}
	return trimmed(s, []int{at, end}), end, n >= few && telling
}

// libpqPair returns the end of a pair that begins with a word, or 0, and whether such a pair only occurs in connection
// strings.
func libpqPair(s string, at int, word string) (end int, telling bool) {
	sign := at + len(word)
	if word == "" || sign == len(s) || s[sign] != '=' || s[at:sign] != word {
		return 0, false
	}
	value := sign + 1
	end = value + indexOr(s[value:], " \t\r\n\f\v\"',`)")
	if value < len(s) && s[value] == '\'' {
		if i := strings.IndexAny(s[value+1:], "'\n"); i >= 0 && s[value+1+i] == '\'' {
			end = value + 1 + i + 1
		}
	}
	switch word {
	case "user", "dbname", "password", "sslmode", "database":
		telling = true
	case "port":
		telling = value < len(s) && isDigit(s[value])
	}
	return end, telling
}

// stores are URL schemes of databases and similar services, whose URLs count even without credentials.
var stores = secret.WordsIn(`
	postgres postgresql mysql mariadb mongodb mongodb+srv redis rediss valkey amqp amqps kafka nats sqlserver mssql oracle
	clickhouse cassandra ldap ldaps memcached neo4j neo4j+s bolt cockroachdb couchbase couchbases sqlite sqlite3 snowflake db2 mqtt
	mqtts
`)

// urls finds URLs with a user and a password, URLs with a credential instead of a user, and URLs of databases.
func urls(s string) []span {
	var found []span
	stop := -1 // the end of the current word
	least := 0
	for sign := range places(s, "://") {
		begin := sign + len("://")
		if stop < begin {
			stop = begin + indexOfSet(s[begin:], &endsURL)
		}
		if sign < least {
			continue
		}
		url, ok := urlAt(s, sign, least, stop)
		least = begin
		if ok {
			found, least = append(found, trimmed(s, []int{url.start, url.end})), url.end
		}
	}
	done := 0
	for at := range places(s, "jdbc:") {
		if at < done {
			continue
		}
		url, ok := jdbcAt(s, at)
		done = url.end
		if ok {
			found = append(found, trimmed(s, []int{url.start, url.end}))
		}
	}
	return found
}

// ofSchemes are the bytes of the scheme of a URL.
var ofSchemes = setThat(func(c byte) bool { return ofHosts[c] || c == '+' })

var endsURL = setOf(" \t\r\n\"'<>`")

// urlAt returns the URL with "://" at sign, in a word that ends at stop, if it is one of those. It does not begin before least.
func urlAt(s string, sign, least, stop int) (url span, ok bool) {
	const (
		longest      = 32  // scheme
		maxAuthority = 512 // most bytes of a URL's authority
	)
	start := back(s, sign, max(least, sign-longest), &ofSchemes)
	for start < sign && !isLetter(s[start]) {
		start++
	}
	scheme := strings.ToLower(s[start:sign])
	begin := sign + len("://")
	end := min(stop, begin+maxAuthority)
	if strings.HasSuffix(s[:start], "jdbc:") {
		start -= len("jdbc:")
		scheme = "sqlite"
	}
	if text := s[start:end]; scheme == "" || end == begin || !stores[scheme] && (!strings.Contains(text, "@") || !hasUserInfo(text)) {
		return span{}, false
	}
	return span{start, end + indexOfSet(s[end:], &endsURL)}, true
}

// jdbcAt returns the URL that begins with "jdbc:".
func jdbcAt(s string, at int) (url span, ok bool) {
	end := at + indexOfSet(s[at:], &endsURL)
	return span{at, end}, end > at+len("jdbc:x:")
}

// logins finds users with passwords in the form of database programs.
func logins(s string) []span {
	var found []span
	done := 0
	add := func(p span, ok bool) {
		if ok && p.start >= done {
			found = append(found, p)
			done = p.end
		}
	}
	for at := range places(s, "@") {
		if at >= done { // what was found may go on to the end
			add(driverLogin(s, at))
			add(oracleLogin(s, at))
		}
	}
	done = 0
	for at := range places(s, ":") {
		add(passFile(s, at))
	}
	return found
}

// longestLogin is the greatest length of a user and a password before an @.
const longestLogin = 256

// driverLogin finds a user and a password in the form of Go's MySQL driver, before the server: user:password@tcp(...)
func driverLogin(s string, at int) (login span, ok bool) {
	way, _, inside := strings.Cut(s[at+1:min(len(s), at+6)], "(")
	if !inside || !slices.Contains([]string{"tcp", "tcp6", "unix", "udp"}, way) {
		return span{}, false
	}
	run := at
	for run > 0 && at-run < longestLogin && strings.IndexByte(" \t\r\n@/\"'", s[run-1]) < 0 {
		run--
	}
	sign := run + strings.IndexByte(s[run:at], ':')
	start := back(s, sign, run, &ofHosts)
	open := at + 1 + len(way)
	end := open + indexOr(s[open:], ") \t\r\n")
	if sign < run || start == sign || sign+1 == at || end == len(s) || s[end] != ')' {
		return span{}, false
	}
	return span{start, end + indexOr(s[end:], " \t\r\n\"'")}, true
}

// oracleLogin finds Oracle's form: user/password@service.
func oracleLogin(s string, at int) (login span, ok bool) {
	slash := at
	for slash > 0 && at-slash < longestLogin && strings.IndexByte(" \t\r\n/@\"'", s[slash-1]) < 0 {
		slash--
	}
	if slash == 0 || slash == at || s[slash-1] != '/' {
		return span{}, false
	}
	user := slash - 1
	for user > 0 && slash-user < longestLogin && (isWord(s[user-1]) || s[user-1] == '$') {
		user--
	}
	if user == slash-1 || !isLetter(s[user]) || user > 0 && strings.IndexByte("/.@-", s[user-1]) >= 0 || !isOracle(s, at+1) {
		return span{}, false
	}
	return trimmed(s, []int{user, at + indexOr(s[at:], " \t\r\n\"',;)")}), true
}

// isOracle reports whether an address or service name of Oracle begins at a position: //host, host/, host:, ORCL.
func isOracle(s string, at int) bool {
	if strings.HasPrefix(s[at:], "//") {
		return at+2 < len(s) && (isWord(s[at+2]) || s[at+2] == '.' || s[at+2] == '-')
	}
	end := skip(s, at, longestLogin, func(c byte) bool { return isWord(c) || c == '.' || c == '-' })
	if end > at && end < len(s) && (s[end] == ':' || s[end] == '/') {
		return true
	}
	capitals := skip(s, at, longestLogin, func(c byte) bool { return 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' })
	return capitals > at+1 && 'A' <= s[at] && s[at] <= 'Z'
}

// passFile finds a line of a PostgreSQL password file, host:port:database:user:password, whose first colon is at a position.
func passFile(s string, at int) (login span, ok bool) {
	const longest, digits = 254, 6
	port := at + 1
	for port < len(s) && port-at <= digits && (isDigit(s[port]) || s[port] == '*') {
		port++
	}
	if port == len(s) || s[port] != ':' || port < at+2 || port == at+2 && s[at+1] != '*' {
		return span{}, false
	}
	isPart := func(c byte) bool { return ofHosts[c] || c == '*' }
	end := port
	for range 2 {
		next := skip(s, end+1, longest, isPart)
		if next == end+1 || next == len(s) || s[next] != ':' {
			return span{}, false
		}
		end = next
	}
	start := at
	for start > 0 && at-start < longest && isPart(s[start-1]) {
		start--
	}
	if start == at || start > 0 && strings.IndexByte(" \t\r\n\"'`(", s[start-1]) < 0 {
		return span{}, false
	}
	stop := skip(s, end+1, len(s), outside(" \t\r\n:\"'`"))
	return span{start, stop}, stop > end+3
}

// hasUserInfo distinguishes a URL with credentials from one with an @ in its path.
func hasUserInfo(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	user := rest[:strings.LastIndexByte(rest, '@')]
	name, password, both := strings.Cut(user, ":")
	if !both {
		return !strings.Contains(user, "/") && random(user)
	}
	if strings.Contains(name, "/") {
		return false
	}
	port, _, inPath := strings.Cut(password, "/")
	return !inPath || strings.Trim(port, "0123456789") != ""
}

// trimmed leaves out what ends the sentence.
func trimmed(s string, at []int) span {
	text := strings.TrimRight(s[at[0]:at[1]], ".,:;!?)]}")
	return span{at[0], at[0] + len(text)}
}
