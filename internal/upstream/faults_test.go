package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/internal/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// Whatever a child does, the call is told the truth, and the next one is answered.
func TestFaults(t *testing.T) {
	t.Parallel()
	const ended = "unreachable origin=gateway effect=: farm's process ended (exit status 1)."
	tests := map[string]struct {
		want, log string
		starts    int
	}{
		"exit":            {want: ended, log: "out of luck", starts: 2},
		"half":            {want: ended, log: "stdout holds a line that is not a message", starts: 2},
		"answer-and-exit": {want: "last words", starts: 2},
		"close-stdout":    {want: "unreachable origin=gateway effect=: farm's process closed its output.", starts: 2},
		"garbage":         {want: "clean", log: "listening on stdio", starts: 1},
		"twice":           {want: "first", log: "an answer does not belong to any request under way", starts: 1},
		"wrong-id":        {want: "mine", log: "an answer has an id that was never given", starts: 1},
		"float-id":        {want: "mine", starts: 1},
		"flood-stderr":    {want: "flooded", log: "noise", starts: 1},
		"large-garbage":   {want: "clean", log: "stdout holds a line that is not a message", starts: 1},
	}
	for tool, test := range tests {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			c := command()
			c.Env = append(c.Env, "PATH=/bin")
			s := serve(t, c)
			s.SetPatience(0, 0, 200*time.Millisecond)
			if tool != "close-stdout" {
				s.AwaitExits()
			}
			got, err := s.call(tool, 100_000)
			if err != nil {
				got = record(t, err)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if tool == "answer-and-exit" {
				eventually(t, "the end is noticed", func() bool { return strings.Contains(s.log.String(), "process ended") })
			}
			s.mustCall("echo", 0)
			if !strings.Contains(s.log.String(), test.log) {
				t.Errorf("the log does not say %q", test.log)
			}
			if size := len(s.log.String()); size > 100_000 {
				t.Errorf("the log has %d bytes", size)
			}
			if n := len(pids(s.log)); n != test.starts {
				t.Errorf("%d processes were started, want %d", n, test.starts)
			}
			s.Close()
			if got := strings.Contains(s.log.String(), "left_out"); got != (tool == "flood-stderr") {
				t.Errorf("lines of the log were left out: %t", got)
			}
		})
	}
}

func TestChildThatDiesAtItsStart(t *testing.T) {
	t.Parallel()
	for _, share := range []upstream.Share{upstream.ShareAll, upstream.ShareClient} {
		t.Run(fmt.Sprintf("share %d", share), func(t *testing.T) {
			t.Parallel()
			c := command("die")
			c.Share = share
			s := serve(t, c)
			s.AwaitExits()
			const open = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
			_, err := s.post(open)
			first := recourse.From(err)
			if n := len(pids(s.log)); n != 3 || first.Kind != recourse.KindUnavailable {
				t.Errorf("after %d processes: %v", n, first)
			}
			if first.RetryAfter <= 0 {
				t.Error("it does not say how long to wait")
			}
			began := time.Now()
			_, err = s.post(open)
			if took := time.Since(began); took > first.RetryAfter/2 {
				t.Errorf("the second call was told after %s", took)
			}
			if got, want := record(t, err), "unavailable origin=gateway effect=none: farm could not be started: its process ended (exit status 3)."; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if n := len(pids(s.log)); n != 3 {
				t.Errorf("%d processes were started", n)
			}
		})
	}
}

func TestCallsWaitForTheNextChild(t *testing.T) {
	t.Parallel()
	s := serve(t, command("die-once", "dir="+t.TempDir()))
	if text := s.mustCall("echo", 0); text != "" || len(pids(s.log)) != 2 {
		t.Errorf("%q after %d processes", text, len(pids(s.log)))
	}
}

func TestChildThatNeverAnswersInitialize(t *testing.T) {
	t.Parallel()
	s := serve(t, command("mute"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Send(ctx, http.MethodPost, http.Header{}, []byte(toolCall("echo", 0)))
	if got, want := record(t, err), "timeout origin=gateway effect=none: farm did not answer in time."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestChildThatRefusesInitialize(t *testing.T) {
	t.Parallel()
	s := serve(t, command("refuse"))
	_, err := s.call("echo", 0)
	if got, want := record(t, err), "unavailable origin=gateway effect=none: farm could not be started: its process was ended."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if cause := recourse.From(err).Cause().Error(); !strings.Contains(cause, "not today") {
		t.Errorf("the cause is %s", cause)
	}
	c := command("refuse")
	c.Share = upstream.ShareClient
	s = serve(t, c)
	resp, err := s.post(`{"jsonrpc":"2.0","id":"o","method":"initialize","params":{}}`)
	if err != nil || resp.Header.Get(wire.HeaderSession) != "" {
		t.Fatal(resp, err)
	}
	if got, want := content(t, resp), `{"jsonrpc":"2.0","id":"o","error":{"code":-32602,"message":"not today"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A child that stops reading is replaced.
func TestChildThatStopsReading(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	s.SetPatience(0, 300*time.Millisecond, 100*time.Millisecond)
	s.mustCall("stop-reading", 0)
	if resp, err := s.Send(t.Context(), http.MethodPost, http.Header{}, largeCall()); err == nil {
		resp.Body.Close() // it is the next child's
	}
	if text := s.mustCall("echo", 0); text != "" {
		t.Errorf("the next child says %q", text)
	}
	if !strings.Contains(s.log.String(), "stopped reading its input") {
		t.Error("the log does not say why the child was ended")
	}
}

// largeCall returns a call that no pipe holds.
func largeCall() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","pad":%q}}`, strings.Repeat("a", 1<<20))
}

// A caller does not wait as long as a child has to read: its own time counts.
func TestCallersOfAChildThatStopsReading(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	s.SetPatience(0, 5*time.Minute, 100*time.Millisecond)
	s.mustCall("stop-reading", 0)
	patient, giveUp := context.WithCancel(t.Context())
	var callers, last sync.WaitGroup
	last.Go(func() { // so that there is something to read, however soon the others give up
		if resp, err := s.Send(patient, http.MethodPost, http.Header{}, largeCall()); err == nil {
			resp.Body.Close()
		}
	})
	results := make(chan string, 12)
	for range cap(results) {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := s.Send(ctx, http.MethodPost, http.Header{}, largeCall())
			results <- record(t, err)
		})
	}
	began := time.Now()
	callers.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("a caller waited for %s", took)
	}
	giveUp()
	last.Wait()
	close(results)
	unsent := 0
	for result := range results {
		if !strings.HasPrefix(result, "timeout") {
			t.Errorf("a call ends with %s", result)
		}
		if strings.Contains(result, "effect=none") {
			unsent++
		}
	}
	if unsent == 0 {
		t.Error("all calls may have been read, by a child that reads nothing")
	}
}

// A child that has hung is replaced. One that is only slow is not.
func TestChildThatStopsAnswering(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	s.SetPatience(0, 0, 100*time.Millisecond)
	const silence = 300 * time.Millisecond
	s.SetSilence(silence)
	giveUp := func(tool string) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := s.Send(ctx, http.MethodPost, http.Header{}, []byte(toolCall(tool, 0)))
		if got, want := record(t, err), "timeout origin=gateway effect=: farm did not answer in time."; got != want {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
	first := s.mustCall("pid", 0)
	giveUp("never")
	time.Sleep(silence + silence/4) // longer than it has to answer the ping
	if pid := s.mustCall("pid", 0); pid != first {
		t.Error("a child that is alive was replaced")
	}
	giveUp("deaf")
	eventually(t, "it is ended", func() bool { return strings.Contains(s.log.String(), "stopped answering") })
	if pid := s.mustCall("pid", 0); pid == first {
		t.Error("the child that has hung answers")
	}
}

// Of a long answer only a part is ever in memory, wherever its id stands and
// however slowly it is read.
//
//nolint:paralleltest // it measures the memory that is in use
func TestLargeAnswers(t *testing.T) {
	testLargeAnswers(t, 20<<20)
}

//nolint:paralleltest // as above
func TestLongLargeAnswers(t *testing.T) {
	testkit.Long(t)
	testLargeAnswers(t, 100<<20)
}

func testLargeAnswers(t *testing.T, size int) {
	t.Helper()
	const id = `"a longer id than that of ours"`
	tests := []struct {
		tool   string
		others bool // other calls are under way
	}{
		{tool: "large"},
		{tool: "large-id-last"},
		{tool: "large", others: true},
		{tool: "large-id-last", others: true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s, others %t", test.tool, test.others), func(t *testing.T) {
			s := serve(t, command())
			s.mustCall("echo", 0)
			if test.others {
				other, err := s.post(progressing("progress-forever", 1))
				if err != nil {
					t.Fatal(err)
				}
				defer other.Body.Close()
			}
			before := heap()
			resp, err := s.post(strings.Replace(toolCall(test.tool, size), `"id":1`, `"id":`+id, 1))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var scan wire.Scanner
			total, most := 0, uint64(0)
			buffer := make([]byte, 64<<10)
			for reads := 0; ; reads++ {
				n, err := resp.Body.Read(buffer)
				if _, err := scan.Write(buffer[:n]); err != nil {
					t.Fatal(err)
				}
				if total += n; errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if reads%100 == 0 {
					most = max(most, heap())
				}
				if reads == 0 { // the child goes on meanwhile, and is there for others
					s.mustCall("echo", 0)
				}
			}
			if err := scan.Close(); err != nil {
				t.Fatal(err)
			}
			signs := scan.Signs()
			want := len(`{"jsonrpc":"2.0","id":,"result":{"content":[{"type":"text","text":""}]}}`) + len(id) + size
			if signs.Message() != wire.Response || string(signs.ID) != id || total != want {
				t.Errorf("%v with the id %s in %d bytes", signs.Message(), signs.ID, total)
			}
			if grown := int64(most) - int64(before); grown > 4*upstream.SpoolMemory {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestLargeAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	const bad = "bad_response origin=server effect=: farm sent an invalid response."
	for _, tool := range []string{"large-wrong-id", "large-broken"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			s := serve(t, own())
			s.token = "a"
			s, _ = s.open(wire.Version20251125)
			_, err := s.call(tool, 3<<20)
			if got := record(t, upstream.Broken(t.Context(), s.Name(), err)); got != bad {
				t.Errorf("got %s, want %s", got, bad)
			}
			s.mustCall("echo", 0)
		})
	}
}

// A client that reads slowly, or not at all, keeps no other waiting.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	resp, err := s.post(toolCall("large", 20<<20))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.post(progressing("count", 10_000))
	if err != nil {
		t.Fatal(err)
	}
	s.mustCall("echo", 0)
	text := content(t, stream)
	if n := strings.Count(text, "notifications/progress"); n == 0 || n > 1000 || !strings.Contains(text, `"id":1,"result"`) {
		t.Errorf("%d notifications were kept for a slow reader; the end is %s", n, text[max(0, len(text)-200):])
	}
	_ = resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("a body can be read after it was closed")
	}
	s.mustCall("echo", 0)
}

// Whatever the calls of others do to the child, each is ended in time, and no
// answer goes astray.
func TestCallsThatDisturbEachOther(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	s.SetPatience(0, 0, 100*time.Millisecond)
	tools := []string{"echo", "garbage", "twice", "never", "count", "large", "echo", "large-id-last", "wrong-id", "sleep", "large-broken"}
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for i := range 20 {
				id := fmt.Sprintf(`"%d-%d"`, caller, i)
				tool := tools[(caller*7+i*5)%len(tools)]
				if caller == 0 && i%10 == 4 { // seldom: the pauses between children grow
					tool = "half"
				}
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"n":1100000,"message":%s}}}`, id, tool, id)
				if tool == "count" || tool == "sleep" {
					body = strings.Replace(body, "1100000", "5", 1)
				}
				disturb(t, s, body, id)
			}
		})
	}
	wg.Wait()
	eventually(t, "a child answers", func() bool { // the last one may still have to end in the middle of a line
		_, err := s.call("echo", 0)
		return err == nil
	})
}

// disturb makes a call, and gives it up after a while.
func disturb(t *testing.T, s *server, body, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	began := time.Now()
	resp, err := s.Send(ctx, http.MethodPost, http.Header{}, []byte(body))
	if err == nil {
		defer resp.Body.Close()
		var text []byte
		text, err = io.ReadAll(resp.Body)
		if err == nil && !strings.Contains(string(text), `"id":`+id) {
			t.Errorf("%.100s is answered with %.100s ... %.100s", body, text, text[max(0, len(text)-100):])
		}
	}
	if err != nil {
		switch e := upstream.Broken(ctx, s.Name(), err); e.Kind {
		case recourse.KindTimeout, recourse.KindUnreachable, recourse.KindBadResponse, recourse.KindUnavailable:
		default:
			t.Errorf("%.100s ends with %v", body, e)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%.100s took %s", body, took)
	}
}

// The calls of a shared child are with it all at once: none waits for the answer to another.
func TestCallsOfASharedChildDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	program := child.NewProgram(t)
	s := serve(t, command(program.Arguments()...))
	s.mustCall("echo", 0)
	const callers = 16
	var wg sync.WaitGroup
	defer wg.Wait()
	defer program.Release()
	for range callers {
		wg.Go(func() {
			if _, err := s.call("hold", 0); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all of them are under way", func() bool { return program.Calls("hold") == callers })
}
