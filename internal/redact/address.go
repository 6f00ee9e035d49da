package redact

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

var (
	ipv4 = lazily(`(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}\b|:\d{1,5}\b)?`)
	ipv6 = lazily(`\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9]{1,15})?\](?::\d{1,5}\b)?|` +
		`[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9]{1,15}\b)?(?:/\d{1,3}\b)?`)

	// inner are names that resolve inside a network only.
	inner = lazily(`(?i)\b(?:[a-z0-9_](?:[a-z0-9_\-]{0,62})\.){1,10}` +
		`(?:internal|local|localdomain|lan|corp|intranet|consul|svc|cluster)\b(?::\d{1,5}\b)?`)

	// withPort are names with a port.
	withPort = lazily(`\b([A-Za-z0-9](?:[A-Za-z0-9_.\-]{0,252}[A-Za-z0-9])?):(\d{2,5})\b`)

	// resolved are names without a dot that a resolver was asked for.
	resolved = lazily(`\b(?:lookup|ENOTFOUND|EAI_AGAIN|no such host:?|resolve host:?)\s["']?` +
		`([A-Za-z0-9](?:[A-Za-z0-9_\-]{0,62}))`)
)

// addresses finds addresses of machines that a caller has no business with: any
// with a port, and those of private networks.
func addresses(s string) []span {
	found := append(numeric(s), names(s)...)
	slices.SortFunc(found, func(x, y span) int { return x.start - y.start })
	return found
}

// numeric finds IP addresses.
func numeric(s string) []span {
	var found []span
	add := func(start, end int) { found = append(found, span{start, end}) }
	if hasAfter(s, '.', isDigit) {
		for _, at := range ipv4().FindAllStringIndex(s, -1) {
			if standsAlone(s, at[0], at[1]) && private(s[at[0]:at[1]]) && !isVersion(s[:at[0]]) {
				add(at[0], at[1])
			}
		}
	}
	if strings.Count(s, ":") > 1 {
		for _, at := range ipv6().FindAllStringIndex(s, -1) {
			text := strings.TrimRight(s[at[0]:at[1]], ".:")
			if strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::") {
				text = ""
			}
			if strings.Count(text, ":") > 1 && standsAlone(s, at[0], at[0]+len(text)) && private(text) {
				add(at[0], at[0]+len(text))
			}
		}
	}
	return found
}

// names finds names of hosts.
func names(s string) []span {
	var found []span
	add := func(start, end int) { found = append(found, span{start, end}) }
	if hasAfter(s, ':', isDigit) {
		for _, at := range withPort().FindAllStringSubmatchIndex(s, -1) {
			if isHost(s, at[2], at[3], s[at[4]:at[5]]) {
				add(at[0], at[1])
			}
		}
	}
	if hasAfter(s, '.', func(c byte) bool { return strings.IndexByte("ilcsILCS", c) >= 0 }) {
		for _, at := range inner().FindAllStringIndex(s, -1) {
			if !isFile(s, at[0], at[1]) {
				add(at[0], at[1])
			}
		}
	}
	if containsAny(s, "lookup ", "ENOTFOUND ", "EAI_AGAIN ", " host") {
		for _, at := range resolved().FindAllStringSubmatchIndex(s, -1) {
			if at[3] == len(s) || s[at[3]] != '.' && s[at[3]] != '[' {
				add(at[2], at[3])
			}
		}
	}
	return found
}

// hasAfter reports whether a mark stands before a byte of some sort anywhere in s:
// much cheaper than to look for what it is a part of.
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

// standsAlone reports whether no letter, digit or dot of a longer word is beside
// a part of s.
func standsAlone(s string, start, end int) bool {
	if start > 0 {
		before := s[start-1]
		if isWord(before) || before == '.' || before == '-' || before == ':' && start > 1 && s[start-2] == ':' {
			return false
		}
		if before == '/' && start > 1 && isWord(s[start-2]) { // a product: Name/10.0.0.1
			return false
		}
	}
	if end == len(s) {
		return true
	}
	after := s[end]
	return !isWord(after) && (after != '.' || end+1 == len(s) || !isWord(s[end+1]))
}

// isVersion reports whether the text before a number says that it is a version.
func isVersion(before string) bool {
	before = strings.ToLower(before[max(0, len(before)-10):])
	return strings.HasSuffix(before, "version ") || strings.HasSuffix(before, "version: ") || strings.HasSuffix(before, "v")
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

// ports are those that a name without a dot is believed to have a service at.
var ports = map[string]bool{
	"1433": true, "1521": true, "2181": true, "2379": true, "3000": true, "3001": true, "3306": true, "4000": true, "4222": true,
	"4317": true, "4318": true, "5000": true, "5001": true, "5173": true, "5432": true, "5672": true, "6379": true, "6432": true,
	"7687": true, "8000": true, "8001": true, "8080": true, "8081": true, "8086": true, "8088": true, "8123": true, "8200": true,
	"8443": true, "8500": true, "8787": true, "8888": true, "9000": true, "9042": true, "9090": true, "9092": true, "9200": true,
	"9300": true, "9411": true, "11211": true, "15672": true, "26379": true, "27017": true, "50051": true,
}

// networkWord ends in what comes before an address.
var networkWord = lazily(`(?i)(?://|@|\b(?:tcp[46]?|udp[46]?|dial|host|upstream|proxy|broker|server|` +
	`connect(?:ing|ed|ion)? to|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ECONNABORTED|EPIPE)[ :=]{1,2}["'(]?)$`)

// isHost tells a host with a port from a file with a line and from all else that
// is written with a colon and a number.
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
	if networkWord().MatchString(s[max(0, start-32):start]) {
		return true
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	last := path.Ext(name)
	if last == "" {
		return ports[port] && isLetter(name[0])
	}
	return len(last) > 2 && !extensions[last] && !strings.ContainsAny(last, "0123456789_") && last == strings.ToLower(last)
}

// isFile reports whether what looks like a name of a host is part of a file's
// name or of code: .env.local, settings.local.json, obj.local(.
func isFile(s string, start, end int) bool {
	if start > 0 && strings.IndexByte("./\\-_$", s[start-1]) >= 0 && !strings.HasSuffix(s[:start], "//") {
		return true
	}
	if end == len(s) {
		return false
	}
	return s[end] == '(' || s[end] == '_' || s[end] == '-' || s[end] == '.' && end+1 < len(s) && isWord(s[end+1])
}
