package bridge

import (
	"bytes"
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// A verdict says whether a server speaks an era.
type verdict uint8

const (
	unknown verdict = iota
	yes
	no
)

// eras is what is known of a server: a [verdict] for each era. It is read for each
// request, without a lock.
type eras struct{ v atomic.Uint32 }

func shift(era wire.Era) uint32 { return 4 * (uint32(era) - uint32(wire.Legacy)) }

// of returns what is known of an era.
func (e *eras) of(era wire.Era) verdict { return verdict(e.v.Load() >> shift(era) & 0xf) }

// set notes that the server speaks an era or does not.
func (e *eras) set(era wire.Era, v verdict) {
	for {
		was := e.v.Load()
		is := was&^(0xf<<shift(era)) | uint32(v)<<shift(era)
		if was == is || e.v.CompareAndSwap(was, is) {
			return
		}
	}
}

// only notes that the server speaks one era and not the other; 0: nothing is known.
func (e *eras) only(era wire.Era) {
	switch era {
	case wire.Legacy:
		e.v.Store(uint32(yes)<<shift(wire.Legacy) | uint32(no)<<shift(wire.Modern))
	case wire.Modern:
		e.v.Store(uint32(no)<<shift(wire.Legacy) | uint32(yes)<<shift(wire.Modern))
	default:
		e.v.Store(0)
	}
}

// forget doubts everything, as after a restart of the server.
func (e *eras) forget() { e.v.Store(0) }

// A discovery is a server/discover that was sent to find out whether the server
// speaks the modern era. Whoever wants to know meanwhile waits for it.
type discovery struct {
	done   chan struct{}
	speaks verdict
	denied bool // the credentials of the one who asked were refused
	err    error
}

const (
	// discoverTimeout is how long a server may take to answer server/discover. One that
	// says nothing to what it does not know is of the legacy era.
	discoverTimeout = 5 * time.Second
	// maxDiscover bounds the answer.
	maxDiscover = 1 << 20
)

// discover finds out whether the server speaks the modern era, and notes it. It is asked
// with the credentials in header, which is left as it is. The verdict unknown is that of
// a server which is not in order, or refuses the credentials. The error is that of the
// transport and states recourse.EffectNone, since whatever was to be sent has not been.
func (b *Bridge) discover(ctx context.Context, header http.Header) (verdict, error) {
	for {
		b.mu.Lock()
		q, own := b.discovering, false
		if q == nil {
			q, own = &discovery{done: make(chan struct{})}, true
			b.discovering = q
		}
		b.mu.Unlock()
		if own {
			h := discoverHeader(header)
			b.background(func(ctx context.Context) { b.askServer(ctx, q, h) }) // for all callers: it outlives this one
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			return unknown, b.unsent(ctx)
		}
		if own || !q.denied {
			return q.speaks, q.err
		}
	}
}

// patience returns the time that the server has for an answer; a program may have to be
// started first.
func (b *Bridge) patience(usual time.Duration) time.Duration {
	const start = time.Minute
	if b.options.Program {
		return start
	}
	return usual
}

// askServer asks the server what it speaks.
func (b *Bridge) askServer(ctx context.Context, q *discovery, header http.Header) {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.discovering = nil
		close(q.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, b.patience(discoverTimeout))
	defer cancel()
	answer, err := b.next.Ask(ctx, header, discoverRequest, discoverID, maxDiscover)
	switch {
	case err != nil && (ctx.Err() != nil || recourse.From(err).Kind == recourse.KindBadResponse):
		q.speaks = no
	case err != nil:
		q.err = recourse.From(err).WithEffect(recourse.EffectNone)
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		q.denied = true
	case isAway(answer.Status):
	case bytes.Contains(json.Lookup(answer.Result, "/supportedVersions"), []byte(`"`+wire.Version20260728+`"`)):
		q.speaks = yes
		b.eras.set(wire.Modern, yes)
	default:
		q.speaks = no
		b.eras.set(wire.Modern, no)
	}
}

// isAway reports whether an HTTP status says nothing of what the server speaks, since
// it is not in order, or too busy.
func isAway(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

var (
	discoverID      = wire.ID(`"recourse-discover"`)
	discoverRequest = []byte(`{"jsonrpc":"2.0","id":"recourse-discover","method":"server/discover","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":` + string(clientInfo) + `}}}`)
)

// clientInfo is what the bridge calls itself.
var clientInfo = func() []byte {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return append(json.AppendQuote([]byte(`{"name":"recourse","version":`), version), '}')
}()

// unsent is the failure of a request that was not sent before ctx ended.
func (b *Bridge) unsent(ctx context.Context) *recourse.Error {
	return b.next.Broken(ctx, context.Cause(ctx)).WithEffect(recourse.EffectNone)
}

// discoverHeader returns the headers of server/discover for the sender of header.
func discoverHeader(header http.Header) http.Header {
	h := header.Clone()
	withoutEra(h)
	h[wire.HeaderVersion] = []string{wire.Version20260728}
	h[wire.HeaderMethod] = []string{wire.MethodDiscover}
	return h
}

// withoutEra takes away the headers that belong to one of the eras.
func withoutEra(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, wire.HeaderParamPrefix) {
			delete(h, name)
		}
	}
	for _, name := range []string{wire.HeaderVersion, wire.HeaderMethod, wire.HeaderName, wire.HeaderSession, wire.HeaderLastEventID} {
		delete(h, name)
	}
}

// soundsLegacy reports whether a refusal is what a server of the legacy era may say to a
// request of the modern one: that it knows neither the version nor the session.
func soundsLegacy(status int, header http.Header, body []byte) bool {
	switch code := string(json.Lookup(body, "/error/code")); {
	case code == "-32022":
		return !bytes.Contains(json.Lookup(body, "/error/data/supported"), []byte(wire.Version20260728))
	case code == "-32601":
		return header.Get(wire.HeaderMethod) == wire.MethodDiscover
	case status == http.StatusMethodNotAllowed:
		return false
	default: // what the SDKs of the legacy era answer, or no JSON-RPC error at all
		return code == "" || code == "-32000" || code == "-32001" || code == "-32600"
	}
}
