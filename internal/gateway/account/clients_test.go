package account_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// Clients of both TypeScript SDKs are asked to show the link.
func TestTypeScriptShowsTheLink(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sdk sdk.TypeScript
		era testkit.Era
	}{{sdk.TSv1, testkit.Legacy}, {sdk.TSv2, testkit.Legacy}, {sdk.TSv2, testkit.Modern}} {
		t.Run(fmt.Sprint(test.sdk, " ", test.era), func(t *testing.T) {
			t.Parallel()
			client := sdk.NewTSClient(t, test.sdk)
			srv := testkit.NewServer(t)
			f := startWithAccounts(t, srv, "api_key", "")
			if _, err := client.Connect(t.Context(), sdk.TSConnect{URL: f.url + "/farm/mcp", Era: test.era, Capabilities: showsLinks}); err != nil {
				t.Fatal(err)
			}
			a, err := f.client(t, testkit.Modern).Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil {
				t.Fatal(err)
			}
			link := f.linkIn(t, a.Result(t).Text()) // the link of all callers without credentials
			if test.era == testkit.Modern {
				go func() {
					if f.log.Until(func(text string) bool { return strings.Contains(text, "asked to show its person the link") }) {
						enterKey(t, link)
					}
				}()
			}
			result, err := client.CallTool(t.Context(), testkit.Echo, `{"message":"m"}`, 0)
			if test.era == testkit.Legacy {
				thrown, ok := errors.AsType[*sdk.TSError](err)
				if !ok || thrown.Code != "-32042" {
					t.Fatalf("got %s, %v", result, err)
				}
				var data shownLinks
				if err := json.Unmarshal(thrown.Data, &data); err != nil || len(data.Elicitations) != 1 || data.Elicitations[0].URL != link {
					t.Fatalf("got %s, %v", thrown.Data, err)
				}
				enterKey(t, link)
				isNotice := func(text json.RawMessage) bool {
					return strings.Contains(string(text), data.Elicitations[0].ElicitationID)
				}
				for !slices.ContainsFunc(client.Notifications(), isNotice) {
					if _, err := client.ListTools(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				result, err = client.CallTool(t.Context(), testkit.Echo, `{"message":"m"}`, 0)
			}
			if err != nil || !strings.Contains(string(result), `"m"`) {
				t.Errorf("got %s, %v", result, err)
			}
		})
	}
}

// A host on stdio is asked to show the link. In the legacy era it is notified when the account is connected.
func TestHostShowsTheLink(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startWithAccounts(t, srv, "api_key", "")
	h := gatewaytest.StartHost(t, f.gateway)
	h.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + showsLinks + `,"clientInfo":{"name":"host","version":"1"}}}`)
	h.Next()
	h.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	call := `"method":"tools/call","params":{"name":"echo","arguments":{"message":"m"}}}`
	h.Send(`{"jsonrpc":"2.0","id":2,` + call)
	m := h.Next()
	var data shownLinks
	if m.Error == nil || m.Error.Code != -32042 || json.Unmarshal(m.Error.Data, &data) != nil || len(data.Elicitations) != 1 {
		t.Fatalf("got %+v", m)
	}
	_, path, _ := strings.Cut(data.Elicitations[0].URL, "/connect/")
	enterKey(t, f.url+"/connect/"+path) // a host's link has no address, since the gateway does not know its own
	if m = h.Next(); m.Method != "notifications/elicitation/complete" || !strings.Contains(string(m.Params), data.Elicitations[0].ElicitationID) {
		t.Fatalf("got %+v", m)
	}
	h.Send(`{"jsonrpc":"2.0","id":3,` + call)
	if m = h.Next(); m.Outcome() != "3 m" {
		t.Errorf("got %+v", m)
	}
}
