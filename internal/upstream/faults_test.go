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
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

// After each fault of a child, the call gets the right failure and the next call is answered.
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
				testkit.Eventually(t, "the end is noticed", func() bool { return strings.Contains(s.log.String(), "process ended") })
			}
			s.mustCall("echo", 0)
			if !strings.Contains(s.log.String(), test.log) {
				t.Errorf("the log has no %q", test.log)
			}
			if size := len(s.log.String()); size > 100_000 {
				t.Errorf("got %d bytes of log", size)
			}
			if n := len(pids(s.log)); n != test.starts {
				t.Errorf("got %d processes, want %d", n, test.starts)
			}
			s.Close()
			if got := strings.Contains(s.log.String(), "left_out"); got != (tool == "flood-stderr") {
				t.Errorf("log lines left out: got %t", got)
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
				t.Errorf("after %d processes: got %v", n, first)
			}
			if first.RetryAfter <= 0 {
				t.Error("the failure has no retryAfter")
			}
			began := time.Now()
			_, err = s.post(open)
			if took := time.Since(began); took > first.RetryAfter/2 {
				t.Errorf("the second call took %s", took)
			}
			if got, want := record(t, err), "unavailable origin=gateway effect=none: farm could not be started: its process ended (exit status 3)."; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if n := len(pids(s.log)); n != 3 {
				t.Errorf("got %d processes, want the same 3", n)
			}
		})
	}
}

func TestCallsWaitForTheNextChild(t *testing.T) {
	t.Parallel()
	s := serve(t, command("die-once", "dir="+t.TempDir()))
	if text := s.mustCall("echo", 0); text != "" || len(pids(s.log)) != 2 {
		t.Errorf("got %q after %d processes, want an answer of the second", text, len(pids(s.log)))
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
		t.Errorf("got cause %s", cause)
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
		resp.Close() // the answer of the next child
	}
	if text := s.mustCall("echo", 0); text != "" {
		t.Errorf("the next child answered %q", text)
	}
	if !strings.Contains(s.log.String(), "stopped reading its input") {
		t.Error("the log does not say why the child was ended")
	}
}

// largeCall returns a call that does not fit into a pipe's buffer.
func largeCall() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","pad":%q}}`, strings.Repeat("a", 1<<20))
}

// A caller gives up at its own deadline, even if the child still has time to read.
func TestCallersOfAChildThatStopsReading(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	s.SetPatience(0, 5*time.Minute, 100*time.Millisecond)
	s.mustCall("stop-reading", 0)
	patient, giveUp := context.WithCancel(t.Context())
	var callers, last sync.WaitGroup
	last.Go(func() { // keeps something to write after the others have given up
		if resp, err := s.Send(patient, http.MethodPost, http.Header{}, largeCall()); err == nil {
			resp.Close()
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
		t.Errorf("a caller waited %s", took)
	}
	giveUp()
	last.Wait()
	close(results)
	unsent := 0
	for result := range results {
		if !strings.HasPrefix(result, "timeout") {
			t.Errorf("got %s, want a timeout", result)
		}
		if strings.Contains(result, "effect=none") {
			unsent++
		}
	}
	if unsent == 0 {
		t.Error("got no call with effect=none, although the child reads nothing")
	}
}

// A hung child is replaced; a slow one is kept.
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
	time.Sleep(silence + silence/4) // longer than it may take to answer the ping
	if pid := s.mustCall("pid", 0); pid != first {
		t.Error("a child that is alive was replaced")
	}
	giveUp("deaf")
	testkit.Eventually(t, "it is ended", func() bool { return strings.Contains(s.log.String(), "stopped answering") })
	if pid := s.mustCall("pid", 0); pid == first {
		t.Error("the hung child answers")
	}
}

// Only a part of a long answer is in memory at any time, even if its id comes last or it is read slowly.
func TestLargeAnswers(t *testing.T) {
	testLargeAnswers(t, 20<<20)
}

func TestLongLargeAnswers(t *testing.T) {
	testkit.Long(t)
	testLargeAnswers(t, 100<<20)
}

func testLargeAnswers(t *testing.T, size int) {
	t.Helper()
	const id = `"a longer id than the gateway's"`
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
			program := child.NewProgram(t)
			s := serve(t, command(program.Arguments()...))
			s.mustCall("echo", 0)
			if test.others {
				other, err := s.post(progressing("progress-forever", 1))
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
			}
			before := heap()
			call := strings.NewReplacer(`"id":1`, `"id":`+id, `{"n":`, `{"text":"`+child.Pauses+`","n":`).Replace(toolCall(test.tool, size))
			var resp *wire.Answer
			var err error
			var posting sync.WaitGroup
			posting.Go(func() { resp, err = s.post(call) })
			testkit.Eventually(t, "half of the answer is written", func() bool { return program.Calls(child.Pauses) == 1 })
			most := heap()
			program.Release()
			posting.Wait()
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Close()
			var scan wire.Scanner
			total := 0
			buffer := make([]byte, 64<<10)
			for reads := 0; ; reads++ {
				n, err := resp.Read(buffer)
				if _, err := scan.Write(buffer[:n]); err != nil {
					t.Fatal(err)
				}
				if total += n; errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if reads == 0 { // other calls are answered, and this answer has been read from the child as a whole
					s.mustCall("echo", 0)
				}
				if reads%100 == 0 {
					most = max(most, heap())
				}
			}
			if err := scan.Close(); err != nil {
				t.Fatal(err)
			}
			signs := scan.Signs()
			want := len(`{"jsonrpc":"2.0","id":,"result":{"content":[{"type":"text","text":""}]}}`) + len(id) + size
			if signs.Message() != wire.Response || string(signs.ID) != id || total != want {
				t.Errorf("got %v with id %s in %d bytes, want %d bytes", signs.Message(), signs.ID, total, want)
			}
			if grown := int64(most) - int64(before); grown > 2*upstream.SpoolMemory {
				t.Errorf("got %d more bytes on the heap", grown)
			}
		})
	}
}

// heap returns the memory that is in use. It is exact only while nothing else allocates: what others allocate and drop during
// the garbage collection counts.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestInvalidLargeAnswers(t *testing.T) {
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

// A client that reads slowly, or not at all, does not delay others.
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
		t.Errorf("a slow reader got %d notifications and the end %s", n, text[max(0, len(text)-200):])
	}
	_ = resp.Close()
	if _, err := resp.Read(make([]byte, 1)); err == nil {
		t.Error("Read succeeds after Close")
	}
	s.mustCall("echo", 0)
}

// Even if other calls make the child fail, each call ends in time, and each answer reaches its own call.
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
				if caller == 0 && i%10 == 4 { // rarely, since the pauses between children grow
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
	testkit.Eventually(t, "a child answers", func() bool { // the last "half" may still have to end its child
		_, err := s.call("echo", 0)
		return err == nil
	})
}

// disturb makes a call and gives it up after 400 ms.
func disturb(t *testing.T, s *server, body, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	began := time.Now()
	resp, err := s.Send(ctx, http.MethodPost, http.Header{}, []byte(body))
	if err == nil {
		defer resp.Close()
		var text []byte
		text, err = io.ReadAll(resp)
		if err == nil && !strings.Contains(string(text), `"id":`+id) {
			t.Errorf("%.100s: got %.100s ... %.100s", body, text, text[max(0, len(text)-100):])
		}
	}
	if err != nil {
		switch e := upstream.Broken(ctx, s.Name(), err); e.Kind {
		case recourse.KindTimeout, recourse.KindUnreachable, recourse.KindBadResponse, recourse.KindUnavailable:
		default:
			t.Errorf("%.100s: got %v", body, e)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%.100s took %s", body, took)
	}
}

// A shared child gets all calls at once, without waiting for its answers.
func TestSharedChildGetsCallsAtOnce(t *testing.T) {
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
	testkit.Eventually(t, "all of them are under way", func() bool { return program.Calls("hold") == callers })
}
