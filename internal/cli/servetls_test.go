package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

const day = 24 * time.Hour

// The gateway serves https, and changes to a new certificate as soon as its key is there, too.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, after := testkit.NewCertificate(t, -time.Hour, 3*day), testkit.NewCertificate(t, -time.Hour, 90*day)
	write("cert.pem", before.Cert)
	write("key.pem", before.Key)
	write("recourse.yaml", []byte("listen: 127.0.0.1:0\ntls: {cert: cert.pem, key: key.pem}\nservers: {farm: {url: '"+srv.URL()+"'}}\n"))
	stderr := &output{}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		cli.Run(ctx, cli.Environment{
			Args: []string{"serve", "-c", filepath.Join(dir, "recourse.yaml")}, Stdout: stderr, Stderr: stderr,
			LookupEnv: os.LookupEnv, Poll: 10 * time.Millisecond,
		})
	})
	defer running.Wait()
	defer end()
	url, at := stderr.await(t, 0, `"url":"`)
	url, _, _ = strings.Cut(url, `"`)
	_, at = stderr.await(t, at, `"msg":"the certificate expires in 2 days: renew it"`)

	// calls makes a call on a new connection, checks its certificate, and returns the protocol of the answer.
	calls := func(want testkit.Certificate, http2 bool) {
		t.Helper()
		transport := &http.Transport{TLSClientConfig: before.Client(after), ForceAttemptHTTP2: http2}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"result"`)) {
			t.Errorf("%d %s %v", resp.StatusCode, text, err)
		}
		if protocol := map[bool]int{true: 2, false: 1}[http2]; resp.ProtoMajor != protocol {
			t.Errorf("%s", resp.Proto)
		}
		if got := resp.TLS.PeerCertificates[0]; !got.Equal(want.Leaf) {
			t.Errorf("the certificate expires on %s", got.NotAfter)
		}
	}
	calls(before, true)
	calls(before, false)

	write("cert.pem", after.Cert)
	rest, at := stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
	if !strings.Contains(rest, "private key does not match public key") {
		t.Errorf("only the certificate replaced: %s", rest)
	}
	calls(before, true)
	write("key.pem", after.Key)
	_, at = stderr.await(t, at, `"msg":"reloaded"`)
	calls(after, true)

	if err := os.Remove(filepath.Join(dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	_, at = stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
	calls(after, true)
	write("recourse.yaml", []byte("listen: 127.0.0.1:0\nservers: {farm: {url: '"+srv.URL()+"'}}\n"))
	if rest, _ = stderr.await(t, at, `"msg":"a restart is needed for some changes"`); rest != `,"keys":["tls"]}` {
		t.Errorf("without TLS: %s", rest)
	}
	calls(after, true)
}

// serve --check checks the certificate and key, and warns before the certificate expires.
func TestCheckTLS(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ends           time.Duration
		stdout, stderr string
		code           int
	}{
		"good":    {90 * day, "https://127.0.0.1:8787/farm/mcp", "", cli.ExitOK},
		"a week":  {7*day + time.Hour, "the certificate expires on ", "recourse: warning: the certificate expires in 7 days: renew it\n", cli.ExitOK},
		"today":   {time.Hour, "no mistakes", "recourse: warning: the certificate expires within a day: renew it\n", cli.ExitOK},
		"expired": {-time.Minute, "", "the certificate expired on ", cli.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := testkit.NewCertificate(t, -time.Hour, test.ends)
			for name, text := range map[string]string{
				"c.pem": string(c.Cert), "k.pem": string(c.Key),
				"recourse.yaml": "tls: {cert: c.pem, key: k.pem}\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), cli.Environment{
				Args: []string{"serve", "--check", "-c", filepath.Join(dir, "recourse.yaml")}, Stdout: &stdout, Stderr: &stderr, LookupEnv: os.LookupEnv,
			})
			if code != test.code || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) ||
				test.stderr == "" && stderr.Len() > 0 {
				t.Errorf("code %d\n%s\n%s", code, &stdout, &stderr)
			}
		})
	}
}
