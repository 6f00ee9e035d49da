package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// sameID returns the arguments of Post for a call. All calls have the same id and progress token.
func sameID(c *testkit.Client, tool, arguments string) (context.Context, []byte, http.Header) {
	body, header := c.Message("1", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":1}}`, tool, arguments))
	return context.Background(), body, header
}

// When the child crashes with many calls under way, the next child gets the reads again, each write runs at most
// once, and each client gets its own answer, although all use the same id.
func TestCallersDuringACrash(t *testing.T) {
	t.Parallel()
	callersDuringACrash(t, 8)
}

func TestLongCallersDuringACrash(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	callersDuringACrash(t, 32)
}

func callersDuringACrash(t *testing.T, callers int) {
	t.Helper()
	for _, share := range shares {
		t.Run(share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			f := gatewaytest.StartProgram(t, program, "title: The farm", "share: "+share, "timeout: 20s", orders)
			clients := make([]*testkit.Client, callers)
			var opening sync.WaitGroup
			for i := range clients {
				clients[i] = testkit.NewClient(t, f.URL, testkit.Legacy)
				opening.Go(func() {
					if _, err := clients[i].Initialize(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			opening.Wait()
			var calls sync.WaitGroup
			for i, client := range clients[1:] {
				calls.Go(func() {
					if i%2 == 0 {
						readOnce(t, client, fmt.Sprintf("text %d", i))
						return
					}
					createOnce(t, client, program, fmt.Sprintf("A-%d", i))
				})
			}
			testkit.Eventually(t, "all that reads is waiting", func() bool { return program.Calls("hold") == callers/2 })
			before := len(program.Processes())
			program.Next(testkit.OrderCreate, "exit")
			createOnce(t, clients[0], program, "A-crash")
			program.Release()
			calls.Wait()
			for _, client := range clients { // each, since the child of any may have crashed
				readOnce(t, client, "afterwards")
			}
			if n := len(program.Processes()); n <= before {
				t.Errorf("got %d processes: there was no crash", n)
			}
		})
	}
}

func readOnce(t *testing.T, client *testkit.Client, text string) {
	t.Helper()
	a, err := client.Post(sameID(client, "hold", fmt.Sprintf(`{"text":%q}`, text)))
	if err != nil {
		t.Error(err)
		return
	}
	if result, err := a.ToolResult(); err != nil || result.Text() != text || string(a.Message.ID) != "1" {
		t.Errorf("%s: got %s", text, a.Body)
	}
}

func createOnce(t *testing.T, client *testkit.Client, program *child.Program, reference string) {
	t.Helper()
	a, err := client.Post(sameID(client, testkit.OrderCreate, fmt.Sprintf(`{"reference":%q,"amount":1}`, reference)))
	if err != nil {
		t.Error(err)
		return
	}
	times := program.Orders(reference)
	if a.Succeeded() {
		if times != 1 || !strings.Contains(string(a.Body), reference) {
			t.Errorf("%s: created %d times: %s", reference, times, a.Body)
		}
		return
	}
	e := gatewaytest.Record(t, a)
	if e.Effect == recourse.EffectNone && times != 0 || times > 1 {
		t.Errorf("%s: created %d times: %s", reference, times, a.Body)
	}
}

// Progress reaches its own call, with the token that the client chose.
func TestProgressOfAChild(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run(share, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.StartProgram(t, child.NewProgram(t), "share: "+share, "timeout: 10s")
			var calls sync.WaitGroup
			for count := 1; count <= 8; count++ {
				client := f.Client(t, testkit.Legacy)
				calls.Go(func() {
					a, err := client.Post(sameID(client, testkit.Progress, fmt.Sprintf(`{"count":%d,"gapMs":10}`, count)))
					if err != nil {
						t.Error(err)
						return
					}
					var got, want []string
					for _, event := range a.Events {
						got = append(got, event.Data)
					}
					for i := range count {
						want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":`+
							`{"progressToken":1,"progress":%d,"total":%d}}`, i+1, count))
					}
					want = append(want, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`)
					if !slices.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			}
			calls.Wait()
		})
	}
}

// A child's notification reaches the clients that share the child, and no others.
func TestNotificationsOfAChild(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run(share, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.StartProgram(t, child.NewProgram(t), "share: "+share, "timeout: 10s")
			clients := []*testkit.Client{f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)}
			streams := make([]*testkit.Stream, len(clients))
			for i, client := range clients {
				var err error
				if streams[i], err = client.Listen(context.Background(), ""); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(streams[i].Close)
			}
			for i, client := range clients {
				if a, err := client.Call(t.Context(), "announce", `{}`); err != nil || !a.Succeeded() {
					t.Fatal(err, a)
				}
				for j, stream := range streams {
					if share == "client" && j != i {
						continue
					}
					if msg, err := stream.NextMessage(); err != nil || msg.Method != "notifications/tools/list_changed" {
						t.Errorf("stream %d: got %v, %v", j, msg, err)
					}
				}
			}
			if share == "all" {
				return
			}
			// Each client has got the notification once: its next message belongs to a later call.
			for i, client := range clients {
				if _, err := client.Call(t.Context(), "log", `{}`); err != nil {
					t.Fatal(err)
				}
				if msg, err := streams[i].NextMessage(); err != nil || msg.Method != "notifications/message" {
					t.Errorf("stream %d: got %v, %v", i, msg, err)
				}
			}
		})
	}
}

// A question reaches the client of its call. A shared program is told that no client can be asked.
func TestQuestionsOfAChild(t *testing.T) {
	t.Parallel()
	f := gatewaytest.StartProgram(t, child.NewProgram(t), "share: client", "timeout: 10s")
	var calls sync.WaitGroup
	for i := range 4 {
		client := f.Client(t, testkit.Legacy)
		calls.Go(func() {
			stream, err := client.OpenCall(context.Background(), testkit.Ask, `{}`)
			if err != nil {
				t.Error(err)
				return
			}
			defer stream.Close()
			asked, err := stream.NextMessage()
			if err != nil || asked.Method != "elicitation/create" {
				t.Error(asked, err)
				return
			}
			if _, err := client.Respond(context.Background(), asked.ID, fmt.Sprintf(`{"action":"accept","content":{"name":"Ada %d"}}`, i)); err != nil {
				t.Error(err)
			}
			if msg, err := stream.NextMessage(); err != nil || !strings.Contains(string(msg.Result), fmt.Sprintf("Ada %d", i)) {
				t.Errorf("client %d: got %v, %v", i, msg, err)
			}
		})
	}
	calls.Wait()

	f = gatewaytest.StartProgram(t, child.NewProgram(t), "share: all")
	a, err := f.Client(t, testkit.Legacy).Call(t.Context(), testkit.Ask, `{}`)
	if err != nil || !strings.Contains(string(a.Body), "no client capabilities were declared") {
		t.Errorf("with a shared child: got %+v, %v", a, err)
	}
}

func TestDeleteEndsAChildsSession(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run(share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			f := gatewaytest.StartProgram(t, program, "share: "+share, "timeout: 10s")
			client, other := f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)
			if a, err := client.Delete(t.Context()); err != nil || a.Status != http.StatusNoContent {
				t.Errorf("DELETE: got %+v, %v", a, err)
			}
			if share == "client" {
				testkit.Eventually(t, "its process ends", func() bool { return !child.GroupAlive(program.Processes()[0]) })
			}
			if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || a.Status != http.StatusNotFound {
				t.Errorf("after DELETE: got %+v, %v", a, err)
			}
			if a, err := other.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
				t.Errorf("another client: got %+v, %v", a, err)
			}
		})
	}
}

// If a child was stopped while idle, or crashed between two calls, the next call succeeds with a new child.
func TestChildrenBetweenCalls(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run("idle, share "+share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			f := gatewaytest.StartProgram(t, program, "share: "+share, "idle: 2s", "timeout: 10s", orders)
			client := f.Client(t, testkit.Legacy)
			testkit.Eventually(t, "the child is stopped", func() bool { return strings.Contains(f.Log.String(), "process stopped") })
			checkUnnoticed(t, client, program)
			if strings.Contains(f.Log.String(), "process ended") {
				t.Error("the stop is logged as a crash")
			}
		})
		t.Run("crash, share "+share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			f := gatewaytest.StartProgram(t, program, "share: "+share, "timeout: 10s", orders)
			client := f.Client(t, testkit.Legacy)
			program.Next(testkit.GetField, "answer-and-exit")
			if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
				t.Fatalf("got %+v, %v", a, err)
			}
			testkit.Eventually(t, "the end is noticed", func() bool { return strings.Contains(f.Log.String(), "process ended") })
			checkUnnoticed(t, client, program)
		})
	}
}

// checkUnnoticed checks that a write runs once, at a new child.
func checkUnnoticed(t *testing.T, client *testkit.Client, program *child.Program) {
	t.Helper()
	a, err := client.Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs)
	if err != nil || !a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	if n := program.Orders("A-17"); n != 1 {
		t.Errorf("got %d orders, want 1", n)
	}
	if n := len(program.Processes()); n != 2 {
		t.Errorf("got %d processes, want 2", n)
	}
}

// Secrets in a child's environment are masked in answers and in the log, whatever their names.
func TestSecretsInTheEnvironment(t *testing.T) {
	t.Parallel()
	const token, password = "plain-words-only", "tr0ub4dor&3"
	for _, mode := range []string{"all", "secrets"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			entry := append(gatewaytest.Command(t, program), "env:", fmt.Sprintf("  FARM_TOKEN: %q", token), fmt.Sprintf("  DB_PASSWORD: %q", password), "  REGION: north")
			f := gatewaytest.Start(t, "", append(entry, "redact: "+mode)...)
			client := f.Client(t, testkit.Legacy)
			var said strings.Builder
			for _, fault := range []string{"leak-environ", "leak-environ-and-exit"} {
				program.Next(testkit.OrderCreate, fault)
				a, err := client.Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs)
				if err != nil {
					t.Fatal(err)
				}
				if e := gatewaytest.Record(t, a); e.Effect != recourse.EffectUnknown {
					t.Errorf("%s: got %s", fault, a.Body)
				}
				said.Write(a.Body)
			}
			testkit.Eventually(t, "the log tells", func() bool { return strings.Contains(f.Log.String(), "process ended") })
			for _, secret := range []string{token, password, "tr0ub4dor"} {
				if strings.Contains(said.String(), secret) {
					t.Errorf("%q is in the answers: %s", secret, said.String())
				}
				if strings.Contains(f.Log.String(), secret) {
					t.Errorf("%q is in the log: %s", secret, f.Log)
				}
			}
			if !strings.Contains(said.String(), "north") {
				t.Errorf("harmless text is masked: %s", said.String())
			}
		})
	}
}

// A large answer of a program reaches clients of both eras with the client's own id, even if the server writes the id
// last. This is a sample: half of the pairs for each place of the id.
func TestLargeAnswersOfPrograms(t *testing.T) {
	t.Parallel()
	testLargeAnswersOfPrograms(t)
}

// The other pairs.
func TestLongLargeAnswersOfPrograms(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testLargeAnswersOfPrograms(t)
}

func testLargeAnswersOfPrograms(t *testing.T) {
	t.Helper()
	for row, c := range []struct{ client, child testkit.Era }{
		{testkit.Legacy, testkit.Legacy},
		{testkit.Legacy, testkit.Modern},
		{testkit.Modern, testkit.Legacy},
		{testkit.Modern, testkit.Modern},
	} {
		for column, fault := range []string{"large", "large-id-last"} {
			if !testkit.Sampled(t, row/2+row+column, 2) {
				continue
			}
			t.Run(c.client.String()+" to "+c.child.String()+"/"+fault, func(t *testing.T) {
				t.Parallel()
				const size = 3 << 20
				program := child.NewProgram(t)
				client := gatewaytest.Start(t, "", append(gatewaytest.CommandFor(t, program, c.child), "timeout: 10s")...).Client(t, c.client)
				client.Keep = 2 * size
				program.Next("sleep", fault)
				body, header := client.Message(`"an id of the client's"`, "tools/call", fmt.Sprintf(`{"name":"sleep","arguments":{"n":%d}}`, size))
				a, err := client.Post(t.Context(), body, header)
				if err != nil || a.Message == nil || len(a.Message.Result) < size || string(a.Message.ID) != `"an id of the client's"` {
					t.Errorf("got %v, HTTP %d, %d bytes: %.200s", err, a.Status, a.Size, a.Body)
				}
			})
		}
	}
}
