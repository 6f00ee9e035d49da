package recourse_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
)

// get returns the error of a request to an address.
func get(ctx context.Context, tb testing.TB, address string) error {
	tb.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// closedPort returns an address where nobody listens.
func closedPort(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
	return address
}

func TestFromRealFailures(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		fail   func() error
		kind   recourse.Kind
		effect recourse.Effect
	}{
		"refused": {
			fail: func() error { return get(t.Context(), t, "http://"+closedPort(t)) },
			kind: recourse.KindUnreachable, effect: recourse.EffectNone,
		},
		"an unknown host name": {
			fail: func() error {
				resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
					return nil, errors.New("there is no network in a test")
				}}
				_, err := resolver.LookupHost(t.Context(), "host.invalid")
				return &url.Error{Op: "Get", URL: "http://host.invalid", Err: err}
			},
			kind: recourse.KindUnreachable, effect: recourse.EffectNone,
		},
		"a proxy that refuses": {
			fail: func() error {
				proxy := &url.URL{Scheme: "http", Host: closedPort(t)}
				client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
				resp, err := client.Get("https://host.invalid")
				if err == nil {
					resp.Body.Close()
				}
				return err
			},
			kind: recourse.KindUnreachable, effect: recourse.EffectNone,
		},
		"an untrusted certificate": {
			fail: func() error {
				server := httptest.NewUnstartedServer(http.NotFoundHandler())
				server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
				server.StartTLS()
				defer server.Close()
				return get(t.Context(), t, server.URL)
			},
			kind: recourse.KindUnreachable, effect: recourse.EffectNone,
		},
		"no TLS": {
			fail: func() error {
				server := httptest.NewServer(http.NotFoundHandler())
				defer server.Close()
				return get(t.Context(), t, strings.Replace(server.URL, "http:", "https:", 1))
			},
			kind: recourse.KindUnreachable, // net/http reports the same for a server that changes to plain HTTP after the handshake
		},
		"closed without an answer": {
			fail: func() error {
				return get(t.Context(), t, answering(t, func(conn net.Conn) { conn.Close() }))
			},
			kind: recourse.KindUnreachable,
		},
		"reset": {
			fail: func() error {
				return get(t.Context(), t, answering(t, func(conn net.Conn) {
					if tcp, ok := conn.(*net.TCPConn); ok {
						_ = tcp.SetLinger(0)
					}
					conn.Close()
				}))
			},
			kind: recourse.KindUnreachable,
		},
		"cut in the body": {
			fail: func() error {
				return get(t.Context(), t, answering(t, func(conn net.Conn) {
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
					conn.Close()
				}))
			},
			kind: recourse.KindUnreachable,
		},
		"no answer in time": {
			fail: func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				return get(ctx, t, answering(t, func(conn net.Conn) { <-ctx.Done(); conn.Close() }))
			},
			kind: recourse.KindTimeout,
		},
		"cancelled before it was sent": {
			fail: func() error {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
				return err
			},
			kind: recourse.KindCancelled, effect: recourse.EffectNone,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.fail()
			if err == nil {
				t.Fatal("did not fail")
			}
			e := recourse.From(fmt.Errorf("call: %w", err))
			if e.Kind != test.kind || e.Effect != test.effect {
				t.Errorf("%v (%T)\n got %s, effect %q, want %s, effect %q", err, errors.Unwrap(err), e.Kind, e.Effect, test.kind, test.effect)
			}
			if !errors.Is(e, err) || strings.Contains(e.Error(), "127.0.0.1") {
				t.Errorf("%v: the cause is lost or shown: %v", err, e)
			}
		})
	}
}

// An error that breaks a connection, whatever its number, does not tell whether the call took effect.
func TestFromBrokenConnections(t *testing.T) {
	t.Parallel()
	for _, number := range []syscall.Errno{
		syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
	} {
		for _, op := range []string{"read", "write", "close", "set"} {
			cause := &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, number)}
			for _, err := range []error{cause, fmt.Errorf("x: %w", cause), &url.Error{Op: "Post", URL: "u", Err: cause}, number} {
				if e := recourse.From(err); e.Kind != recourse.KindUnreachable || e.Effect != "" {
					t.Errorf("%v: %s, effect %q", err, e.Kind, e.Effect)
				}
			}
		}
	}
}

// answering returns the URL of a server that reads a request, and then does something other than answering.
func answering(tb testing.TB, then func(net.Conn)) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	tb.Cleanup(func() {
		listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 4096))
		then(conn)
	}()
	return "http://" + listener.Addr().String()
}

func TestFrom(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		err    error
		kind   recourse.Kind
		effect recourse.Effect
	}{
		"context canceled":        {err: context.Canceled, kind: "cancelled"},
		"deadline":                {err: fmt.Errorf("x: %w", context.DeadlineExceeded), kind: "timeout"},
		"deadline of a file":      {err: os.ErrDeadlineExceeded, kind: "timeout"},
		"a timeout of a URL":      {err: &url.Error{Op: "Get", URL: "u", Err: context.DeadlineExceeded}, kind: "timeout"},
		"a timeout by its method": {err: fmt.Errorf("x: %w", slow{}), kind: "timeout"},
		"reset":                   {err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, kind: "unreachable"},
		"broken pipe":             {err: fmt.Errorf("write: %w", syscall.EPIPE), kind: "unreachable"},
		"no route":                {err: syscall.EHOSTUNREACH, kind: "unreachable"},
		"no route to dial":        {err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, kind: "unreachable", effect: "none"},
		"no route to a proxy":     {err: &net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, kind: "unreachable", effect: "none"},
		"no route for SOCKS":      {err: &net.OpError{Op: "socks connect", Err: syscall.EHOSTUNREACH}, kind: "unreachable", effect: "none"},
		"a dial after a break":    {err: errors.Join(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &net.OpError{Op: "read", Err: syscall.ECONNRESET}), kind: "unreachable"},
		"two dials":               {err: errors.Join(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &net.DNSError{}), kind: "unreachable", effect: "none"},
		"no TLS":                  {err: tls.RecordHeaderError{Msg: "x", Conn: &net.TCPConn{}}, kind: "unreachable", effect: "none"},
		"TLS that ends":           {err: tls.RecordHeaderError{Msg: "x"}, kind: "unreachable"}, // the server may have acted on the request
		"HTTP in place of TLS":    {err: &url.Error{Op: "Post", URL: "u", Err: http.ErrSchemeMismatch}, kind: "unreachable"},
		"end of an answer":        {err: &url.Error{Op: "Post", URL: "u", Err: io.EOF}, kind: "unreachable"},
		"end of a text":           {err: fmt.Errorf("parse: %w", io.EOF), kind: "internal"},
		"a kind":                  {err: fmt.Errorf("x: %w", recourse.KindConflict), kind: "conflict"},
		"a syntax error":          {err: &json.SyntaxError{}, kind: "internal"},
		"anything":                {err: errors.New("password=hunter2"), kind: "internal"},
		"a question":              {err: &recourse.NeedsInput{Message: "Which field?", Fields: []string{"fieldId"}}, kind: "missing_param"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := recourse.From(test.err)
			if e.Kind != test.kind || e.Effect != test.effect || !errors.Is(e, test.err) {
				t.Errorf("got %s, effect %q, want %s, effect %q", e.Kind, e.Effect, test.kind, test.effect)
			}
			if strings.Contains(e.Error(), "hunter2") {
				t.Errorf("shows the cause: %v", e)
			}
		})
	}
	if recourse.From(nil) != nil {
		t.Error("From(nil) is not nil")
	}
	own := recourse.NotFound("field", "17")
	if got := recourse.From(errors.Join(io.EOF, fmt.Errorf("x: %w", own))); got != own {
		t.Errorf("a record in the chain is not returned unchanged: %v", got)
	}
	question := &recourse.NeedsInput{Message: "Which field?", Fields: []string{"fieldId"}}
	if got := recourse.From(question); got.Message != "Which field?" || got.Violations[0].Param != "fieldId" {
		t.Errorf("the question is lost: %+v", got)
	}
}

type slow struct{}

func (slow) Error() string { return "slow" }
func (slow) Timeout() bool { return true }

func answer(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

func TestFromHTTP(t *testing.T) {
	t.Parallel()

	bearer := func(params string) http.Header { return http.Header{"Www-Authenticate": {params}} }
	jsonBody := http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}}
	tests := map[string]struct {
		resp   *http.Response
		kind   recourse.Kind
		effect recourse.Effect
		code   string
		scopes []string
	}{
		"400":                 {resp: answer(400, nil, ""), kind: "client_error", effect: "none"},
		"401":                 {resp: answer(401, nil, ""), kind: "unauthenticated", effect: "none"},
		"401, expired":        {resp: answer(401, bearer(`Bearer realm="x", error="invalid_token"`), ""), kind: "token_expired", effect: "none", code: "invalid_token"},
		"402":                 {resp: answer(402, nil, ""), kind: "quota_exhausted"},
		"403":                 {resp: answer(403, nil, ""), kind: "permission_denied", effect: "none"},
		"403, scope":          {resp: answer(403, bearer(`Bearer ERROR="insufficient_scope", scope="ag1 ag2"`), ""), kind: "missing_scope", effect: "none", code: "insufficient_scope", scopes: []string{"ag1", "ag2"}},
		"403, scope, a token": {resp: answer(403, bearer(`Bearer scope=ag1, error=insufficient_scope`), ""), kind: "missing_scope", effect: "none", code: "insufficient_scope", scopes: []string{"ag1"}},
		"another parameter":   {resp: answer(401, bearer(`Bearer xerror="invalid_token", error_description="error=1"`), ""), kind: "unauthenticated", effect: "none"},
		"letters that grow":   {resp: answer(401, bearer(strings.Repeat("İ", 50)+` error=x`), ""), kind: "unauthenticated", effect: "none", code: "x"},
		"an open quote":       {resp: answer(401, bearer(`Bearer error="`), ""), kind: "unauthenticated", effect: "none"},
		"an end":              {resp: answer(401, bearer(`Bearer error=`), ""), kind: "unauthenticated", effect: "none"},
		"404":                 {resp: answer(404, nil, ""), kind: "not_found"},
		"405":                 {resp: answer(405, nil, ""), kind: "client_error", effect: "none"},
		"406":                 {resp: answer(406, nil, ""), kind: "client_error", effect: "none"},
		"408":                 {resp: answer(408, nil, ""), kind: "timeout"},
		"409":                 {resp: answer(409, nil, ""), kind: "conflict"},
		"410":                 {resp: answer(410, nil, ""), kind: "not_found"},
		"412":                 {resp: answer(412, nil, ""), kind: "conflict"},
		"413":                 {resp: answer(413, nil, ""), kind: "too_large", effect: "none"},
		"415":                 {resp: answer(415, nil, ""), kind: "client_error", effect: "none"},
		"418":                 {resp: answer(418, nil, ""), kind: "client_error"},
		"421":                 {resp: answer(421, nil, ""), kind: "client_error", effect: "none"},
		"422":                 {resp: answer(422, nil, ""), kind: "invalid_value"},
		"429":                 {resp: answer(429, nil, ""), kind: "rate_limited", effect: "none"},
		"500":                 {resp: answer(500, nil, ""), kind: "server_error"},
		"501":                 {resp: answer(501, nil, ""), kind: "not_implemented"},
		"502":                 {resp: answer(502, nil, ""), kind: "unavailable"},
		"503":                 {resp: answer(503, nil, ""), kind: "unavailable"},
		"504":                 {resp: answer(504, nil, ""), kind: "timeout"},
		"599":                 {resp: answer(599, nil, ""), kind: "server_error"},
		"a revoked grant":     {resp: answer(400, jsonBody, `{"error":"invalid_grant"}`), kind: "token_revoked", effect: "none", code: "invalid_grant"},
		"a code inside error": {resp: answer(500, jsonBody, `{"error":{"code":"db_down","message":"x"}}`), kind: "server_error", code: "db_down"},
		"a code beside error": {resp: answer(500, jsonBody, `{"error":"No such thing","errorCode":"E17"}`), kind: "server_error", code: "E17"},
		"a sentence":          {resp: answer(500, jsonBody, `{"error":"password is hunter2"}`), kind: "server_error"},
		"another media type":  {resp: answer(500, nil, `{"error":"db_down"}`), kind: "server_error"},
		"no body at all":      {resp: &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}}, kind: "server_error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := recourse.FromHTTP("Deere", test.resp)
			if e.Kind != test.kind || e.Effect != test.effect || e.Upstream.Code != test.code {
				t.Errorf("got %s, effect %q, code %q, want %s, effect %q, code %q", e.Kind, e.Effect, e.Upstream.Code, test.kind, test.effect, test.code)
			}
			if diff := cmp.Diff(test.scopes, e.MissingScopes); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
			if e.Provider != "Deere" || e.Origin != recourse.OriginProvider || e.Upstream.Status != test.resp.StatusCode {
				t.Errorf("provider %q, origin %s, status %d", e.Provider, e.Origin, e.Upstream.Status)
			}
			if !strings.HasSuffix(e.Message, ".") || strings.Contains(e.Error(), "hunter2") {
				t.Errorf("message %q", e.Message)
			}
			if test.code == "" {
				plain := recourse.FromStatus("Deere", test.resp.StatusCode)
				if plain.Kind != e.Kind || plain.Effect != e.Effect || plain.Message != e.Message {
					t.Errorf("FromStatus says %s, effect %q: %s", plain.Kind, plain.Effect, plain.Message)
				}
			}
		})
	}
	for _, status := range []int{200, 204, 302, 399} {
		if e := recourse.FromHTTP("Deere", answer(status, nil, "")); e != nil {
			t.Errorf("HTTP %d is %v", status, e)
		}
	}
}

func TestFromHTTPReadsALittle(t *testing.T) {
	t.Parallel()

	body := &counting{}
	e := recourse.FromHTTP("", &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{"X-Request-Id": {"up-1"}}, Body: io.NopCloser(body)})
	if body.read > 128<<10 || e.Upstream.RequestID != "up-1" {
		t.Errorf("read %d bytes, request id %q", body.read, e.Upstream.RequestID)
	}
	if n := len(e.Cause().Error()); n > 1000 {
		t.Errorf("the cause has %d bytes", n)
	}
}

// counting is an endless body.
type counting struct{ read int }

func (c *counting) Read(p []byte) (int, error) {
	c.read += len(p)
	return len(p), nil
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		date := func(d time.Duration) string { return now.Add(d).UTC().Format(http.TimeFormat) }
		tests := map[string]struct {
			value, date string
			want        time.Duration
		}{
			"seconds":                     {value: "7", want: 7 * time.Second},
			"spaces":                      {value: " 7 ", want: 7 * time.Second},
			"a fraction":                  {value: "1.5", want: 1500 * time.Millisecond},
			"zero":                        {value: "0"},
			"negative":                    {value: "-5"},
			"absent":                      {},
			"a word":                      {value: "soon"},
			"not a number":                {value: "NaN"},
			"endless":                     {value: "Inf", want: recourse.MaxWait},
			"absurd":                      {value: "99999999999999999999999", want: recourse.MaxWait},
			"a date":                      {value: date(90 * time.Second), want: 90 * time.Second},
			"a date in the past":          {value: date(-time.Hour)},
			"a date far away":             {value: date(10000 * time.Hour), want: recourse.MaxWait},
			"a month":                     {value: "2678400", want: 31 * 24 * time.Hour},
			"beyond the maximum":          {value: "2764800", want: 31 * 24 * time.Hour},
			"a date from another clock":   {value: date(time.Hour), date: date(time.Hour - time.Minute), want: time.Minute},
			"a date with an invalid Date": {value: date(time.Minute), date: "today", want: time.Minute},
			"a date before Date":          {value: date(time.Minute), date: date(time.Hour)},
		}
		for name, test := range tests {
			header := http.Header{}
			header.Set("Retry-After", test.value)
			header.Set("Date", test.date)
			got, ok := recourse.RetryAfter(header, now)
			if got != test.want || ok != (test.want > 0) {
				t.Errorf("%s: %v, %v, want %v", name, got, ok, test.want)
			}
			if e := recourse.FromHTTP("", answer(http.StatusTooManyRequests, header, "")); e.RetryAfter != test.want {
				t.Errorf("%s: got %v, want %v", name, e.RetryAfter, test.want)
			}
		}
	})
}

func TestReset(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
		tests := map[string]struct {
			status int
			header map[string]string
			kind   recourse.Kind
			want   time.Duration
		}{
			"seconds from now":       {429, map[string]string{"RateLimit-Reset": "30"}, "rate_limited", 30 * time.Second},
			"a time":                 {429, map[string]string{"X-RateLimit-Reset": unix(time.Minute)}, "rate_limited", time.Minute},
			"in milliseconds":        {429, map[string]string{"X-RateLimit-Reset": unix(time.Minute) + "000"}, "rate_limited", time.Minute},
			"another spelling":       {429, map[string]string{"x-rate-limit-reset": "5"}, "rate_limited", 5 * time.Second},
			"in the past":            {429, map[string]string{"X-RateLimit-Reset": unix(-time.Hour)}, "rate_limited", 0},
			"negative":               {429, map[string]string{"X-RateLimit-Reset": "-1"}, "rate_limited", 0},
			"a year":                 {429, map[string]string{"X-RateLimit-Reset": "31536000"}, "rate_limited", recourse.MaxWait},
			"the year 5000":          {429, map[string]string{"X-RateLimit-Reset": "95617584000"}, "rate_limited", recourse.MaxWait},
			"invalid numbers":        {429, map[string]string{"X-RateLimit-Reset": "NaN", "RateLimit-Reset": "soon"}, "rate_limited", 0},
			"Retry-After counts":     {429, map[string]string{"Retry-After": "7", "X-RateLimit-Reset": "30"}, "rate_limited", 7 * time.Second},
			"another clock":          {429, map[string]string{"Date": now.Add(time.Hour).UTC().Format(http.TimeFormat), "X-RateLimit-Reset": unix(time.Hour + time.Minute)}, "rate_limited", time.Minute},
			"403, nothing remaining": {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(time.Minute)}, "rate_limited", time.Minute},
			"403, some remaining":    {403, map[string]string{"X-RateLimit-Remaining": "4", "X-RateLimit-Reset": unix(time.Minute)}, "permission_denied", 0},
			"another status":         {500, map[string]string{"X-RateLimit-Reset": "30"}, "server_error", 0},
		}
		for name, test := range tests {
			header := http.Header{}
			for name, value := range test.header {
				header.Set(name, value)
			}
			e := recourse.FromHTTP("", answer(test.status, header, ""))
			if e.Kind != test.kind || e.RetryAfter.Round(time.Millisecond) != test.want {
				t.Errorf("%s: %s after %v, want %s after %v", name, e.Kind, e.RetryAfter, test.kind, test.want)
			}
		}
	})
}

func FuzzFromHTTP(f *testing.F) {
	f.Add(401, `Bearer error="invalid_token", scope=a`, "7", `{"error":{"code":"x"}}`)
	f.Add(429, `İerror=`, "Wed, 21 Oct 2026 07:28:00 GMT", `{"code":7}`)
	f.Add(429, "", "1e99", "")
	f.Fuzz(func(t *testing.T, status int, challenge, after, body string) {
		e := recourse.FromHTTP("p", answer(status, http.Header{
			"Www-Authenticate": {challenge}, "Retry-After": {after}, "Content-Type": {"application/json"},
			"X-Ratelimit-Reset": {after},
		}, body))
		if (e == nil) != (status < 400) {
			t.Errorf("HTTP %d is %v", status, e)
		}
		if e != nil && (e.RetryAfter < 0 || e.RetryAfter > recourse.MaxWait) {
			t.Errorf("Retry-After %q: got %v", after, e.RetryAfter)
		}
	})
}

// A provider with a name of several words is named at the beginning of a sentence, not inside one ("at The backend").
func TestStatusSentences(t *testing.T) {
	t.Parallel()
	for status := 400; status < 600; status++ {
		message := recourse.FromStatus("The backend", status).Message
		if !strings.HasPrefix(message, "The backend ") || strings.Contains(message, " The ") || !strings.HasSuffix(message, ".") {
			t.Errorf("%d: %q", status, message)
		}
	}
}
