package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A program keeps running as long as reloads do not change how it is started. Otherwise it ends after its last call, and
// new calls go to a new process.
func TestReloadOfAChild(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		for _, tt := range []struct {
			name, server string
			more         []string // of the entry
			processes    int
			ends         bool // the first process ends
		}{
			{"unchanged", "farm", nil, 1, false},
			{"keys for clients changed", "farm", []string{"mode: observe", "contract: fieldmcp"}, 1, false},
			{"keys for the start changed", "farm", []string{"title: Barn"}, 2, true},
			{"removed", "barn", nil, 1, true},
		} {
			t.Run(share+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				program := child.NewProgram(t)
				configuration := func(server string, more ...string) string {
					lines := slices.Concat(gatewaytest.Command(t, program), []string{"share: " + share}, more)
					return "servers:\n  " + server + ":\n    " + strings.Join(lines, "\n    ") + "\n"
				}
				g, _ := gatewaytest.New(t, configuration("farm"))
				f := &gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}
				client := f.Client(t, testkit.Legacy)
				calls := make(chan *testkit.Answer, 1)
				go func() {
					a, err := client.Call(t.Context(), "sleep", `{"n":500,"text":"well slept"}`)
					if err != nil {
						t.Error(err)
					}
					calls <- a
				}()
				testkit.Eventually(t, "the call runs", func() bool { return program.Calls("sleep") == 1 })
				gatewaytest.Reload(t, g, configuration(tt.server, tt.more...))
				if tt.server == "farm" {
					next := client
					if tt.processes > 1 { // the new process does not know the session
						next = f.Client(t, testkit.Legacy)
					}
					if a, err := next.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
						t.Errorf("the next call: got %+v, %v", a, err)
					}
				}
				if a := <-calls; !a.Succeeded() || !strings.Contains(string(a.Body), "well slept") || program.Calls("sleep") != 1 {
					t.Errorf("the call under way: got %d executions: %s", program.Calls("sleep"), a.Body)
				}
				if n := len(program.Processes()); n != tt.processes {
					t.Errorf("got %d processes", n)
				}
				first := program.Processes()[0]
				if tt.ends {
					testkit.Eventually(t, "the process of before ends", func() bool { return !child.GroupAlive(first) })
				}
				if alive := child.GroupAlive(first); alive == tt.ends {
					t.Errorf("the first process is alive: got %t", alive)
				}
			})
		}
	}
}
