package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// Limits on what a client reads.
const (
	defaultKeep = 1 << 20   // bytes of a body that an Answer keeps
	maxBody     = 256 << 20 // bytes of a body that a client reads
)

// A Client sends MCP messages over HTTP and shows the answers unchanged. It repeats nothing, follows no
// redirect and hides nothing. Its fields may be set before the first message; its methods are safe for
// concurrent use.
type Client struct {
	// URL is the MCP endpoint.
	URL string
	// Era selects the headers and members of a message.
	Era Era
	// Version is the protocol version that messages name; the default is the era's newest.
	Version string
	// Header is sent with every message and overrides the client's own headers.
	Header http.Header
	// Keep is how many bytes of a body an [Answer] keeps; the default is 1 MiB. A longer answer is read to
	// its end and counted, but not parsed.
	Keep int64
	// Session is the Mcp-Session-Id; Initialize sets it.
	Session string
	// Capabilities is the JSON object with the client's capabilities; the default is elicitation.
	Capabilities string

	http *http.Client
	ids  atomic.Int64
}

// NewClient returns a client whose connections are closed when the test ends.
func NewClient(tb testing.TB, url string, era Era) *Client {
	tb.Helper()
	c := DialClient(url, era)
	tb.Cleanup(c.Close)
	return c
}

// DialClient returns a client. The caller closes it. Nothing is sent before the first message.
func DialClient(url string, era Era) *Client {
	transport := &http.Transport{
		DialContext:         Dial,
		MaxIdleConnsPerHost: 1024,
		DisableCompression:  true,
	}
	return &Client{URL: url, Era: era, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Clone returns a second client with the same settings, connections of its own and no session.
func (c *Client) Clone(tb testing.TB) *Client {
	tb.Helper()
	twin := NewClient(tb, c.URL, c.Era)
	twin.Version, twin.Keep, twin.Capabilities = c.Version, c.Keep, c.Capabilities
	twin.Header = c.Header.Clone()
	return twin
}

// Initialize starts a session of the legacy era: initialize, then notifications/initialized. The answer is
// initialize's. In the modern era it calls server/discover.
func (c *Client) Initialize(ctx context.Context) (*Answer, error) {
	if c.Era == Modern {
		return c.Request(ctx, protocol.MethodDiscover, `{}`)
	}
	answer, err := c.Request(ctx, protocol.MethodInitialize, `{"protocolVersion":`+protocol.Quote(c.version())+`,"capabilities":`+
		c.capabilities()+`,"clientInfo":`+clientInfo+`}`)
	if err != nil {
		return answer, err
	}
	if answer.Message == nil || answer.Message.Result == nil {
		return answer, fmt.Errorf("testkit: initialize: HTTP %d: %.200q: %w", answer.Status, answer.Body, errNoMessage)
	}
	c.Session = answer.Header.Get(protocol.HeaderSession)
	_, err = c.Notify(ctx, protocol.NotifyInitialized, "")
	return answer, err
}

// MustInitialize is [Client.Initialize] that fails the test unless the session is open.
func (c *Client) MustInitialize(tb testing.TB) {
	tb.Helper()
	if a, err := c.Initialize(context.Background()); err != nil || a.Status != http.StatusOK {
		tb.Fatalf("initialize: got %+v, %v", a, err)
	}
}

// ListTools calls tools/list.
func (c *Client) ListTools(ctx context.Context) (*Answer, error) {
	return c.Request(ctx, protocol.MethodListTools, `{}`)
}

// MustListTools is [Client.ListTools] that fails the test if there is no answer.
func (c *Client) MustListTools(tb testing.TB) *Answer {
	tb.Helper()
	a, err := c.ListTools(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// Call calls a tool with arguments, which are JSON; empty means none.
func (c *Client) Call(ctx context.Context, tool, arguments string) (*Answer, error) {
	return c.Request(ctx, protocol.MethodCallTool, callToolParams(tool, arguments))
}

// MustCall is [Client.Call] that fails the test if there is no answer.
func (c *Client) MustCall(tb testing.TB, tool, arguments string) *Answer {
	tb.Helper()
	a, err := c.Call(tb.Context(), tool, arguments)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// MustEcho calls a tool that reads, and fails the test unless that succeeds.
func (c *Client) MustEcho(tb testing.TB) {
	tb.Helper()
	if a := c.MustCall(tb, Echo, `{"message":"m"}`); !a.Succeeded() {
		tb.Errorf("got HTTP %d %s", a.Status, a.Body)
	}
}

// MustOrder calls a tool that writes, and fails the test if there is no answer.
func (c *Client) MustOrder(tb testing.TB) *Answer {
	tb.Helper()
	return c.MustCall(tb, OrderCreate, `{"reference":"A-17","amount":1}`)
}

// OpenCall calls a tool and returns the answer's events one by one, including those that a server sends
// before it answers.
func (c *Client) OpenCall(ctx context.Context, tool, arguments string) (*Stream, error) {
	return c.Open(ctx, protocol.MethodCallTool, callToolParams(tool, arguments))
}

func callToolParams(tool, arguments string) string {
	if arguments == "" {
		return protocol.Object("name", tool)
	}
	return `{"name":` + protocol.Quote(tool) + `,"arguments":` + arguments + `}`
}

// Request sends a request with a new id; params is a JSON object, or empty. In the modern era `_meta` and the
// headers are added, unless the params already have a `_meta`.
func (c *Client) Request(ctx context.Context, method, params string) (*Answer, error) {
	body, header := c.message(c.nextID(), method, params)
	return c.Post(ctx, body, header)
}

// MustRequest sends a request with this id, which is JSON, and fails the test if there is no answer.
func (c *Client) MustRequest(tb testing.TB, id, method, params string) *Answer {
	tb.Helper()
	body, header := c.message(id, method, params)
	a, err := c.Post(tb.Context(), body, header)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// Open sends a request as Request does and returns the answer's events one by one.
func (c *Client) Open(ctx context.Context, method, params string) (*Stream, error) {
	body, header := c.message(c.nextID(), method, params)
	return c.stream(ctx, http.MethodPost, body, header)
}

// OpenPost sends these bytes as [Client.Post] does and returns the answer's events one by one.
func (c *Client) OpenPost(ctx context.Context, body []byte, header http.Header) (*Stream, error) {
	return c.stream(ctx, http.MethodPost, body, header)
}

// Notify sends a notification; params is a JSON object, or empty.
func (c *Client) Notify(ctx context.Context, method, params string) (*Answer, error) {
	body, header := c.message("", method, params)
	return c.Post(ctx, body, header)
}

// Respond answers a request of the server; id and result are JSON.
func (c *Client) Respond(ctx context.Context, id json.RawMessage, result string) (*Answer, error) {
	return c.Post(ctx, []byte(protocol.Answer(id, result)), nil)
}

// MustRespond is [Client.Respond] that fails the test unless the answer is taken.
func (c *Client) MustRespond(tb testing.TB, id json.RawMessage, result string) {
	tb.Helper()
	if a, err := c.Respond(context.Background(), id, result); err != nil || a.Status != http.StatusAccepted {
		tb.Fatalf("responding: got %+v, %v", a, err)
	}
}

// Listen opens the GET stream of the legacy era; lastEventID may be empty.
func (c *Client) Listen(ctx context.Context, lastEventID string) (*Stream, error) {
	header := http.Header{"Accept": {protocol.TypeSSE}}
	if lastEventID != "" {
		header.Set(protocol.HeaderLastEventID, lastEventID)
	}
	return c.stream(ctx, http.MethodGet, nil, header)
}

// MustListen opens the stream on which a client hears that tools have changed.
func (c *Client) MustListen(ctx context.Context, tb testing.TB) *Stream {
	tb.Helper()
	var s *Stream
	var err error
	if c.Era == Legacy {
		s, err = c.Listen(ctx, "")
	} else {
		s, err = c.Open(ctx, protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`)
	}
	if err != nil || s.Status != http.StatusOK {
		tb.Fatalf("listen: got %+v, %v", s, err)
	}
	return s
}

// Delete ends the session.
func (c *Client) Delete(ctx context.Context) (*Answer, error) {
	return c.Send(ctx, http.MethodDelete, nil, nil)
}

// Post sends these bytes with the headers of the client's era and session, overridden by header.
func (c *Client) Post(ctx context.Context, body []byte, header http.Header) (*Answer, error) {
	return c.Send(ctx, http.MethodPost, bytes.NewReader(body), header)
}

// Send sends any HTTP request with the headers of the client's era and session, overridden by header. When
// the body of the answer breaks off, the part that arrived is returned together with the error.
func (c *Client) Send(ctx context.Context, method string, body io.Reader, header http.Header) (*Answer, error) {
	begun := time.Now()
	resp, err := c.do(ctx, method, body, header)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer := &Answer{Status: resp.StatusCode, Header: resp.Header, FirstByte: time.Since(begun)}
	limit := c.Keep
	if limit == 0 {
		limit = defaultKeep
	}
	answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, limit))
	answer.Size = int64(len(answer.Body))
	if err == nil {
		var rest int64
		rest, err = io.Copy((*tail)(answer), io.LimitReader(resp.Body, maxBody))
		answer.Size += rest
	}
	answer.Took = time.Since(begun)
	answer.parse()
	if err != nil {
		return answer, fmt.Errorf("testkit: read the answer: %w", err)
	}
	return answer, nil
}

func (c *Client) do(ctx context.Context, method string, body io.Reader, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL, body)
	if err != nil {
		return nil, fmt.Errorf("testkit: %w", err)
	}
	req.Header.Set("Accept", protocol.TypeJSON+", "+protocol.TypeSSE)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", protocol.TypeJSON)
	}
	if c.Era == Modern || c.Session != "" {
		req.Header.Set(protocol.HeaderVersion, c.version())
	}
	if c.Session != "" {
		req.Header.Set(protocol.HeaderSession, c.Session)
	}
	maps.Copy(req.Header, c.Header)
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = values // an empty list removes a header
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("testkit: %w", err)
	}
	return resp, nil
}

const clientInfo = `{"name":"testkit","version":"1.0.0"}`

func (c *Client) version() string {
	if c.Version != "" {
		return c.Version
	}
	return c.Era.Version()
}

func (c *Client) capabilities() string {
	if c.Capabilities != "" {
		return c.Capabilities
	}
	return `{"elicitation":{}}`
}

func (c *Client) nextID() string { return strconv.FormatInt(c.ids.Add(1), 10) }

// Message returns a request of the client's era and its headers, for tests that send it with changes. The id
// is JSON; an empty one makes a notification.
func (c *Client) Message(id, method, params string) ([]byte, http.Header) {
	return c.message(id, method, params)
}

func (c *Client) message(id, method, params string) ([]byte, http.Header) {
	header := make(http.Header)
	if c.Era == Modern {
		header.Set(protocol.HeaderMethod, method)
		var name string
		if json.Unmarshal(protocol.Member([]byte(params), "name"), &name) == nil && name != "" {
			header.Set(protocol.HeaderName, name)
		}
		if id != "" {
			params = c.withMeta(params)
		}
	}
	msg := `{"jsonrpc":"2.0",`
	if id != "" {
		msg += `"id":` + id + `,`
	}
	msg += `"method":` + protocol.Quote(method)
	if params != "" {
		msg += `,"params":` + params
	}
	return []byte(msg + "}"), header
}

// withMeta adds the members that every request of the modern era has, unless the params already have a
// `_meta`.
func (c *Client) withMeta(params string) string {
	if string(protocol.Member([]byte(params), "_meta")) != "null" {
		return params
	}
	meta := `"_meta":{"` + protocol.MetaVersion + `":` + protocol.Quote(c.version()) + `,"` + protocol.MetaClientInfo + `":` + clientInfo +
		`,"` + protocol.MetaCapabilities + `":` + c.capabilities() + `}`
	if params == "" || params == "{}" {
		return "{" + meta + "}"
	}
	return "{" + meta + "," + params[1:]
}
