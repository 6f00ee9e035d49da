package account_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Callers with tokens of an issuer cannot identify themselves on a page, but can connect with a device code.
func TestCodeForTokens(t *testing.T) {
	t.Parallel()
	issuer := testkit.NewIssuer(t)
	for flow, want := range map[string]string{"device_code": "with the code WDJB-MJHT-Q7Z9", "authorization_code": "No John Deere account is connected."} {
		t.Run(flow, func(t *testing.T) {
			t.Parallel()
			f := startWithAccounts(t, testkit.NewServer(t), flow, "access: {people: {jwt: {issuer: '"+issuer.URL+"', audience: [farm]}}}", "access: [people]")
			client := testkit.NewClient(t, f.url+"/farm/mcp", testkit.Modern)
			client.Header = http.Header{"Authorization": {"Bearer " + issuer.Token(t, nil)}}
			a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil {
				t.Fatal(err)
			}
			if text := a.Result(t).Text(); !strings.Contains(text, want) || strings.Contains(text, "/connect/") {
				t.Errorf("got %s", text)
			}
		})
	}
}

// The failure shows the code and the provider's page, also in the form in which clients show it to a person. The gateway
// notices when the code was entered.
func TestConnectByCode(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := startWithAccounts(t, srv, "device_code", "")
			a, err := f.client(t, era).Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil {
				t.Fatal(err)
			}
			const says = "[not_connected] No John Deere account is connected. Connect it at https://provider.test/activate with the code WDJB-MJHT-Q7Z9"
			if text := a.Result(t).Text(); !strings.HasPrefix(text, says) {
				t.Errorf("got %s", text)
			}
			if record := gatewaytest.Record(t, a); string(record.Details["connectCode"]) != `"WDJB-MJHT-Q7Z9"` {
				t.Errorf("got %+v", record)
			}
			client := f.linkClient(t, era)
			if a, err = client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				`"message":"No John Deere account is connected. Enter the code WDJB-MJHT-Q7Z9 on the page."`, `"url":"https://provider.test/activate"`,
			} {
				if !strings.Contains(string(a.Body), want) {
					t.Errorf("got %s", a.Body)
				}
			}
			if err := f.manager.Await(t.Context(), f.provider, "anybody", 0, nil); err != nil {
				t.Fatal(err)
			}
			client.MustEcho(t)
			if log := f.log.String(); strings.Contains(log, "device-secret") || strings.Contains(log, "fresh-1") {
				t.Errorf("the log shows a secret: %s", log)
			}
		})
	}
}
