package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A failed call has one request id in the header, in the record and in the logs of all processes, whatever is behind the
// gateway.
func TestOneRequestID(t *testing.T) {
	t.Parallel()

	const given = "given-by-the-client.1"
	for name, begin := range map[string]func(t *testing.T) (f *gatewaytest.Front, logs []*gatewaytest.Log){
		"a program": func(t *testing.T) (*gatewaytest.Front, []*gatewaytest.Log) {
			t.Helper()
			f := gatewaytest.Start(t, "", author("fieldmcp")...)
			return f, []*gatewaytest.Log{f.Log}
		},
		"a program of each client": func(t *testing.T) (*gatewaytest.Front, []*gatewaytest.Log) {
			t.Helper()
			f := gatewaytest.Start(t, "", append(author("fieldmcp"), "share: client")...)
			return f, []*gatewaytest.Log{f.Log}
		},
		"a gateway in front of a program": func(t *testing.T) (*gatewaytest.Front, []*gatewaytest.Log) {
			t.Helper()
			inner := gatewaytest.Start(t, "", append(author("fieldmcp"), "contract: commerce")...)
			f := gatewaytest.Start(t, inner.URL)
			return f, []*gatewaytest.Log{f.Log, inner.Log}
		},
		"a server with its own id": func(t *testing.T) (*gatewaytest.Front, []*gatewaytest.Log) {
			t.Helper()
			f := gatewaytest.Start(t, testkit.Serve(t, http.HandlerFunc(servesOwnID)))
			return f, []*gatewaytest.Log{f.Log}
		},
		"a trusted server with its own id": func(t *testing.T) (*gatewaytest.Front, []*gatewaytest.Log) {
			t.Helper()
			f := gatewaytest.Start(t, testkit.Serve(t, http.HandlerFunc(servesOwnID)), "trusted: true")
			return f, []*gatewaytest.Log{f.Log}
		},
	} {
		for _, era := range testkit.Eras {
			t.Run(name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				f, logs := begin(t)
				c := testkit.NewClient(t, f.URL, era)
				if era == testkit.Legacy {
					c.MustInitialize(t)
				}
				for i, id := range []string{given, ""} {
					c.Header = http.Header{}
					if id != "" {
						c.Header.Set("X-Request-Id", id)
					}
					a, err := c.Call(t.Context(), "batch", fmt.Sprintf(`{"n":%d}`, 2+i))
					if err != nil {
						t.Fatal(err)
					}
					told := a.Header.Get("X-Request-Id")
					if id != "" && told != id || told == "" {
						t.Errorf("header: got %q, want %q", told, id)
					}
					if e := gatewaytest.Record(t, a); e.RequestID != told {
						t.Errorf("got %q in the record, %q in the header", e.RequestID, told)
					}
					for _, log := range logs {
						testkit.Eventually(t, told+" is in the log", func() bool { // the log is written after the answer
							return strings.Contains(log.String(), `"request_id":"`+told+`"`)
						})
					}
					if strings.Contains(name, "program") {
						testkit.Eventually(t, "the program logs it", func() bool {
							return strings.Contains(logs[len(logs)-1].String(), "request_id="+told)
						})
					}
				}
			})
		}
	}
}

// servesOwnID is a legacy server without sessions. It fails with a request id of its own.
func servesOwnID(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := `{"content":[{"type":"text","text":"no"}],"isError":true,"_meta":{"io.github.recoursehq/error":` +
		`{"v":1,"kind":"conflict","code":"conflict","contract":"recourse","message":"No.","requestId":"its-own"}}}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"batch","inputSchema":{"type":"object"}}]}`
	case "server/discover":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "its-own")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// A server's own request id never replaces the gateway's: not in an item of a batch, not in the data of an error for the
// client's program, and not even if the server is trusted.
func TestOneRequestIDInEveryForm(t *testing.T) {
	t.Parallel()

	record := func(kind string) string {
		return `{"v":1,"kind":"` + kind + `","code":"` + kind + `","contract":"recourse","message":"No.","requestId":"its-own"}`
	}
	failed := func(kind string) string { return `"failed":[{"id":"2","error":` + record(kind) + `}]` }
	nested := strings.TrimSuffix(record("partial"), "}") + "," + failed("not_found") + "}"
	batch := strings.TrimSuffix(record("partial"), "}") + `,"succeeded":[{"id":"1"}],"failed":[{"id":"2","error":` + nested + `}]}`
	result := func(record string) string {
		return `"result":{"content":[{"type":"text","text":"no"}],"isError":true,"_meta":{"io.github.recoursehq/error":` + record + `}}`
	}
	failure := func(code int, data string) string {
		return fmt.Sprintf(`"error":{"code":%d,"message":"No.","data":%s}`, code, data)
	}
	beside := func(record string) string { return `{"own":1,"io.github.recoursehq/error":` + record + `}` }
	versions := `{"supported":["2025-06-18"],"requested":"x",` + record("unsupported_version")[1:]
	answers := []string{
		result(record("conflict")), result(batch),
		failure(-32602, record("invalid_value")), failure(-32602, beside(record("invalid_value"))),
		failure(-32603, record("internal")), failure(-32603, beside(batch)),
		failure(-32601, record("unknown_method")), failure(-32601, beside(record("unknown_method"))),
		failure(-32022, versions),
	}
	srv := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Case      *int `json:"case"`
				Arguments struct {
					Case *int `json:"case"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		status, answer := http.StatusOK, `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		asked := m.Params.Case
		if asked == nil {
			asked = m.Params.Arguments.Case
		}
		switch {
		case m.Method == "tools/list":
			answer = `"result":{"tools":[{"name":"batch","inputSchema":{"type":"object"}}]}`
		case asked != nil:
			answer = answers[*asked/2]
			if *asked%2 == 1 {
				status = http.StatusBadRequest
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	}))
	for _, trusted := range []string{"trusted: false", "trusted: true"} {
		t.Run(trusted, func(t *testing.T) {
			t.Parallel()
			c := gatewaytest.Start(t, srv, trusted).Client(t, testkit.Legacy)
			c.Header = http.Header{"X-Request-Id": {"the-gateways"}}
			for i := range 2 * len(answers) {
				for method, params := range map[string]string{
					"tools/call":   fmt.Sprintf(`{"name":"batch","arguments":{"case":%d}}`, i),
					"prompts/list": fmt.Sprintf(`{"case":%d}`, i),
				} {
					if strings.HasPrefix(answers[i/2], `"result"`) && (method != "tools/call" || i%2 == 1) {
						continue // a success, or an invalid answer
					}
					a, err := c.Request(t.Context(), method, params)
					if err != nil {
						t.Fatal(err)
					}
					var body any
					if err := json.Unmarshal(a.Body, &body); err != nil {
						t.Fatal(err)
					}
					for _, at := range named(body, "") {
						t.Errorf("%s, answer %d: got the server's id at %s: %s", method, i, at, a.Body)
					}
					if strings.Contains(answers[i/2], `"supported"`) && !strings.Contains(string(a.Body), `"supported":["2025-06-18"]`) {
						t.Errorf("%s: the supported versions are lost: %s", method, a.Body)
					}
				}
			}
		})
	}
}

// named returns the places of the server's own request id, except where it is marked as the server's.
func named(v any, at string) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if name == "requestId" && value == "its-own" && !strings.HasSuffix(at, "/upstream") {
				found = append(found, at)
			}
			found = append(found, named(value, at+"/"+name)...)
		}
	case []any:
		for i, value := range v {
			found = append(found, named(value, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return found
}
