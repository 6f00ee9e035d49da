package mcptool

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// read reads the message of a POST, so that what refuses it can name it, and puts it
// back.
func (x *visit) read(limit int64) error {
	if x.r.Method != http.MethodPost {
		return nil
	}
	if x.r.ContentLength > limit {
		return recourse.TooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	if err != nil {
		return recourse.New(recourse.KindMalformed, "The message did not arrive as a whole.").CausedBy(err)
	}
	if int64(len(body)) > limit {
		return recourse.TooLarge(limit)
	}
	x.r.Body = io.NopCloser(bytes.NewReader(body))
	if err := wire.Parse(body, &x.msg); err != nil {
		x.msg = wire.Message{} // nothing in a message that is none is taken at its word
		return unreadable(err)
	}
	return nil
}

// unreadable returns the failure of a text that wire.Parse refuses.
func unreadable(err error) *recourse.Error {
	kind := recourse.KindInvalidRequest
	if said, ok := errors.AsType[*wire.Error](err); ok && said.Code == wire.CodeParseError {
		kind = recourse.KindMalformed
	}
	return recourse.New(kind, "").WithMessage("%s", err.Error()).CausedBy(err)
}

// identify finds the id of a message that is refused before it was read.
func (x *visit) identify() {
	const part = 64 << 10
	if x.r.Method != http.MethodPost || x.msg.Raw != nil {
		return
	}
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(time.Second)) // not every writer has one
	body, _ := io.ReadAll(io.LimitReader(x.r.Body, part))                            // what there is, is enough
	if wire.Parse(body, &x.msg) == nil {
		return
	}
	x.msg = wire.Message{ID: idOf(body)}
}

// idOf returns the id in a text that is no message, or a part of one; nil where none
// can be read.
func idOf(text []byte) wire.ID {
	var scan wire.Scanner
	_, _ = scan.Write(text) // what there is, is enough
	id := scan.Signs().ID
	if len(id) == 0 || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id.Clone()
}

// A pathRule tells the endpoint's path, and the user in it.
type pathRule struct {
	prefix, suffix string // around the user
	name           string // of the user's place
	hasUser        bool
	isAny          bool
}

// newPathRule reads a path in the form of http.ServeMux with at most one place.
func newPathRule(path string) pathRule {
	prefix, rest, hasUser := strings.Cut(path, "{")
	name, suffix, _ := strings.Cut(rest, "}")
	return pathRule{prefix: prefix, suffix: suffix, name: name, hasUser: hasUser, isAny: path == ""}
}

// match reports whether u is the endpoint's, and returns the user in it, "" where it
// is missing.
func (p pathRule) match(u *url.URL) (user string, ok bool) {
	path := u.EscapedPath()
	switch {
	case p.isAny:
		return "", true
	case !p.hasUser:
		return "", path == p.prefix
	case p.suffix == "" && path+"/" == p.prefix:
		return "", true
	}
	rest, ok := strings.CutPrefix(path, p.prefix)
	if !ok {
		return "", false
	}
	if p.suffix != "" && "/"+rest == p.suffix {
		return "", true
	}
	segment, ok := strings.CutSuffix(rest, p.suffix)
	if !ok || strings.Contains(segment, "/") {
		return "", false
	}
	user, err := url.PathUnescape(segment)
	return user, err == nil
}

// isHeaderValue reports whether s can stand in a header as it is.
func isHeaderValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

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

// addressOf returns what failures are counted by: the address of a connection, and of
// IPv6 the network that one customer has.
func addressOf(remote string) string {
	port, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	address := port.Addr().Unmap()
	if address.Is6() {
		const network = 64
		prefix, _ := address.WithZone("").Prefix(network) // of an address without zone it exists
		return prefix.String()
	}
	return address.String()
}
