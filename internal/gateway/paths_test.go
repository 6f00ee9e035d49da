package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Paths are matched as written: an unknown path and an invalid user are answered with 404.
func TestPathsAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, "servers:\n  farm: {url: '"+srv.URL()+"'}\n  user: {url: '"+srv.URL()+"', path: '/user/{user_id}/mcp'}\n")
	url := testkit.Serve(t, g)
	for path, status := range map[string]int{
		"/farm/mcp": http.StatusOK, "/farm%2fmcp": http.StatusNotFound, "/farm%2Fmcp": http.StatusNotFound, "/%66arm/mcp": http.StatusOK,
		"/user/ada/mcp": http.StatusOK, "/user/%2e%2e/mcp": http.StatusNotFound, "/user/%2e/mcp": http.StatusNotFound,
		"/user/a%2f..%2fb/mcp": http.StatusNotFound, "/user/a..b/mcp": http.StatusOK, "/user%2fada%2fmcp": http.StatusNotFound,
	} {
		c := testkit.NewClient(t, url+path, testkit.Legacy)
		if a, err := c.Request(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`); err != nil || a.Status != status {
			t.Errorf("%s: got HTTP %d, %v", path, a.Status, err)
		}
	}
}

// After a request with both Content-Length and Transfer-Encoding the connection is closed.
func TestRequestOfTwoLengths(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
	s := serve(t, g, 0)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	conn := s.dial(t, "POST /farm/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"3a\r\n"+body+"\r\n0\r\n\r\nGET /farm/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
	var got strings.Builder
	buffer := make([]byte, 4<<10)
	for {
		n, err := conn.Read(buffer)
		got.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	if text := got.String(); strings.Count(text, "HTTP/1.1 ") != 1 || !strings.Contains(text, "Connection: close") {
		t.Errorf("got %s", text)
	}
}
