package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/rpccode"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// A Transport carries messages to a server that presents itself as one over
// Streamable HTTP, as [upstream.HTTP] and [upstream.Stdio] do.
type Transport interface {
	upstream.Sender

	// Ask sends a request and reads its answer; see [upstream.Ask].
	Ask(ctx context.Context, header http.Header, body []byte, id wire.ID, limit int64) (*upstream.Answer, error)
	// Close ends what the transport holds.
	Close()
}

// Options say what a bridge has to know of the server.
type Options struct {
	// Forward are the canonical names of the headers by which callers are told apart:
	// those with the client's own credentials. Without any, all callers are one.
	Forward []string
	// Program says that the server is a program: it says on the answer of any call under
	// way what it asks, whichever call that is about.
	Program bool
	// Silent says that the server cannot ask its client anything, since all clients
	// share it. No capabilities are declared to it.
	Silent bool
}

// Bridge is a transport to one server for clients of both eras. It is safe for
// concurrent use. Make one with [New] and end it with [Bridge.Close].
type Bridge struct {
	next    Transport
	options Options
	tells   eraTeller // nil: it does not
	eras    eras
	legacy  *legacyServer
	modern  *modernServer

	life context.Context //nolint:containedctx // the life of the background work, not of a call
	end  context.CancelFunc
	work sync.WaitGroup // background work

	mu          sync.Mutex
	closed      bool
	discovering *discovery // server/discover, under way; nil: it is not
}

// New returns the bridge over a transport, which it closes.
func New(next Transport, options Options) *Bridge {
	b := &Bridge{next: next, options: options}
	b.life, b.end = context.WithCancel(context.Background())
	b.tells, _ = next.(eraTeller)
	b.legacy, b.modern = newLegacyServer(b), newModernServer(b)
	return b
}

// Name returns what people call the server.
func (b *Bridge) Name() string { return b.next.Name() }

// Broken turns an error of Send, or of reading the answer, into the Error that it
// means.
func (b *Bridge) Broken(ctx context.Context, err error) *recourse.Error {
	if e, ok := errors.AsType[*recourse.Error](err); ok && ctx.Err() == nil {
		return e // the bridge's own
	}
	return b.next.Broken(ctx, err)
}

// Close ends the sessions that the bridge has opened, and the transport. Calls under
// way are broken off.
func (b *Bridge) Close() {
	b.legacy.close()
	b.modern.close()
	b.end()
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.work.Wait()
	b.next.Close()
}

// background runs f as work that Close waits for, with a context that ends then. The
// context of work that comes later has ended.
func (b *Bridge) background(f func(ctx context.Context)) {
	run := func() { f(b.life) }
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		go run()
		return
	}
	b.work.Go(run)
}

// Ask sends a request whose answer the caller needs for itself, such as tools/list,
// and reads it to its end, up to limit bytes. The error is that of [Bridge.Send], or
// bad_response of origin server.
func (b *Bridge) Ask(ctx context.Context, header http.Header, body []byte, id wire.ID, limit int64) (*upstream.Answer, error) {
	return upstream.Ask(ctx, b, header, body, id, limit)
}

// Send sends a request of either era and returns the answer in the same era,
// whatever its status; closing its body is left to the caller. The headers belong to
// Send from then on. The error is that of the transport, an [*recourse.Error] that
// states recourse.EffectNone when the request has not been sent.
func (b *Bridge) Send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	b.ownEra()
	if eraOf(header) == wire.Modern {
		return b.sendModern(ctx, method, header, body)
	}
	return b.sendLegacy(ctx, method, header, body)
}

// An eraTeller is a transport that knows by itself which one era its server speaks; 0:
// it has not found out yet.
type eraTeller interface{ Era() wire.Era }

// ownEra takes note of what the transport says of the server's era.
func (b *Bridge) ownEra() {
	if b.tells == nil {
		return
	}
	if era := b.tells.Era(); era != 0 {
		b.eras.only(era)
	}
}

// eraOf returns the era of a client's request.
func eraOf(header http.Header) wire.Era {
	if version := header[wire.HeaderVersion]; len(version) == 1 && version[0] == wire.Version20260728 {
		return wire.Modern
	}
	return wire.Legacy
}

// errOtherEra says that the server does not take requests of the era in which a
// direction of the bridge would send one. The client's has not been sent.
var errOtherEra = errors.New("the server does not speak this era")

// sendModern sends a request of the modern era.
func (b *Bridge) sendModern(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	if b.eras.of(wire.Modern) == no {
		resp, err := b.legacy.send(ctx, method, header.Clone(), body)
		if !errors.Is(err, errOtherEra) {
			return resp, err
		}
		b.eras.forget()
	}
	asked := b.eras.of(wire.Modern) == unknown && isRequest(header)
	if asked {
		if resp, err := b.cross(ctx, method, header, body); resp != nil || err != nil {
			return resp, err
		}
	}
	resp, err := b.next.Send(ctx, method, header, body)
	if err != nil || asked || !refuses(resp) {
		return resp, err
	}
	text, err := keep(resp)
	if err != nil || !soundsLegacy(resp.StatusCode, header, text) {
		return resp, nil //nolint:nilerr // the caller finds the same when it reads the body
	}
	b.eras.forget()
	if !maySendAgain(header.Get(wire.HeaderMethod), text) {
		_, _ = b.discover(ctx, header) // so that the next request goes the right way
		return resp, nil
	}
	if bridged, err := b.cross(ctx, method, header, body); bridged != nil && err == nil {
		_ = resp.Body.Close()
		return bridged, nil
	}
	return resp, nil
}

// maySendAgain reports whether a request that a server has refused with an HTTP status
// below 500, in text, may be sent to it in another form: it does nothing, or a code of
// the protocol says that it was not carried out. Words that only sound like the other era
// are a reason to find out the era, but none to send a call twice.
func maySendAgain(method string, text []byte) bool {
	if wire.ReadsOnly(method) {
		return true
	}
	code, err := strconv.Atoi(string(json.Lookup(text, "/error/code")))
	return err == nil && rpccode.Refused(code)
}

// cross finds out whether the server speaks the modern era, and sends the request over
// the bridge where it does not. It returns neither an answer nor an error when the
// request is to be sent as it is.
func (b *Bridge) cross(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	speaks, err := b.discover(ctx, header)
	if err != nil || speaks != no {
		return nil, err
	}
	resp, err := b.legacy.send(ctx, method, header.Clone(), body)
	if errors.Is(err, errOtherEra) {
		b.eras.forget()
		return nil, nil //nolint:nilnil // it speaks neither: what it says of the request is the truth about it
	}
	return resp, err
}

// isRequest reports whether the message of the modern era with that header is a request.
func isRequest(header http.Header) bool {
	method := header.Get(wire.HeaderMethod)
	return method != "" && !strings.HasPrefix(method, "notifications/")
}

// sendLegacy sends a message of the legacy era.
func (b *Bridge) sendLegacy(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	if b.eras.of(wire.Legacy) == no || b.modern.owns(header) {
		resp, err := b.modern.send(ctx, method, header.Clone(), body)
		if !errors.Is(err, errOtherEra) {
			return resp, err
		}
		b.eras.forget()
	}
	resp, err := b.next.Send(ctx, method, header, body)
	if err != nil || method != http.MethodPost {
		return resp, err
	}
	if !b.modern.alone(ctx, header, b.modern.refused(header, body, resp)) {
		return resp, nil // what the server itself says of the message says more
	}
	b.eras.only(wire.Modern)
	if text, err := keep(resp); err != nil || !maySendAgain(methodOf(body), text) {
		return resp, nil //nolint:nilerr // the caller finds the same when it reads the body
	}
	bridged, err := b.modern.send(ctx, method, header.Clone(), body)
	if errors.Is(err, errOtherEra) {
		b.eras.forget()
		return resp, nil
	}
	_ = resp.Body.Close()
	return bridged, err
}

// refuses reports whether an answer may be the refusal of a request in the wrong era.
func refuses(resp *http.Response) bool {
	return resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusMethodNotAllowed
}

// maxRefusal bounds how much of a refusal is looked into: as much as of any answer.
const maxRefusal = modernWindow

// keep returns the beginning of an answer, which stays in its body.
func keep(resp *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), &failing{err}, rest), rest}
	return text, err
}

// failing is a reader that returns an error, or the end where there is none.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
