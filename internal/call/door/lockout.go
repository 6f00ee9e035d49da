package door

import (
	"net/netip"
	"sync"
	"time"
)

// A Lockout refuses addresses whose authentications have failed too often. It is safe for concurrent use; a
// nil one refuses nobody.
type Lockout struct {
	most   int
	within time.Duration

	mu       sync.Mutex
	failures map[netip.Addr][]time.Time // the latest ones
}

// The default lockout: after LockoutFailures within LockoutTime, an address is refused.
const (
	LockoutFailures = 25
	LockoutTime     = 15 * time.Minute
)

// maxAddresses limits how many addresses are remembered.
const maxAddresses = 10_000

// NewLockout returns a lockout of addresses with that many failures within the time.
func NewLockout(most int, within time.Duration) *Lockout {
	return &Lockout{most: max(most, 1), within: within, failures: map[netip.Addr][]time.Time{}}
}

// Wait returns how much longer an address is refused; 0: it is not.
func (l *Lockout) Wait(address netip.Addr, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	times := l.failures[Counted(address)]
	if len(times) < l.most {
		return 0
	}
	return max(times[0].Add(l.within).Sub(now), 0)
}

// Failed records that an authentication from an address has failed, and reports whether the address is
// refused from now on.
func (l *Lockout) Failed(address netip.Addr, now time.Time) (locked bool) {
	if l == nil {
		return false
	}
	address = Counted(address)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.failures[address]; !known && len(l.failures) >= maxAddresses {
		l.forget(now)
	}
	times := l.failures[address]
	times = append(times[max(len(times)+1-l.most, 0):], now)
	l.failures[address] = times
	return len(times) == l.most && now.Sub(times[0]) < l.within
}

// forget drops the addresses whose failures are long ago, and others until there is room for many, so that a
// flood of addresses costs little each.
func (l *Lockout) forget(now time.Time) {
	for address, times := range l.failures {
		if times[len(times)-1].Add(l.within).Before(now) {
			delete(l.failures, address)
		}
	}
	for address := range l.failures {
		if len(l.failures) < maxAddresses*7/8 {
			return
		}
		delete(l.failures, address)
	}
}
