package door

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks of proxies that are trusted to report the address of their client.
type Proxies []netip.Prefix

// Client returns the address of the client that sent r: of the connection, or, if that is a trusted proxy's, the last address
// in X-Forwarded-For that is not (RFC 7239's Forwarded if there is no such header). The zero Addr means that the connection
// has none.
func (p Proxies) Client(r *http.Request) netip.Addr {
	address := peer(r)
	if !p.trusts(address) {
		return address
	}
	said := forwardedFor(r.Header)
	for _, text := range slices.Backward(said) {
		before, ok := parseAddr(text)
		if !ok { // it counts as the proxy that has passed this on
			break
		}
		if address = before; !p.trusts(address) {
			break
		}
	}
	return address
}

// IsLocal reports whether the client that sent r is on this machine: it has connected from here, and if r was
// forwarded, then by trusted proxies on this machine that report a local client.
func (p Proxies) IsLocal(r *http.Request) bool {
	address := peer(r)
	if !WasForwarded(r.Header) {
		return address.IsLoopback()
	}
	if !address.IsLoopback() || !p.trusts(address) {
		return false
	}
	for _, text := range slices.Backward(forwardedFor(r.Header)) {
		before, ok := parseAddr(text)
		if !ok || !before.IsLoopback() {
			return false
		}
		if !p.trusts(before) { // the client, which could have written anything before it
			break
		}
	}
	return true
}

// peer returns the address of the connection of r; the zero Addr: it has none.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return plain(address)
}

// trusts reports whether an address is that of a trusted proxy.
func (p Proxies) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// WasForwarded reports whether a proxy says that it has forwarded the request.
func WasForwarded(header http.Header) bool {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "Via"} {
		if len(header[name]) > 0 {
			return true
		}
	}
	return false
}

// forwardedFor returns the addresses that proxies have reported, the last proxy's last.
func forwardedFor(header http.Header) []string {
	if values := header["X-Forwarded-For"]; len(values) > 0 {
		return strings.Split(strings.Join(values, ","), ",")
	}
	var said []string
	for element := range strings.SplitSeq(strings.Join(header["Forwarded"], ","), ",") {
		of := ""
		for pair := range strings.SplitSeq(element, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(strings.TrimSpace(name), "for") {
				of = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
		said = append(said, of)
	}
	return said
}

// parseAddr reads an address with or without brackets and port.
func parseAddr(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return plain(with.Addr()), true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return plain(address), err == nil
}

// plain returns an address in the form used for comparisons.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// customer is how many bits of an IPv6 address identify one customer's network.
const customer = 64

// Counted returns the key under which an address is counted: for IPv6, the network of one customer.
func Counted(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	prefix, err := address.Prefix(customer)
	if err != nil {
		return address
	}
	return prefix.Addr()
}

// IsLoopback reports whether a host, with or without a port, is this machine by its name alone.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}
