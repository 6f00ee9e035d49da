package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// A hanging server of the modern era never answers a call. It sends to ended why each call ended.
type hanging struct {
	modernEra

	ended chan error
}

// Do waits for the end of a call.
func (h *hanging) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if r.Header.Get(wire.HeaderMethod) != wire.MethodToolsCall {
		return h.modernEra.Do(ctx, r)
	}
	<-ctx.Done()
	h.ended <- context.Cause(ctx)
	return nil, upstream.Broken(ctx, h.Name(), ctx.Err())
}

func startHanging(tb testing.TB) (*hanging, *bridged, http.Header) {
	tb.Helper()
	h := &hanging{modernEra: modernEra{tb: tb}, ended: make(chan error, 1000)}
	b := newBridge(tb, h, bridge.Options{})
	return h, b, openOn(tb, b)
}

// openOn opens a session of a client that can be asked for its roots.
func openOn(tb testing.TB, b *bridged) http.Header {
	tb.Helper()
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}`
	resp, err := b.Send(tb.Context(), http.MethodPost, http.Header{"Content-Type": {wire.TypeJSON}}, []byte(hello))
	if err != nil || resp.Header.Get(wire.HeaderSession) == "" {
		tb.Fatalf("initialize: got %+v, %v", resp, err)
	}
	return http.Header{
		"Content-Type": {wire.TypeJSON}, wire.HeaderVersion: {wire.Version20251125}, wire.HeaderSession: resp.Header[wire.HeaderSession],
	}
}

func callOf(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)
}

// After its client has left, a call goes on for a minute; at most 256 calls do. A call that its client cancels, or whose
// time is up, ends at once.
func TestCallsWithoutAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, b, header := startHanging(t)
		defer b.Close()
		begun := time.Now()
		const most = 256
		ctx, leave := context.WithCancel(t.Context())
		for i := range most + 1 {
			go func() {
				if _, err := b.Send(ctx, http.MethodPost, header, callOf(i)); err == nil {
					t.Error("got an answer after the client left")
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if got := len(h.ended); got != 1 {
			t.Fatalf("%d calls ended with their client, want 1: the one over the limit", got)
		}
		for range most + 1 {
			if err := <-h.ended; err == nil {
				t.Error("a call ended without a cause")
			}
		}
		if got := time.Since(begun); got != time.Minute {
			t.Errorf("the others ended after %v, want a minute", got)
		}
		ctx, leave = context.WithCancel(t.Context())
		go func() { _, _ = b.Send(ctx, http.MethodPost, header, callOf(1)) }()
		synctest.Wait()
		leave()
		if err := <-h.ended; err == nil {
			t.Error("the next call ended without a cause")
		}
		if got := time.Since(begun); got != 2*time.Minute {
			t.Errorf("the next call ended after %v, want another minute", got)
		}

		begun = time.Now().Add(-time.Minute)
		tooLong := errors.New("too long")
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, tooLong)
		defer stop()
		if _, err := b.Send(ctx, http.MethodPost, header, callOf(1)); err == nil || !errors.Is(<-h.ended, tooLong) || time.Since(begun) != time.Minute+time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		go func() {
			cancelled := []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0}}`)
			time.Sleep(time.Second)
			if resp, err := b.Send(t.Context(), http.MethodPost, header, cancelled); err != nil || resp.Status != http.StatusAccepted {
				t.Errorf("got %+v, %v", resp, err)
			}
		}()
		_, err := b.Send(t.Context(), http.MethodPost, header, callOf(1))
		if err == nil || !errors.Is(<-h.ended, recourse.KindCancelled) || time.Since(begun) != time.Minute+2*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
	})
}

// Close ends calls, including those whose client has left, and streams.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, b, header := startHanging(t)
		ctx, leave := context.WithCancel(t.Context())
		for i := range 2 {
			go func() { _, _ = b.Send(ctx, http.MethodPost, header, callOf(i)) }()
		}
		stream, err := b.Send(t.Context(), http.MethodGet, header, nil)
		if err != nil || stream.Status != http.StatusOK {
			t.Fatalf("got %+v, %v", stream, err)
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		b.Close()
		if got := len(h.ended); got != 2 {
			t.Errorf("%d calls ended, want 2", got)
		}
		if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
			t.Errorf("got %q, %v, want the end of the stream", rest, err)
		}
		if resp, err := b.Send(t.Context(), http.MethodPost, header, callOf(1)); err != nil || resp.Status != http.StatusNotFound {
			t.Errorf("a call after Close: got %+v, %v", resp, err)
		}
	})
}

// The number of unanswered questions to a client is limited.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 32 {
			names = append(names, fmt.Sprintf(`"%d":{"method":"roots/list"}`, i))
		}
		n := &modernEra{tb: t, status: http.StatusOK, header: http.Header{"Content-Type": {wire.TypeEventStream}}}
		n.body = `data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{` + strings.Join(names, ",") + "}}}\n\n"
		b := newBridge(t, n, bridge.Options{})
		header := openOn(t, b)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		for range 4 {
			resp, err := b.Send(ctx, http.MethodPost, header, callOf(1))
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, resp) }()
		}
		synctest.Wait()
		resp, err := b.Send(ctx, http.MethodPost, header, callOf(1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp)
		if e := recourse.From(err); e.Kind != recourse.KindLimitReached || e.Origin != recourse.OriginGateway {
			t.Errorf("one question too many: got %v", err)
		}
	})
}

// A session expires after an idle day.
func TestIdleSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &modernEra{tb: t, status: http.StatusOK, header: http.Header{"Content-Type": {wire.TypeJSON}}, body: `{"jsonrpc":"2.0","id":1,"result":{}}`}
		b := newBridge(t, n, bridge.Options{})
		idle, used := openOn(t, b), openOn(t, b)
		for range 3 {
			time.Sleep(12 * time.Hour)
			if resp, err := b.Send(t.Context(), http.MethodPost, used, callOf(1)); err != nil || resp.Status != http.StatusOK {
				t.Fatalf("a session in use: got %+v, %v", resp, err)
			}
		}
		openOn(t, b)
		if resp, err := b.Send(t.Context(), http.MethodPost, idle, callOf(1)); err != nil || resp.Status != http.StatusNotFound {
			t.Errorf("an idle session: got %+v, %v", resp, err)
		}
	})
}

// A client gets the legacy version that it asks for, or else the latest one.
func TestVersions(t *testing.T) {
	t.Parallel()
	b := newBridge(t, &modernEra{tb: t}, bridge.Options{})
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		hello := `{"jsonrpc":"2.0","id":"\u0061","method":"initialize","params":{"protocolVersion":"` + asked + `","capabilities":{}}}`
		resp, err := b.Send(t.Context(), http.MethodPost, http.Header{"Content-Type": {wire.TypeJSON}}, []byte(hello))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp)
		if err != nil || !strings.HasPrefix(string(text), `{"jsonrpc":"2.0","id":"\u0061","result":{"protocolVersion":"`+want+`"`) {
			t.Errorf("%s: got %s, %v", asked, text, err)
		}
	}
}

// A streamed server answers with a long body: a text, many letters x, and a text.
type streamed struct{ modernEra }

const streamedSize = 50 << 20

func (s *streamed) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if r.Header.Get(wire.HeaderMethod) != wire.MethodToolsCall {
		return s.modernEra.Do(ctx, r)
	}
	prefix, suffix := `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`, `"}],"resultType":"complete"},"id":1}`
	isStream := s.header.Get("Content-Type") == wire.TypeEventStream
	if isStream {
		prefix, suffix = "data: "+prefix, suffix+"\n\n"
	}
	resp := wire.RespondText(io.NopCloser(io.MultiReader(strings.NewReader(prefix), io.LimitReader(letters{}, streamedSize), strings.NewReader(suffix))))
	resp.Stream = isStream
	return resp, nil
}

type letters struct{}

// Read implements io.Reader.
func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// An answer of 50 MB passes through in constant memory.
func TestLargeAnswersFlow(t *testing.T) {
	for _, contentType := range []string{wire.TypeJSON, wire.TypeEventStream} {
		s := &streamed{modernEra{tb: t, header: http.Header{"Content-Type": {contentType}}}}
		b := newBridge(t, s, bridge.Options{})
		header := openOn(t, b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp, err := b.Send(t.Context(), http.MethodPost, header, callOf(1))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp, make([]byte, 32<<10))
		runtime.ReadMemStats(&after)
		if err != nil || n < streamedSize {
			t.Errorf("%s: got %d bytes, %v", contentType, n, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
			t.Errorf("%s: got %d bytes allocated", contentType, grown)
		}
		b.Close()
	}
}
