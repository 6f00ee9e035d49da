package inject_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A client reads each code of each contract as that code.
func TestEveryCode(t *testing.T) {
	t.Parallel()

	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var rules []string
				for _, code := range contractform.Of(c).Codes {
					if !code.Open {
						rules = append(rules, fmt.Sprintf("- {match: {arguments: {/code: %q}}, fault: {contract: %s, code: %q}}", code.Code, c.Name, code.Code))
					}
				}
				server := testkit.NewServer(t, testkit.InMemory())
				_, url := front(t, inject.MCP, server.URL(), "rules:\n"+strings.Join(rules, "\n"))
				client := connect(t, url, testkit.Modern)
				for _, code := range contractform.Of(c).Codes {
					if !code.Open {
						checkCode(t, c, client, code.Code)
					}
				}
			})
		})
	}
}

func checkCode(t *testing.T, c *contract.Contract, client *testkit.Client, code string) {
	t.Helper()
	a, err := client.Call(soon(t), testkit.Echo, fmt.Sprintf(`{"code":%q}`, code))
	if err != nil {
		t.Fatal(err)
	}
	reader := &contract.Reader{Contracts: []*contract.Contract{c}, Weak: c, Trusted: true}
	var reading contract.Reading
	switch {
	case a.Status >= 400:
		reading = reader.HTTP(a.Status, a.Header, a.Body)
	case a.Message == nil:
		t.Fatalf("%s: no message: %s", code, a.Body)
	case a.Message.Error != nil:
		reading = reader.RPC(fmt.Appendf(nil, `{"code":%d,"message":%q,"data":%s}`, a.Message.Error.Code, a.Message.Error.Message, a.Message.Error.Data))
	default:
		var failed bool
		if reading, failed = reader.Result(a.Message.Result); !failed {
			t.Errorf("%s is read as a success: %s", code, a.Message.Result)
			return
		}
	}
	kind := contractform.Of(c).Words[code].Kind
	if e := reading.Error(); e == nil || e.Code != code && (a.Status < 400 || e.Kind != kind) { // an HTTP form may omit the code
		t.Errorf("%s is read as %+v: %s", code, e, a.Body)
	}
}
