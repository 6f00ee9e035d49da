package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestTracing(t *testing.T) {
	t.Parallel()
	for tracing, want := range map[string]string{
		"{endpoint: 'http://127.0.0.1:4318'}": "",
		"{endpoint: 'https://otel.example.com/base', sample: 0.5, headers: {api-key: '${FARM_TOKEN}'}}": "",
		"{sample: 0.5}":                                                         "`tracing` lacks the key `endpoint`",
		"{endpoint: '127.0.0.1:4318'}":                                          "2:21: `endpoint` must be an absolute http or https URL",
		"{endpoint: 'http://h', sample: 10}":                                    "2:41: `sample` must be from 0 to 1",
		"{endpoint: 'http://h', sample: -0.1}":                                  "2:41: `sample` must be from 0 to 1",
		"{endpoint: 'http://h', sample: .nan}":                                  "number",
		"{endpoint: 'http://h', headers: {a b: x}}":                             "2:43: this is not a valid header name",
		"{endpoint: 'http://h', headers: {Content-Type: x}}":                    "the gateway sets this header itself",
		"{endpoint: 'http://h', headers: {x: '${EMPTY}'}}":                      "a header's value must not be empty",
		"{endpoint: 'http://h', headers: {X-Key: n0t-shown, x-key: n0t-shown}}": "this header is set twice",
		"{endpoint: 'http://user:n0t-shown@h'}":                                 "must not contain a user or password",
	} {
		t.Run(tracing, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("recourse.yaml", []byte("servers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\ntracing: "+tracing+"\n"), options())
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "n0t-shown")) {
				t.Errorf("got:\n%v\nwant %s", err, want)
			}
		})
	}
}

// Without access control, the listener is limited to this machine, unless the file says otherwise.
func TestAdmin(t *testing.T) {
	t.Parallel()
	const open = "other machines could reach `admin`"
	for admin, want := range map[string]string{
		"admin: 127.0.0.1:9464":                         "",
		"admin: 127.1.2.3:0":                            "",
		"admin: '[::1]:9464'":                           "",
		"admin: localhost:9464":                         "",
		"admin: 0.0.0.0:9464\nadmin_remote: true":       "",
		"admin: gateway.internal:1\nadmin_remote: true": "",
		"admin: 0.0.0.0:9464":                           open,
		"admin: :9464":                                  open,
		"admin: '[::]:9464'":                            open,
		"admin: 10.0.0.7:9464":                          open,
		"admin: localhost.example.com:9464":             open,
		"admin: 0.0.0.0:9464\nadmin_remote: false":      open,
		"admin: 9464":                                   "`admin` must be",
		"admin: '9464'":                                 "`admin` must be an address and a port",
		"admin_remote: true":                            "2:1: `admin_remote` has no effect without `admin`",
		"admin: 127.0.0.1:9464\nconsole: true":          "",
		"admin: 0.0.0.0:9464\nadmin_remote: true\nconsole: true\nconsole_access: ops\naccess: {ops: {stored_keys: true}}\nstore: sqlite:a.db": "",
		"admin: 127.0.0.1:9464\nconsole: true\nconsole_access: ops":                                                                           "4:17: `console_access` names no entry",
		"admin: 127.0.0.1:9464\nconsole: true\nconsole_access: ops\naccess: {ops: {jwt: {issuer: https://a.b, audience: [c]}}}":               "4:17: operators sign in",
		"console_access: ops": "2:1: `console_access` has no effect without `console` or `journal_tools`",
		"admin: 0.0.0.0:9464\nadmin_remote: true\njournal_tools: true\nconsole_access: ops\naccess: {ops: {stored_keys: true}}\nstore: sqlite:a.db":                         "",
		"admin: 0.0.0.0:9464\nadmin_remote: true\njournal_tools: true\nconsole_access: ops\naccess: {ops: {jwt: {issuer: https://a.b, audience: [c]}}}\nstore: sqlite:a.db": "5:17: operators sign in with API keys",
		"admin: 0.0.0.0:9464\nadmin_remote: true\nprofiles: true\nconsole: true\nconsole_access: ops\naccess: {ops: {stored_keys: true}}\nstore: sqlite:a.db":               "4:1: other machines could reach the profiles",
		"admin: 127.0.0.1:9464\nconsole: true\nconsole_role: x":                                                                               "4:1: `console_role` has no effect without `console_access`",
		"admin: 127.0.0.1:9464\nconsole: true\nconsole_access: ops\nconsole_role: ''\naccess: {ops: {stored_keys: true}}\nstore: sqlite:a.db": "5:15: `console_role` is empty",
		"console: true": "2:1: `console` has no effect without `admin`",
		"admin: 0.0.0.0:9464\nadmin_remote: true\nconsole: true":                           "4:1: other machines could reach the console",
		"admin: 127.0.0.1:9464\nprofiles: true":                                            "",
		"profiles: true":                                                                   "2:1: `profiles` has no effect without `admin`",
		"admin: 0.0.0.0:9464\nadmin_remote: true\nprofiles: true":                          "4:1: other machines could reach the profiles",
		"admin: 127.0.0.1:9464\nstore: sqlite:a.db\njournal_tools: true":                   "",
		"store: sqlite:a.db\njournal_tools: true":                                          "3:1: `journal_tools` has no effect without `admin`",
		"admin: 127.0.0.1:9464\njournal_tools: true":                                       "3:1: `journal_tools` has no effect without `store`",
		"admin: 0.0.0.0:9464\nadmin_remote: true\nstore: sqlite:a.db\njournal_tools: true": "5:1: other machines could reach the journal's tools, and `admin` has no access control\n  5 | journal_tools: true\n    | ^~~~~~~~~~~~~\n  hint: use 127.0.0.1 for `admin`, or name",
	} {
		t.Run(admin, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("recourse.yaml", []byte("servers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n"+admin+"\n"), options())
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got:\n%v\nwant %s", err, want)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good, other := testkit.NewCertificate(t, -time.Hour, year), testkit.NewCertificate(t, -time.Hour, year)
	ended, future := testkit.NewCertificate(t, -year, -time.Hour), testkit.NewCertificate(t, time.Hour, year)
	write("good.pem", good.Cert)
	write("good.key", good.Key)
	write("other.key", other.Key)
	write("ended.pem", ended.Cert)
	write("ended.key", ended.Key)
	write("future.pem", future.Cert)
	write("future.key", future.Key)
	write("half.pem", good.Cert[:len(good.Cert)/2])
	write("empty.pem", nil)
	write("locked.key", []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	tests := map[string]string{
		"{cert: good.pem, key: good.key}":     "",
		"{cert: good.pem, key: other.key}":    "3:28: the certificate and its key cannot be used: private key does not match public key",
		"{cert: good.pem, key: locked.key}":   "3:28: the certificate and its key cannot be used: failed to parse private key",
		"{cert: good.key, key: good.pem}":     "3:13: the certificate and its key cannot be used: failed to find certificate PEM data in certificate input",
		"{cert: half.pem, key: good.key}":     "3:13: the certificate and its key cannot be used: failed to find any PEM data in certificate input",
		"{cert: empty.pem, key: good.key}":    "3:13: the certificate and its key cannot be used: failed to find any PEM data in certificate input",
		"{cert: ended.pem, key: ended.key}":   "3:13: the certificate expired on ",
		"{cert: future.pem, key: future.key}": "3:13: the certificate is valid only from ",
		"{cert: none.pem, key: good.key}":     "3:13: the file cannot be read: ",
		"{cert: good.pem, key: .}":            "3:28: the file cannot be read: ",
		"{cert: good.pem}":                    "3:6: `tls` lacks the key `key`",
		"{cert: good.pem, key: ''}":           "3:28: the name of the file is empty",
		"{cert: good.pem, key: good.key, x}":  "unknown key",
	}
	for tls, want := range tests {
		t.Run(tls, func(t *testing.T) {
			t.Parallel()
			src := "servers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n\ntls: " + tls + "\n"
			c, err := config.Parse(filepath.Join(dir, "recourse.yaml"), []byte(src), options())
			if want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if at, soon := c.TLS.Expires(); soon || !at.Equal(good.Leaf.NotAfter) {
					t.Errorf("expires %s, soon: %v", at, soon)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got:\n%v\nwant %s", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE") {
				t.Error("the error shows the key")
			}
		})
	}
}
