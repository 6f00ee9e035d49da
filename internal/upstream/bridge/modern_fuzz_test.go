package bridge_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// A modernEra is a connection to a server of the modern era. The server refuses initialize, describes itself to
// server/discover, and answers anything else with status, header and body.
type modernEra struct {
	tb     testing.TB
	status int
	header http.Header
	body   string
}

// Do checks that every request but initialize is of the modern era.
func (n *modernEra) Do(_ context.Context, r *upstream.Request) (*wire.Answer, error) {
	header, body := r.Header, textOf(r)
	var m wire.Message
	if err := wire.Parse(body, &m); err != nil {
		n.tb.Errorf("an invalid message reaches the server: %v: %q", err, body)
	}
	era, err := wire.CheckHeaders(header, &m)
	switch {
	case m.Method == wire.MethodInitialize && era == wire.Legacy:
		return reply(http.StatusBadRequest, wire.TypeJSON, `{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"no"}}`), nil
	case err != nil || era != wire.Modern || header.Get(wire.HeaderSession) != "":
		n.tb.Errorf("%v: %s era, %v: %q", err, era, header, body)
	case m.Kind == wire.Request && m.ClientInfo == nil:
		n.tb.Errorf("the request has no clientInfo: %q", body)
	case m.Method == wire.MethodDiscover:
		return reply(http.StatusOK, wire.TypeJSON, string(wire.AppendResult(nil, m.ID,
			[]byte(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true}}}`)))), nil
	}
	resp := reply(n.status, n.header.Get("Content-Type"), n.body)
	resp.Header = n.header.Clone()
	return resp, nil
}

func (n *modernEra) Name() string { return "The farm" }

func (n *modernEra) Close() {}

func reply(status int, contentType, body string) *wire.Answer {
	return wire.OverHTTP(&http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {contentType}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	})
}

// Any bytes of a legacy client reach the server as a modern message, or are answered without it.
func FuzzRequestToModernServer(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[1]},"_meta":{"progressToken":1}}}`,
		` {"params" : { } ,"method":"x","id":"}","jsonrpc":"2.0"} `, `{"jsonrpc":"2.0","id":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":7,"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"\u00fc"}}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a"}}`, `{"id":`, `[]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var m wire.Message
		if wire.Parse(body, &m) == nil && m.Method == wire.MethodInitialize {
			return // the server refuses it
		}
		n := &modernEra{tb: t, status: http.StatusOK, header: http.Header{"Content-Type": {wire.TypeJSON}}, body: `{"jsonrpc":"2.0","id":1,"result":{}}`}
		b := newBridge(t, n, bridge.Options{})
		header := openOn(t, b)
		resp, err := b.Send(t.Context(), http.MethodPost, header, body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp); err != nil {
			t.Fatal(err)
		}
	})
}

// Any answer of a modern server ends for the client, and resultType, which only the modern era has, is left out.
func FuzzAnswerOfModernServer(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}}}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022}}`, `<html>`, ``,
		"id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\"}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"res",
	} {
		f.Add(http.StatusOK, strings.HasPrefix(text, "id:"), text)
		f.Add(http.StatusBadRequest, false, text)
	}
	f.Fuzz(func(t *testing.T, status int, events bool, text string) {
		if status < 100 || status > 599 {
			return
		}
		synctest.Test(t, func(t *testing.T) { // virtual time: the server may ask again and again
			n := &modernEra{tb: t, status: status, header: http.Header{"Content-Type": {wire.TypeJSON}}, body: text}
			if events {
				n.header["Content-Type"] = []string{wire.TypeEventStream}
			}
			b := newBridge(t, n, bridge.Options{})
			header := openOn(t, b)
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			resp, err := b.Send(ctx, http.MethodPost, header, callOf(1))
			if err != nil {
				return
			}
			got, err := io.ReadAll(resp)
			_ = resp.Close()
			var scan wire.Scanner
			if _, bad := scan.Write(got); err != nil || bad != nil || scan.Close() != nil {
				return
			}
			if signs := scan.Signs(); resp.Status == http.StatusOK && signs.ResultType != nil && !bytes.Contains(signs.Result.Of(got), []byte(`\`)) {
				t.Errorf("resultType is left in %q", got)
			}
		})
	})
}
