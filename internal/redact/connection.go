package redact

import (
	"slices"
	"strings"
)

var (
	// urls are URLs with a user and a password, or with a credential for a user.
	urls = lazily(`\b[A-Za-z][A-Za-z0-9+.\-]{1,30}://[^\s"'<>` + "`" + `@]{1,512}@[^\s"'<>` + "`" + `]+`)

	// stores are URLs of what stores data, with or without credentials.
	stores = lazily(`(?i)\b(?:jdbc:[a-z0-9]+:|(?:postgres|postgresql|mysql|mariadb|mongodb|mongodb\+srv|rediss?|valkey|` +
		`amqps?|kafka|nats|sqlserver|mssql|oracle|clickhouse|cassandra|ldaps?|memcached|neo4j|bolt|cockroachdb|couchbases?|sqlite3?)://)` +
		`[^\s"'<>` + "`" + `]+`)

	// pairs are the form of ADO.NET and ODBC: Server=...;Password=... of any length.
	pairs = lazily(`(?i)\b(?:server|data source|host|address|addr|endpoint|defaultendpointsprotocol|driver|provider|` +
		`initial catalog|database|user id|uid|username|accountname|sharedaccesskeyname)\s?=\s?[^;\n"'=]{1,256};` +
		`(?:\s?[a-z][a-z0-9 _.\-]{0,40}=[^;\n"']{0,512};)*(?:\s?[a-z][a-z0-9 _.\-]{0,40}=[^;\s"')]{1,512})?`)

	// words are the form of libpq: host=... user=... password=...
	words = lazily(`\b(?:host|hostaddr|port|user|dbname|database|password|sslmode)=(?:'[^'\n]*'|[^\s"',` + "`" + `)]+)` +
		`(?:\s(?:host|hostaddr|port|user|dbname|database|password|passfile|sslmode|sslrootcert|connect_timeout|application_name|options|` +
		`target_session_attrs)=(?:'[^'\n]*'|[^\s"',` + "`" + `)]*))+`)
)

// connections finds connection strings.
func connections(s string) []span {
	var found []span
	if strings.Contains(s, "://") || strings.Contains(s, "jdbc:") {
		for _, at := range stores().FindAllStringIndex(s, -1) {
			found = append(found, trimmed(s, at))
		}
		for _, at := range urls().FindAllStringIndex(s, -1) {
			if hasUserInfo(s[at[0]:at[1]]) {
				found = append(found, trimmed(s, at))
			}
		}
	}
	if strings.Contains(s, "=") {
		for _, at := range pairs().FindAllStringIndex(s, -1) {
			if strings.Count(s[at[0]:at[1]], "=") > 1 {
				found = append(found, trimmed(s, at))
			}
		}
		for _, at := range words().FindAllStringIndex(s, -1) {
			found = append(found, trimmed(s, at))
		}
	}
	slices.SortFunc(found, func(x, y span) int { return x.start - y.start })
	return found
}

// hasUserInfo tells a URL with credentials from one that has an @ in its path.
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
