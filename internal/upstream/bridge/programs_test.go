package bridge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// shares are the values of share, for subtests.
var shares = []string{"all", "client"}

// pidOf returns the id of the process that answers a client.
func pidOf(t *testing.T, client *testkit.Client) string {
	t.Helper()
	a, err := client.Call(context.Background(), "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	result, err := a.ToolResult()
	if err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	return result.Text()
}

// Clients of both eras get answers from programs of both eras.
func TestErasOfAProgram(t *testing.T) {
	t.Parallel()
	for _, of := range testkit.Eras {
		for _, share := range shares {
			t.Run(of.String()+"/share "+share, func(t *testing.T) {
				t.Parallel()
				f := gatewaytest.Start(t, "", append(gatewaytest.CommandFor(t, child.NewProgram(t), of), "share: "+share, "timeout: 10s")...)
				for _, era := range testkit.Eras {
					client := f.Client(t, era)
					a := client.MustRequest(t, "1", "tools/list", `{}`)
					if a.Message == nil || !strings.Contains(string(a.Message.Result), testkit.GetField) {
						t.Errorf("tools/list of a client of the %s: got %s", era, a.Body)
					}
					a = client.MustRequest(t, "2", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, testkit.GetField, testkit.FieldArgs))
					result, err := a.ToolResult()
					if err != nil || (result.ResultType == "complete") != (era == testkit.Modern) {
						t.Errorf("tools/call of a client of the %s: got %v in %s", era, err, a.Body)
					}
				}
			})
		}
	}
}

// With share: client, each credential has its own process, in both eras of the program.
func TestProcessesOfModernClients(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run("program of the "+era.String(), func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.Start(t, "", append(gatewaytest.CommandFor(t, child.NewProgram(t), era), "share: client", "timeout: 10s")...)
			var mu sync.Mutex
			pids := map[string]string{} // by token
			var calls sync.WaitGroup
			for i := range 12 {
				token := fmt.Sprintf("t%d", i%3)
				calls.Go(func() {
					pid := pidOf(t, f.As(t, testkit.Modern, "Authorization", "Bearer "+token))
					mu.Lock()
					defer mu.Unlock()
					if other := pids[token]; other != "" && other != pid {
						t.Errorf("client %s got the processes %s and %s", token, other, pid)
					}
					pids[token] = pid
				})
			}
			calls.Wait()
			distinct := map[string]bool{}
			for _, pid := range pids {
				distinct[pid] = true
			}
			if len(distinct) != 3 {
				t.Errorf("got processes %v for three clients", pids)
			}
			if strings.Contains(f.Log.String(), "Bearer") {
				t.Errorf("credentials are in the log: %s", f.Log)
			}
		})
	}
}

// An idle process ends, and its client gets another one.
func TestIdleProcessesOfModernClients(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run("program of the "+era.String(), func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.Start(t, "", append(gatewaytest.CommandFor(t, child.NewProgram(t), era), "share: client", "idle: 200ms", "timeout: 10s")...)
			client := f.As(t, testkit.Modern, "Authorization", "Bearer a")
			first := pidOf(t, client)
			testkit.Eventually(t, "it is stopped", func() bool {
				return strings.Contains(f.Log.String(), `"process stopped","server":"farm","pid":`+first)
			})
			if again := pidOf(t, client); again == first {
				t.Errorf("the old process %s answers again", again)
			}
		})
	}
}

// A client may change its credentials within a session, since the program does not see them.
func TestCredentialsThatChangeWithinASession(t *testing.T) {
	t.Parallel()
	for _, of := range testkit.Eras {
		for _, share := range shares {
			t.Run(of.String()+"/share "+share, func(t *testing.T) {
				t.Parallel()
				f := gatewaytest.Start(t, "", append(gatewaytest.CommandFor(t, child.NewProgram(t), of), "share: "+share, "timeout: 10s")...)
				client := f.Client(t, testkit.Legacy)
				for _, token := range []string{"a", "b", "b", "a"} {
					client.Header = http.Header{"Authorization": {"Bearer " + token}}
					if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
						t.Errorf("with %s: got %+v, %v", token, a, err)
					}
				}
			})
		}
	}
}

// A host of the legacy era can use a program of the modern era.
func TestLegacyHostOfModernProgram(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run(share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			g, _ := gatewaytest.New(t, "servers:\n  farm:\n    "+strings.Join(append(gatewaytest.CommandFor(t, program, testkit.Modern),
				"share: "+share, "timeout: 20s", "tools: {get_field: {read_only: true}, sleep: {read_only: true}}"), "\n    ")+"\n")
			h := gatewaytest.StartHost(t, g)
			h.Initialize()
			h.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"n":2},"_meta":{"progressToken":"p"}}}`)
			for _, want := range []string{"method notifications/progress", "method notifications/progress", "1 done"} {
				if m := h.Next(); m.Outcome() != want {
					t.Errorf("got %s, want %s", m.Outcome(), want)
				}
			}
			program.Next(testkit.GetField, "exit")
			h.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_field","arguments":` + testkit.FieldArgs + `}}`)
			if m := h.Next(); !strings.HasPrefix(m.Outcome(), `2 {"field_id"`) {
				t.Errorf("after the crash: got %s", m.Outcome())
			}
			program.Next("sleep", "never")
			h.Send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sleep","arguments":{}}}`)
			testkit.Eventually(t, "the call is under way", func() bool { return program.Calls("sleep") == 1 })
			h.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
			testkit.Eventually(t, "the program is told", func() bool {
				h.Send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"cancelled","arguments":{}}}`)
				m := h.Next()
				return m.Outcome() != "4 "
			})
		})
	}
}
