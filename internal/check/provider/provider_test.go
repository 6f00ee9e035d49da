package provider_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/check/provider"
)

// What a client sees through the proxy, over TLS, of each fault.
func TestFaults(t *testing.T) {
	t.Parallel()

	proxy := &provider.Proxy{}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	client := through(t, proxy)
	for i := range provider.Faults {
		fault := &provider.Faults[i]
		proxy.Set(fault)
		resp, err := client.Post("https://provider.test/orders", "application/json", strings.NewReader("{}"))
		switch {
		case fault.Status == 0:
			if err == nil {
				t.Errorf("%s: HTTP %d", fault.Name, resp.StatusCode)
			}
		case err != nil:
			t.Errorf("%s: %v", fault.Name, err)
		default:
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != fault.Status || string(body) != fault.Body || (err != nil) != fault.Cut {
				t.Errorf("%s: HTTP %d %q, %v", fault.Name, resp.StatusCode, body, err)
			}
			if wait := resp.Header.Get("Retry-After"); (wait == provider.Wait) != (fault.Status == http.StatusTooManyRequests) {
				t.Errorf("%s: Retry-After: %s", fault.Name, wait)
			}
		}
		if seen := proxy.Set(nil); len(seen) != 1 || seen[0].Method != http.MethodPost || !seen[0].Writes() {
			t.Errorf("%s: the provider got %v", fault.Name, seen)
		}
	}
}

// through returns a client that goes by the variables of the proxy.
func through(t *testing.T, proxy *provider.Proxy) *http.Client {
	t.Helper()
	env := map[string]string{}
	for _, pair := range proxy.Env() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	text, err := os.ReadFile(env["SSL_CERT_FILE"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	at, err := url.Parse(env["HTTPS_PROXY"])
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Timeout: time.Second, Transport: &http.Transport{
		Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
}
