package systems_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// ownID matches the gateway's ids of requests, which may hold any digits.
var ownID = regexp.MustCompile(`req-[0-9a-f]{24}`)

// What a server with the commerce contract says of people does not reach the client: by its form in any script, by the
// label before it, or because it stands in the call's own arguments.
func TestCommerceTellsNothingOfPeople(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	const tool = "create-sales-order"
	srv.SetTools(testkit.Tool{Name: tool})
	g, _ := gatewaytest.New(t, fmt.Sprintf("servers:\n  shop: {url: %s, contract: commerce}\n", srv.URL()))
	client := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/shop/mcp"}).Client(t, testkit.Legacy)
	const arguments = `{"reference":"A-1","amount":1,"customer":{"name":"Max Mustermann","firstName":"Żaneta","lastName":"Ćwik"},` +
		`"shippingAddress":{"street":"Hauptstraße 12","city":"Görlitz","zip":"02826"}}`
	for said, leaks := range map[string][]string{
		"Customer jörg@exämple.de not found":             {"jörg", "exämple"},
		"the mail to 用户@例子.公司 failed":                    {"用户", "例子"},
		"o'brien@müller-söhne.co.uk bounced":             {"brien", "müller"},
		"phone: +49 170/123 45 67 refused":               {"170", "45 67"},
		"Tel. 0170 / 1234567 is not reachable":           {"0170", "1234567"},
		"account number 123/456/789 is closed":           {"123", "789"},
		"card number: 4111 1111 1111 1111 declined":      {"4111", "1111"},
		"DOB: 01/02/1980 is too young":                   {"1980"},
		"Max Mustermann, Hauptstraße 12, 02826 Görlitz?": {"Mustermann", "Hauptstraße", "Görlitz"},
		"no parcel for Żaneta Ćwik":                      {"Żaneta", "Ćwik"},
	} {
		quoted, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		object := fmt.Sprintf(`{"code":4001,"message":%s,"retryable":false,"details":{"context":{"note":%[1]s}}}`, quoted)
		text, err := json.Marshal(said + " " + object)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range []string{
			`{"content":[],"isError":true,"error":` + object + `}`,
			`{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true}`,
			`{"content":[{"type":"text","text":` + string(text) + `}],"isError":true}`,
		} {
			srv.Always(tool, faults.Result("said", result))
			a, err := client.Call(t.Context(), tool, arguments)
			if err != nil {
				t.Fatal(err)
			}
			body := ownID.ReplaceAllString(string(a.Body), "")
			for _, leak := range leaks {
				if strings.Contains(body, leak) {
					t.Errorf("%s: %q is shown: %s", said, leak, a.Body)
				}
			}
			if !strings.Contains(string(a.Body), "[personal data]") && !strings.Contains(string(a.Body), "[credential]") {
				t.Errorf("%s: nothing is masked: %s", said, a.Body)
			}
		}
	}
}
