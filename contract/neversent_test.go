package contract_test

import (
	"testing"

	"github.com/recoursehq/recourse"
)

// A sentence that says that the server's own request was never sent leaves no doubt; one that says that a connection broke, or that an
// answer did not come in time, does.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]recourse.Effect{
		"connect ETIMEDOUT 10.0.0.1:5432": recourse.EffectNone,
		"read ETIMEDOUT":                  recourse.EffectUnknown,
		"fetch failed: Connect Timeout Error (attempted address: api.example.com:443, timeout: 10 ms)":                                       recourse.EffectNone,
		"timeout exceeded when trying to connect":                                                                                            recourse.EffectNone,
		"Knex: Timeout acquiring a connection. The pool is probably full.":                                                                   recourse.EffectNone,
		"ServerTimeoutError: Connection timeout to host https://example.com/":                                                                recourse.EffectNone,
		"curl: (28) Connection timed out after 5001 milliseconds":                                                                            recourse.EffectNone,
		"curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received":                                                       recourse.EffectUnknown,
		"cURL error 28: Resolving timed out after 5000 milliseconds":                                                                         recourse.EffectNone,
		"Net::OpenTimeout: execution expired":                                                                                                recourse.EffectNone,
		"Net::ReadTimeout with #<TCPSocket:(closed)>":                                                                                        recourse.EffectUnknown,
		"OpenSSL::SSL::SSLError: SSL_connect returned=1 errno=0 state=error: unsupported protocol":                                           recourse.EffectNone,
		"OpenSSL::SSL::SSLError: SSL_read: unexpected eof while reading":                                                                     recourse.EffectUnknown,
		`connection to server at "10.0.0.1", port 5432 failed: timeout expired`:                                                              recourse.EffectNone,
		"could not connect to server: Connection timed out":                                                                                  recourse.EffectNone,
		"PrismaClientKnownRequestError: Server has closed the connection. (P1017)":                                                           recourse.EffectUnknown,
		"MongoNetworkError: failed to connect to server [db:27017] on first connect":                                                         recourse.EffectNone,
		"MongoNetworkError: connection 3 to 127.0.0.1:27017 closed":                                                                          recourse.EffectUnknown,
		"MongoNetworkTimeoutError: connection 3 to 127.0.0.1:27017 timed out":                                                                recourse.EffectUnknown,
		"error sending request for url (https://x.example/): error trying to connect: tcp connect error: Connection refused":                 recourse.EffectNone,
		"error sending request for url (https://x.example/): client error (Connect): dns error: no record":                                   recourse.EffectNone,
		"error sending request for url (https://x.example/): connection closed before message completed":                                     recourse.EffectUnknown,
		"error sending request for url (https://x.example/)":                                                                                 recourse.EffectUnknown,
		"14 UNAVAILABLE: Name resolution failed for target dns:orders":                                                                       recourse.EffectNone,
		"14 UNAVAILABLE: Connection dropped":                                                                                                 recourse.EffectUnknown,
		`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp: missing port"`:             recourse.EffectNone,
		"rpc error: code = Unavailable desc = error reading from server: EOF":                                                                recourse.EffectUnknown,
		`Post "https://x.example": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)`: recourse.EffectNone,
		`Post "https://x.example": net/http: request canceled (Client.Timeout exceeded while awaiting headers)`:                              recourse.EffectUnknown,
		"Unable to connect to the server: net/http: TLS handshake timeout":                                                                   recourse.EffectNone,
		"Unable to connect to the server: dial tcp: lookup k8s: no such host":                                                                recourse.EffectNone,
		"Unable to connect to the server: EOF":                                                                                               recourse.EffectUnknown,
		"[SSL: SSLV3_ALERT_HANDSHAKE_FAILURE] sslv3 alert handshake failure (_ssl.c:1006)":                                                   recourse.EffectNone,
		"[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:2396)":                                            recourse.EffectUnknown,
		"(Caused by SSLError(SSLEOFError(8, 'EOF occurred in violation of protocol (_ssl.c:1006)')))":                                        recourse.EffectUnknown,
		"page.click: net::ERR_NETWORK_CHANGED at https://x.example/":                                                                         recourse.EffectUnknown,
		"The order could not be confirmed due to a connection issue":                                                                         recourse.EffectUnknown,
		"EMFILE: too many open files, open 'a'":                                                                                              recourse.EffectNone,
		"Saved the order, then connect ETIMEDOUT 10.0.0.1:25":                                                                                recourse.EffectUnknown,
		"read ECONNRESET, and then connect ECONNREFUSED 10.0.0.1:5":                                                                          recourse.EffectUnknown,
		"write ETIMEDOUT; connect ETIMEDOUT 10.0.0.1:5":                                                                                      recourse.EffectUnknown,
		"Connection lost while saving. Reconnecting: connect ETIMEDOUT 10.0.0.1:5432":                                                        recourse.EffectUnknown,
		"curl: (35) Recv failure: Connection reset by peer":                                                                                  recourse.EffectNone,
	} {
		if got := readText(t, text).Effect; got != want && (got != "" || want != recourse.EffectUnknown) {
			t.Errorf("%q: effect %q, want %q", text, got, want)
		}
	}
}

// What a person has to repair at the server is told as such.
func TestRepairedFirst(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"database disk image is malformed", "SQLITE_FULL: database or disk is full", "tee: /srv/out.log: No space left on device",
		"ENOSPC: no space left on device, write", `could not extend file "base/1/2": No space left on device`,
		"fatal: unable to auto-detect email address (got 'root@vm.(none)')",
	} {
		if got := readText(t, text).Retry; got != recourse.RetryAfterSetup {
			t.Errorf("%q: %q", text, got)
		}
	}
}
