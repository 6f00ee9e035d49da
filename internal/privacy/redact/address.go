package redact

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
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
	found := append(numeric(s), names(s)...)
	slices.SortFunc(found, bySpan)
	return found
}

// numeric finds IP addresses.
func numeric(s string) []span {
	var found []span
	if hasAfter(s, '.', isDigit) {
		for i := 0; i < len(s); i++ {
			if !isDigit(s[i]) {
				continue
			}
			end := ipv4(s, i)
			if end > 0 && standsAlone(s, i, end) && !isVersion(s[:i]) && (private(s[i:end]) || isNetwork(s[:i]) && isIP(s[i:end])) {
				found = append(found, span{i, end})
				i = end - 1
				continue
			}
			i = skip(s, i, len(s), func(c byte) bool { return isDigit(c) || c == '.' || isLetter(c) }) - 1
		}
	}
	return append(found, ipv6s(s)...)
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
	const least, whole, longest = 2, 6, 64
	isPart := func(c byte) bool { return isDigit(c) || c == ':' || c == '.' || 'a' <= c|0x20 && c|0x20 <= 'f' }
	var found []span
	done := 0
	for at := 0; ; {
		i := strings.IndexByte(s[at:], ':')
		if i < 0 {
			return found
		}
		at += i
		start := at
		for start > done && at-start < longest && isPart(s[start-1]) {
			start--
		}
		end := skip(s, at, longest, isPart)
		at, done = end, end
		colons := strings.Count(s[start:end], ":")
		if colons < least || colons < whole && !strings.Contains(s[start:end], "::") { // a time
			continue
		}
		if start > 0 && s[start-1] == '[' {
			start--
		}
		match := matchAt(ipv6(), s, start)
		if match == nil {
			continue
		}
		text := strings.TrimRight(s[match[0]:match[1]], ".:")
		if strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::") {
			continue
		}
		if strings.Count(text, ":") >= least && standsAlone(s, start, start+len(text)) && (private(text) || isNetwork(s[:start])) {
			found = append(found, span{start, start + len(text)})
			at, done = max(at, start+len(text)), max(done, start+len(text))
		}
	}
}

// names finds host names.
func names(s string) []span {
	var found []span
	if hasAfter(s, ':', isDigit) {
		found = withPort(s)
	}
	found = append(found, inner(s)...)
	resolvedWords.each(s, func(at int, word string) int {
		match := matchAt(resolved(), s, at)
		if match == nil {
			return at + len(word)
		}
		if strings.HasPrefix(s[match[2]:], "is known") { // Windows: No such host is known.
			return match[1]
		}
		ends, bound := resolvedEnds[word]
		follows := slices.ContainsFunc(ends, func(end string) bool { return strings.HasPrefix(s[match[3]:], end) })
		if follows || !bound && (match[3] == len(s) || s[match[3]] != '.' && s[match[3]] != '[') {
			found = append(found, span{match[2], match[3]})
		}
		return match[1]
	})
	return found
}

// withPort finds host names with a port.
func withPort(s string) []span {
	const longest, digits = 254, 6
	var found []span
	for sign := 0; ; sign++ {
		i := strings.IndexByte(s[sign:], ':')
		if i < 0 {
			return found
		}
		sign += i
		end := skip(s, sign+1, digits, isDigit)
		if n := end - sign - 1; n < 2 || n >= digits || end < len(s) && isWord(s[end]) {
			continue
		}
		start := sign
		for start > 0 && sign-start < longest && isHostByte(s[start-1]) {
			start--
		}
		for start < sign && (s[start] == '.' || s[start] == '-') {
			start++
		}
		if start < sign && isHost(s, start, sign, s[sign+1:end]) {
			found = append(found, span{start, end})
		}
	}
}

func isHostByte(c byte) bool { return isWord(c) || c == '.' || c == '-' }

// inner finds names that only resolve inside a network.
func inner(s string) []span {
	const longest, digits = 640, 5
	var found []span
	for dot := 0; ; dot++ {
		i := strings.IndexByte(s[dot:], '.')
		if i < 0 || dot+i+1 == len(s) {
			return found
		}
		dot += i
		domain := innerDomains.at(s, dot+1)
		end := dot + 1 + len(domain)
		if domain == "" || end < len(s) && isWord(s[end]) {
			continue
		}
		start, least := dot, 0
		if len(found) > 0 {
			least = found[len(found)-1].end
		}
		for start > least && dot-start < longest && isHostByte(s[start-1]) {
			start--
		}
		for start < dot && (s[start] == '.' || s[start] == '-') {
			start++
		}
		if port := skip(s, end+1, digits, isDigit); end < len(s) && s[end] == ':' && port > end+1 && (port == len(s) || !isWord(s[port])) {
			end = port
		}
		switch last := len(found) - 1; {
		case start == dot && last >= 0 && found[last].end == dot: // db.local.internal
			found[last].end = end
		case start < dot && !strings.Contains(s[start:dot], "..") && !isFile(s, start, end):
			found = append(found, span{start, end})
		}
	}
}

// hasAfter reports whether mark is followed by a byte of that sort anywhere in s. That is much cheaper than searching
// for the whole address.
func hasAfter(s string, mark byte, sort func(byte) bool) bool {
	for i := strings.IndexByte(s, mark); i >= 0 && i+1 < len(s); {
		if sort(s[i+1]) {
			return true
		}
		next := strings.IndexByte(s[i+1:], mark)
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
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
var numberings = []string{
	"version", "ver.", "v", "release", "rev", "rev.", "revision", "build", "section", "sections", "sec.", "chapter", "clause",
	"paragraph", "article",
	"step", "item", "rule", "part", "no.", "no", "nr.", "number", "appendix", "figure", "table", "§", "firmware", "kernel",
	"id", "oid", "model", "sku",
}

// isVersion reports whether the text before a number says that it is a version, a section or a part.
func isVersion(before string) bool {
	const longest = 24
	before = strings.ToLower(strings.TrimRight(before[max(0, len(before)-longest):], " :=#"))
	return slices.ContainsFunc(numberings, func(word string) bool {
		rest, ok := strings.CutSuffix(before, word)
		return ok && (rest == "" || !isWord(rest[len(rest)-1]))
	})
}

// private reports whether an IP address has a port, or is one of RFC 1918, RFC
// 4193, RFC 6598, of this host or of this link.
func private(text string) bool {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return privateIP(prefix.Addr())
	}
	if _, err := netip.ParseAddrPort(text); err == nil {
		return true
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
var busy = map[string]bool{
	"1433": true, "1521": true, "2181": true, "2379": true, "3306": true, "4222": true, "5432": true, "5672": true,
	"6379": true, "6432": true,
	"7687": true, "9042": true, "9092": true, "9200": true, "9300": true, "11211": true, "15672": true, "26379": true,
	"27017": true, "50051": true,
}

// services are usual names of machines that run such a service.
var services = map[string]bool{
	"redis": true, "postgres": true, "postgresql": true, "db": true, "database": true, "mysql": true, "mariadb": true,
	"mongo": true, "mongodb": true,
	"kafka": true, "rabbit": true, "rabbitmq": true, "api": true, "app": true, "web": true, "www": true, "backend": true,
	"frontend": true, "cache": true,
	"elasticsearch": true, "elastic": true, "consul": true, "vault": true, "etcd": true, "nginx": true, "gateway": true,
	"proxy": true, "server": true,
	"host": true, "worker": true, "auth": true, "minio": true, "grafana": true, "prometheus": true, "jaeger": true,
	"otel": true, "nats": true,
	"memcached": true, "zookeeper": true, "clickhouse": true, "service": true, "upstream": true, "registry": true, "node": true,
}

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
var ports = map[string]bool{
	"1433": true, "1521": true, "2181": true, "2379": true, "3000": true, "3001": true, "3306": true, "4000": true, "4222": true,
	"4317": true, "4318": true, "5000": true, "5001": true, "5173": true, "5432": true, "5672": true, "6379": true, "6432": true,
	"7687": true, "8000": true, "8001": true, "8080": true, "8081": true, "8086": true, "8088": true, "8123": true, "8200": true,
	"8443": true, "8500": true, "8787": true, "8888": true, "9000": true, "9042": true, "9090": true, "9092": true, "9200": true,
	"9300": true, "9411": true, "11211": true, "15672": true, "26379": true, "27017": true, "50051": true,
}

// networkWords are words that precede an address.
var networkWords = []string{
	"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "dial", "host", "upstream", "proxy", "broker", "server", "connect to", "connecting to",
	"connected to", "connection to", "econnrefused", "econnreset", "etimedout", "ehostunreach", "enetunreach", "econnaborted", "epipe",
	"listening on", "peer", "endpoint", "backend", "remote", "resolver", "gateway", "hostname",
}

// isNetwork reports whether the text before a position announces an address.
func isNetwork(before string) bool {
	const longest = 24
	before = strings.TrimRight(before[max(0, len(before)-longest):], "\"'(")
	if strings.HasSuffix(before, "://") || strings.HasSuffix(before, "@") {
		return true
	}
	text := strings.ToLower(strings.TrimRight(before, " :="))
	if signs := len(before) - len(text); signs == 0 || signs > 2 {
		return false
	}
	return slices.ContainsFunc(networkWords, func(word string) bool {
		rest, ok := strings.CutSuffix(text, word)
		return ok && (rest == "" || !isWord(rest[len(rest)-1]))
	})
}

// isHost distinguishes a host with a port from a file with a line number, and from anything else that is written with a
// colon and a number.
func isHost(s string, start, end int, port string) bool {
	name := s[start:end]
	if number, err := strconv.Atoi(port); err != nil || number > 65535 || port[0] == '0' {
		return false
	}
	if rest := s[end+1+len(port):]; strings.HasPrefix(rest, ":") && len(rest) > 1 && isDigit(rest[1]) { // a time, or a column
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
