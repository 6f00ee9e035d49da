package redact

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// ipv6 is an IPv6 address, also in brackets with a port.
var ipv6 = lazily(`^(?:\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9]{1,15})?\](?::\d{1,5}\b)?|` +
	`[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9]{1,15}\b)?(?:/\d{1,3}\b)?)`)

// innerDomains are the endings of names that only resolve inside a network, and of names that a cloud gives to its
// customers' machines.
var innerDomains = newWords("internal", "local", "localdomain", "lan", "corp", "intranet", "consul", "svc", "cluster", "home.arpa",
	"rds.amazonaws.com", "cache.amazonaws.com", "redshift.amazonaws.com", "elb.amazonaws.com", "compute.amazonaws.com", "ec2.amazonaws.com",
	"es.amazonaws.com", "docdb.amazonaws.com", "neptune.amazonaws.com", "vpce.amazonaws.com",
	"rds.amazonaws.com.cn", "cache.amazonaws.com.cn", "elb.amazonaws.com.cn", "compute.amazonaws.com.cn",
	"database.windows.net", "redis.cache.windows.net", "servicebus.windows.net", "vault.azure.net", "blob.core.windows.net",
	"privatelink.azure.net",
	"database.azure.net", "vault.windows.net", "privatelink.windows.net",
	"documents.azure.com", "mongodb.net", "cloudapp.azure.com", "ondigitalocean.com", "neon.tech", "aivencloud.com",
	"psdb.cloud", "upstash.io")

// resolved matches the name in a message about a failed look-up, which need not contain a dot.
var resolved = lazily(`(?i)^(?:lookup|ENOTFOUND|EAI_AGAIN|no such host:?|resolve host(?:name)?:?|UnknownHostException:|` +
	`host name|getaddrinfo for|failed to connect to|server on)[ \t]["'` + "`" + `]?([A-Za-z0-9](?:[A-Za-z0-9_\-]{0,62}))`)

var resolvedWords = newWords("lookup", "enotfound", "eai_again", "no such host", "resolve host", "unknownhostexception",
	"host name", "getaddrinfo for", "failed to connect to", "server on")

// resolvedEnds are what follows the name, after words that may also stand in other sentences.
var resolvedEnds = map[string][]string{
	"lookup": {":", " on "}, "host name": {"\" to address", "' to address"}, "getaddrinfo for": {" failed"},
	"failed to connect to": {" port "}, "server on": {"' ("},
}

// addresses finds addresses that callers should not see: any with a port, and those of private networks.
func addresses(s string) []span {
	found := append(numeric(s), ipv6s(s)...)
	found = append(found, withPort(s)...)
	found = append(found, inner(s)...)
	found = append(found, resolvedWords.find(s, resolvedAt)...)
	slices.SortFunc(found, bySpan)
	return found
}

// numeric finds IP addresses.
func numeric(s string) []span {
	var found []span
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			continue
		}
		if end, ok := numericAt(s, i); ok {
			found = append(found, span{i, end})
			i = end - 1
			continue
		}
		for i++; i < len(s) && (ofWords[s[i]] && s[i] != '_' || s[i] == '.'); i++ { //nolint:revive // to the end of the number or word
		}
	}
	return found
}

// numericAt returns the end of the IP address that begins at a digit.
func numericAt(s string, i int) (end int, ok bool) {
	end = ipv4(s, i)
	if end == 0 || !standsAlone(s, i, end) || !private(s[i:end]) && (!isNetwork(s[:i]) || !isIP(s[i:end])) {
		return 0, false
	}
	return end, !isVersion(s[:i])
}

// ipv4 returns the end of an IPv4 address at a position, with its port or prefix length, or 0.
func ipv4(s string, at int) int {
	const parts, digits = 4, 3
	for part := range parts {
		if part > 0 {
			if at == len(s) || s[at] != '.' {
				return 0
			}
			at++
		}
		end := skip(s, at, digits, isDigit)
		if end == at {
			return 0
		}
		at = end
	}
	if at == len(s) || s[at] != '/' && s[at] != ':' {
		return at
	}
	most := 5 // digits of a port
	if s[at] == '/' {
		most = 2
	}
	if end := skip(s, at+1, most, isDigit); end > at+1 && (end == len(s) || !isWord(s[end])) {
		return end
	}
	return at
}

// ipv6s finds IPv6 addresses: runs of hexadecimal digits with more than one colon.
func ipv6s(s string) []span {
	var found []span
	done := 0
	for at := 0; ; {
		i := strings.IndexByte(s[at:], ':')
		if i < 0 {
			return found
		}
		address, end, ok := ipv6At(s, at+i, done)
		at, done = end, end
		if ok {
			found = append(found, address)
			at, done = max(at, address.end), max(done, address.end)
		}
	}
}

// ipv6At returns the IPv6 address with a colon at that position, not from before least, and where the digits and colons around it end.
func ipv6At(s string, colon, least int) (address span, end int, ok bool) {
	const few, longest = 2, 64
	start := back(s, colon, max(least, colon-longest), &ofIPv6)
	end = colon
	for end < len(s) && end-colon < longest && ofIPv6[s[end]] {
		end++
	}
	run := s[start:end]
	colons := strings.Count(run, ":")
	if colons < few || colons < colonsOfIPv6 && !strings.Contains(run, "::") { // a time
		return span{}, end, false
	}
	if start > 0 && s[start-1] == '[' {
		start--
	}
	match := matchAt(ipv6(), s, start)
	if match == nil {
		return span{}, end, false
	}
	text := strings.TrimRight(s[match[0]:match[1]], ".:")
	if strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::") {
		return span{}, end, false
	}
	address = span{start, start + len(text)}
	return address, end, strings.Count(text, ":") >= few && standsAlone(s, start, address.end) && (private(text) || isNetwork(s[:start]))
}

// ofIPv6 are the bytes of IPv6 addresses.
var ofIPv6 = setOf("0123456789abcdefABCDEF:.")

// resolvedAt returns the name after a word of resolvedWords, and where to go on.
func resolvedAt(s string, at int, word string) (name span, end int, ok bool) {
	match := matchAt(resolved(), s, at)
	if match == nil {
		return span{}, at + len(word), false
	}
	name, end = span{match[2], match[3]}, match[1]
	if strings.HasPrefix(s[name.start:], "is known") { // Windows: No such host is known.
		return span{}, end, false
	}
	ends, bound := resolvedEnds[word]
	follows := slices.ContainsFunc(ends, func(end string) bool { return strings.HasPrefix(s[name.end:], end) })
	return name, end, follows || !bound && (name.end == len(s) || s[name.end] != '.' && s[name.end] != '[')
}

// withPort finds host names with a port.
func withPort(s string) []span {
	var found []span
	for sign := range places(s, ":") {
		if host, ok := portAt(s, sign); ok {
			found = append(found, host)
		}
	}
	return found
}

// portAt returns the host name before a colon, with the port after it.
func portAt(s string, sign int) (host span, ok bool) {
	const longest, digits = 254, 6
	end := sign + 1
	for end < len(s) && end-sign <= digits && isDigit(s[end]) {
		end++
	}
	if n := end - sign - 1; n < 2 || n >= digits || end < len(s) && isWord(s[end]) {
		return span{}, false
	}
	if end+1 < len(s) && s[end] == ':' && isDigit(s[end+1]) { // a time, or a column
		return span{}, false
	}
	start := back(s, sign, max(0, sign-longest), &ofHosts)
	for start < sign && (s[start] == '.' || s[start] == '-') {
		start++
	}
	return span{start, end}, start < sign && isHost(s, start, sign, s[sign+1:end])
}

// ofHosts are the bytes of host names.
var ofHosts = setThat(func(c byte) bool { return isWord(c) || c == '.' || c == '-' })

// inner finds names that only resolve inside a network.
func inner(s string) []span {
	var found []span
	for dot := range places(s, ".") {
		least, last := 0, len(found)-1
		if last >= 0 {
			least = found[last].end
		}
		switch name, ok := innerAt(s, dot, least); {
		case !ok:
		case name.start == dot && last >= 0 && least == dot: // db.local.internal
			found[last].end = name.end
		case name.start < dot && !strings.Contains(s[name.start:dot], "..") && !isFile(s, name.start, name.end):
			found = append(found, name)
		}
	}
	return found
}

// innerAt returns the name that has such an ending after a dot, not from before least: it may begin with that dot.
func innerAt(s string, dot, least int) (name span, ok bool) {
	const longest, digits = 640, 5
	domain := innerDomains.at(s, dot+1)
	end := dot + 1 + len(domain)
	if domain == "" || end < len(s) && isWord(s[end]) {
		return span{}, false
	}
	start := back(s, dot, max(least, dot-longest), &ofHosts)
	for start < dot && (s[start] == '.' || s[start] == '-') {
		start++
	}
	if port := skip(s, end+1, digits, isDigit); end < len(s) && s[end] == ':' && port > end+1 && (port == len(s) || !isWord(s[port])) {
		end = port
	}
	return span{start, end}, true
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// standsAlone reports whether a part of s is not part of a longer word: no letter, digit or dot is next to it.
func standsAlone(s string, start, end int) bool {
	if start > 0 {
		before := s[start-1]
		if isWord(before) || before == '.' || before == '-' || before == ':' && start > 1 && s[start-2] == ':' {
			return false
		}
		if before == '/' && start > 1 && isWord(s[start-2]) && strings.IndexByte(s[start:end], ':') < 0 { // a product: Name/10.0.0.1
			return false
		}
	}
	if end == len(s) {
		return true
	}
	after := s[end]
	if after == '-' && end+1 < len(s) && isLetter(s[end+1]) {
		return false
	}
	return !isWord(after) && (after != '.' || end+1 == len(s) || !isWord(s[end+1]))
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// numberings are words after which a number with dots is a version, a section or a part.
var numberings = newEndings(
	"version", "ver.", "v", "release", "rev", "rev.", "revision", "build", "section", "sections", "sec.", "chapter", "clause",
	"paragraph", "article",
	"step", "item", "rule", "part", "no.", "no", "nr.", "number", "appendix", "figure", "table", "§", "firmware", "kernel",
	"id", "oid", "model", "sku",
)

// isVersion reports whether the text before a number says that it is a version, a section or a part.
func isVersion(before string) bool {
	return numberings.end(trimEnd(before[max(0, len(before)-longestBefore):], &counts))
}

// counts are signs between such a word and the number.
var counts = setOf(" :=#")

// longestBefore is how many bytes before an address are examined.
const longestBefore = 24

// private reports whether an IP address has a port, or is one of RFC 1918, RFC
// 4193, RFC 6598, of this host or of this link.
func private(text string) bool {
	if dot := strings.IndexByte(text, '.'); dot > 0 && strings.IndexByte(text, ':') < 0 {
		switch text[:dot] {
		case "10", "100", "127", "169", "172", "192":
		default: // most addresses
			return false
		}
	}
	if strings.IndexByte(text, '/') >= 0 {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			return privateIP(prefix.Addr())
		}
	}
	if strings.IndexByte(text, ':') >= 0 {
		if _, err := netip.ParseAddrPort(text); err == nil {
			return true
		}
	}
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return err == nil && privateIP(ip)
}

var shared = netip.MustParsePrefix("100.64.0.0/10")

func privateIP(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || shared.Contains(ip)
}

// busy are ports of databases and similar services. Such a number after a colon is seldom anything else.
var busy = secret.WordsIn(`
	1433 1521 2181 2379 3306 4222 5432 5672 6379 6432 7687 9042 9092 9200 9300 11211 15672 26379 27017 50051
`)

// services are usual names of machines that run such a service.
var services = secret.WordsIn(`
	redis postgres postgresql db database mysql mariadb mongo mongodb kafka rabbit rabbitmq api app web www backend frontend cache
	elasticsearch elastic consul vault etcd nginx gateway proxy server host worker auth minio grafana prometheus jaeger otel nats
	memcached zookeeper clickhouse service upstream registry node
`)

// isService reports whether a name without a dot is that of a machine.
func isService(name string) bool {
	name = strings.ToLower(name)
	if services[strings.TrimRight(name, "0123456789")] {
		return true
	}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' }) {
		if part != name && (services[strings.TrimRight(part, "0123456789")] || part == "svc" || part == "srv" || part == "prod" ||
			part == "staging") {
			return true
		}
	}
	return false
}

// ports are those with which a name without a dot counts as a machine.
var ports = secret.WordsIn(`
	1433 1521 2181 2379 3000 3001 3306 4000 4222 4317 4318 5000 5001 5173 5432 5672 6379 6432 7687 8000 8001 8080 8081 8086 8088
	8123 8200 8443 8500 8787 8888 9000 9042 9090 9092 9200 9300 9411 11211 15672 26379 27017 50051
`)

// networkWords are words that precede an address.
var networkWords = newEndings(
	"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "dial", "host", "upstream", "proxy", "broker", "server", "connect to", "connecting to",
	"connected to", "connection to", "econnrefused", "econnreset", "etimedout", "ehostunreach", "enetunreach", "econnaborted", "epipe",
	"listening on", "peer", "endpoint", "backend", "remote", "resolver", "gateway", "hostname",
)

// Signs between such a word and the address.
var opens, assigns = setOf("\"'("), setOf(" :=")

// isNetwork reports whether the text before a position announces an address.
func isNetwork(before string) bool {
	before = trimEnd(before[max(0, len(before)-longestBefore):], &opens)
	if strings.HasSuffix(before, "://") || strings.HasSuffix(before, "@") {
		return true
	}
	text := trimEnd(before, &assigns)
	signs := len(before) - len(text)
	return (signs == 1 || signs == 2) && networkWords.end(text)
}

// isHost distinguishes a host with a port from a file with a line number, and from anything else that is written with a
// colon and a number.
func isHost(s string, start, end int, port string) bool {
	name := s[start:end]
	if number, err := strconv.Atoi(port); err != nil || number > 65535 || port[0] == '0' {
		return false
	}
	if start > 0 && strings.IndexByte("./\\-_", s[start-1]) >= 0 && !strings.HasSuffix(s[:start], "//") { // part of a path
		return false
	}
	if isNetwork(s[:start]) {
		return true
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	last := path.Ext(name)
	if last == "" {
		return isLetter(name[0]) && (busy[port] || ports[port] && isService(name))
	}
	return len(last) > 2 && !extensions[last] && !strings.ContainsAny(last, "0123456789_") && last == strings.ToLower(last)
}

// isFile reports whether what looks like a host name is part of a file name or of code: .env.local,
// settings.local.json, obj.local(.
func isFile(s string, start, end int) bool {
	if start > 0 && strings.IndexByte("./\\-_$", s[start-1]) >= 0 && !strings.HasSuffix(s[:start], "//") {
		return true
	}
	if end == len(s) {
		return false
	}
	return s[end] == '(' || s[end] == '_' || s[end] == '-' || s[end] == '.' && end+1 < len(s) && isWord(s[end+1])
}
