package mcptool

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/wire"
)

// A lockout counts the failed authentications of addresses.
type lockout struct {
	most   int
	within time.Duration

	mu       sync.Mutex
	failures map[string][]time.Time // the last ones
}

// maxAddresses bounds how many addresses are remembered.
const maxAddresses = 10_000

func newLockout(most int, within time.Duration) *lockout {
	return &lockout{most: max(most, 1), within: within, failures: map[string][]time.Time{}}
}

// wait returns how long an address is refused from now on; 0: it is not.
func (l *lockout) wait(address string, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	times := l.failures[address]
	if len(times) < l.most {
		return 0
	}
	return max(times[0].Add(l.within).Sub(now), 0)
}

// failed notes that an authentication from an address has failed.
func (l *lockout) failed(address string, now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.failures[address]; !known && len(l.failures) >= maxAddresses {
		l.forget(now)
	}
	times := l.failures[address]
	l.failures[address] = append(times[max(len(times)+1-l.most, 0):], now)
}

// forget drops the addresses whose failures are long ago, and one more, so that there
// is room in any case.
func (l *lockout) forget(now time.Time) {
	for address, times := range l.failures {
		if times[len(times)-1].Add(l.within).Before(now) {
			delete(l.failures, address)
		}
	}
	for address := range l.failures {
		if len(l.failures) < maxAddresses {
			return
		}
		delete(l.failures, address)
	}
}

// addressOf returns what failures are counted by: the address of the client, and of
// IPv6 the network that one customer has.
func (g *guard) addressOf(r *http.Request) string {
	port, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := port.Addr().Unmap().WithZone("")
	said := strings.Split(strings.Join(r.Header.Values(wire.HeaderForwardedFor), ","), ",")
	for i := len(said) - 1; i >= 0 && g.trusts(address); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(said[i]))
		if err != nil { // it is counted by the proxy that has passed this on
			break
		}
		address = before.Unmap().WithZone("")
	}
	if address.Is6() {
		const network = 64
		prefix, _ := address.Prefix(network) // of an address without zone it exists
		return prefix.String()
	}
	return address.String()
}

// trusts reports whether an address is that of a proxy which tells the truth.
func (g *guard) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(network netip.Prefix) bool { return network.Contains(address) })
}
