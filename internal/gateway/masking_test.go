package gateway_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A contract's mask applies to all its failures, even to values that the caller wrote.
func TestMaskOfAContract(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, fmt.Sprintf("servers:\n  farm:\n    url: %s\n    contract: discreet\n    redact: secrets\n", srv.URL()),
		"form: 1\nname: discreet\nextends: recourse\nmask: [personal, addresses]\ncodes: []\n")
	client := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}).Client(t, testkit.Modern)
	srv.Always(testkit.OrderCreate, faults.Result("said", `{"isError":true,"content":[{"type":"text",`+
		`"text":"ada@example.com at 10.1.2.3:80 paid with 4111 1111 1111 1111"}],"structuredContent":{"customer":{"lastName":"Lovelace"}}}`))
	a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"ada@example.com 10.1.2.3:80","amount":1}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{"ada@", "10.1.2.3", "4111 1111", "Lovelace"} {
		if strings.Contains(string(a.Body), leak) {
			t.Errorf("%s is shown: %s", leak, a.Body)
		}
	}
	if !strings.Contains(string(a.Body), "[personal data] at [address] paid with [personal data]") {
		t.Errorf("got %s, want the rest of the sentence", a.Body)
	}
}

// leak is recognised as a secret by its context, and form by its form.
const (
	leak = "n0rth-f1eld-9"
	form = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
)

// A surface is an answer of a server with a secret somewhere, and with ID for the request's id.
type surface struct{ name, answer string }

func surfaces() []surface {
	result := func(result string) string { return `{"jsonrpc":"2.0","id":ID,"result":` + result + `}` }
	text := func(texts ...string) string {
		blocks := make([]string, len(texts))
		for i, t := range texts {
			blocks[i] = fmt.Sprintf(`{"type":"text","text":%q}`, t)
		}
		return result(`{"isError":true,"content":[` + strings.Join(blocks, ",") + `]}`)
	}
	failed := func(members string) string {
		return result(`{"isError":true,"content":[{"type":"text","text":"It failed."}],` + members + `}`)
	}
	rpc := func(code int, message, data string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":%q,"data":%s}}`, code, message, data)
	}
	blob := func(s string) string {
		return `{"isError":true,"content":[{"type":"resource","resource":{"uri":"x:y","blob":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}}]}`
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	last := "data: " + result(`{"content":[]}`) + "\n\n"
	event := func(message string) string { return head + "data: " + message + "\n\n" + last }
	note := func(method, params string) string {
		return event(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
	}
	return []surface{
		{"text", text("password=" + leak)},
		{"text, twice", text("a", "token "+form)},
		{"split at the sign", text("password:", leak)},
		{"split after the sign", text("the password is", leak)},
		{"split in the middle", text("key "+form[:20], form[20:])},
		{"split with a line", text("password:\n", "  "+leak)},
		{"split, three", text("api_key", "=", form)},
		{"password and a line", text("password:\n  " + leak)},
		{"lone surrogate", result(`{"isError":true,"content":[{"type":"text","text":"\ud800 password=` + leak + `"}]}`)},
		{"lone surrogate elsewhere", failed(`"x":"\udc00","structuredContent":{"password":"` + leak + `"}`)},
		{"repeated member", result(`{"isError":true,"content":[{"type":"text","text":"a","text":"password=` + leak + `"}]}`)},
		{"repeated content", result(`{"content":[],"isError":true,"content":[{"type":"text","text":"password=` + leak + `"}]}`)},
		{"repeated anywhere", failed(`"a":{"b":1,"b":2},"structuredContent":{"note":"password=` + leak + `"}`)},
		{"isError twice", result(`{"isError":true,"content":[{"type":"text","text":"password=` + leak + `"}],"isError":false}`)},
		{"isError a text", result(`{"isError":"true","content":[{"type":"text","text":"password=` + leak + `"}]}`)},
		{"isError a number", result(`{"isError":1,"content":[{"type":"text","text":"password=` + leak + `"}]}`)},
		{"isError an object", result(`{"isError":{},"content":[{"type":"text","text":"password=` + leak + `"}]}`)},
		{"string result", result(`"password=` + leak + `"`)},
		{"list result", result(`["password=` + leak + `"]`)},
		{"content a text", result(`{"isError":true,"content":"password=` + leak + `"}`)},
		{"content an object", result(`{"isError":true,"content":{"text":"password=` + leak + `"}}`)},
		{"structured", failed(`"structuredContent":{"db":{"password":"` + leak + `"}}`)},
		{"structured list", failed(`"structuredContent":{"secrets":["` + leak + `"]}`)},
		{"structured number", failed(`"structuredContent":{"pin_code":48213377}`)},
		{"pair", failed(`"structuredContent":{"env":[{"name":"DB_PASSWORD","value":"` + leak + `"}]}`)},
		{"pair, value first", failed(`"structuredContent":{"headers":[{"value":"` + leak + `","key":"Authorization"}]}`)},
		{"pair of an object", failed(`"structuredContent":[{"name":"password","value":{"plain":"` + leak + `"}}]`)},
		{"two in a list", failed(`"structuredContent":{"h":[["X-Api-Key","` + leak + `"]]}`)},
		{"arguments", failed(`"structuredContent":{"argv":["run","--password","` + leak + `"]}`)},
		{"arguments, equals", failed(`"structuredContent":{"argv":["run","--password=` + leak + `"]}`)},
		{"arguments of curl", failed(`"structuredContent":{"argv":["curl","-u","bob:` + leak + `"]}`)},
		{"name of a member", failed(`"structuredContent":{"` + form + `":1}`)},
		{"name with a pair", failed(`"structuredContent":{"password=` + leak + `":1}`)},
		{"error member", failed(`"error":{"code":"X","message":"password=` + leak + `"}`)},
		{"meta", failed(`"_meta":{"trace":"password=` + leak + `"}`)},
		{"other member", failed(`"debug":"password=` + leak + `"`)},
		{"JSON in a text", text(`{"error":true,"message":"no","env":[{"name":"TOKEN","value":"` + leak + `"}]}`)},
		{"JSON in JSON", text(`{"body":"{\"password\":\"` + leak + `\"}"}`)},
		{"blob", result(blob("password=" + leak))},
		{"blob with a form", result(blob("use " + form))},
		{"data of an image", result(`{"isError":true,"content":[{"type":"image","mimeType":"text/plain","data":"` + base64.StdEncoding.EncodeToString([]byte("password="+leak)) + `"}]}`)},
		{"resource link", result(`{"isError":true,"content":[{"type":"resource_link","uri":"https://u:` + leak + `@x.example.com/","name":"a"}]}`)},
		{"record", failed(`"_meta":{"io.github.recoursehq/error":{"v":1,"kind":"internal","message":"password=` + leak + `","hints":["try ` + form + `"]}}`)},
		{"record's details", failed(`"_meta":{"io.github.recoursehq/error":{"v":1,"kind":"internal","details":{"token":"` + leak + `"}}}`)},
		{"record's code", failed(`"_meta":{"io.github.recoursehq/error":{"v":1,"kind":"internal","code":"` + form + `","upstream":{"code":"` + form + `"}}}`)},
		{"RPC message", rpc(-32000, "password="+leak, "null")},
		{"RPC data", rpc(-32000, "no", `{"password":"`+leak+`"}`)},
		{"RPC data, a text", rpc(-32000, "no", `"password=`+leak+`"`)},
		{"RPC of the protocol", rpc(-32602, "bad", `{"got":{"api_key":"`+leak+`"}}`)},
		{"RPC with a record", rpc(-32603, "no", `{"v":1,"kind":"internal","message":"password=`+leak+`"}`)},
		{"elicitation by URL", rpc(-32042, "password="+leak, `{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://x.example.com/","message":"token `+form+`"}]}`)},
		{"known, in the URL of a question", rpc(-32042, "go", `{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://x.example.com/?k=kn0wn-secret-7","message":"m"}]}`)},
		{"input required", result(`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"password=` + leak + `","requestedSchema":{"type":"object","properties":{}}}}}}`)},
		{"question in a text", text(`{"kind":"needsInput:v1","message":"password=` + leak + `","needsInput":{"fields":["a"],"reason":"r"}}`)},
		{"log", note("notifications/message", `{"level":"info","data":"password=`+leak+`"}`)},
		{"log, structured", note("notifications/message", `{"level":"error","logger":"x","data":{"password":"`+leak+`"}}`)},
		{"progress", note("notifications/progress", `{"progressToken":"t","progress":1,"message":"token `+form+`"}`)},
		{"own notification", note("notifications/x", `{"password":"`+leak+`"}`)},
		{"elicitation", event(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"password=` + leak + `","requestedSchema":{"type":"object","properties":{}}}}`)},
		{"comment", head + ": password=" + leak + "\n\n" + last},
		{"comment in an event", head + ": password=" + leak + "\n" + last},
		{"event of another type", head + "event: debug\ndata: password=" + leak + "\n\n" + last},
		{"headers", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nAuthorization: Bearer " + leak + "\r\nX-Backend: " + leak + "\r\nX-Debug: " + form + "\r\n\r\n" + result(`{"content":[]}`)},
		{"status 500", "HTTP/1.1 500 No\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\npassword=" + leak},
		{"status 400, JSON", "HTTP/1.1 400 No\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + `{"error":"password=` + leak + `"}`},
		{"zero width", text("pass\u200bword=" + leak)},
		{"marks of direction", text("pass\u202eword=\u2066" + leak)},
		{"known, in base64", text("it is " + base64.StdEncoding.EncodeToString([]byte("x kn0wn-secret-7 y")))},
		{"known, reversed", text("it is 7-terces-nw0nk")},
		{"secret argument", text("no " + "h1dden-argument" + " here")},
	}
}

// Secrets are masked wherever a server puts them.
func TestSurfaces(t *testing.T) {
	t.Parallel()
	all := surfaces()
	masked := 0
	for _, s := range all {
		full := s.answer
		if !strings.HasPrefix(full, "HTTP/") {
			full = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + full
		}
		f := gatewaytest.Start(t, serveRaw(t, text(full)), "headers: {X-Farm-Key: kn0wn-secret-7}", "timeout: 5s")
		client := f.Client(t, testkit.Modern)
		a, err := client.Call(t.Context(), "any", `{"password":"h1dden-argument"}`)
		if err != nil {
			t.Errorf("%s: got %v", s.name, err)
			continue
		}
		var events []string
		for _, e := range a.Events {
			events = append(events, e.Data)
		}
		shown := fmt.Sprint(a.Header, string(a.Body), f.Log, events)
		leaks := false
		for _, secret := range []string{
			leak, form, form[20:], "kn0wn-secret-7", "7-terces", "48213377", "h1dden-argument",
			base64.StdEncoding.EncodeToString([]byte("password=" + leak)), base64.StdEncoding.EncodeToString([]byte("use " + form)), "eCBrbjB3bi",
		} {
			leaks = leaks || strings.Contains(shown, secret)
		}
		if leaks {
			t.Logf("%s leaks: %s\n%s", s.name, shown, s.answer)
			continue
		}
		masked++
	}
	rate := 100 * float64(masked) / float64(len(all))
	t.Logf("%d of %d structures are masked: %.1f %%", masked, len(all), rate)
	if len(all) < 60 || masked < len(all) {
		t.Errorf("%.1f %% of %d structures are masked, want all of 60 at least", rate, len(all))
	}
}
