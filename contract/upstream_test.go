package contract_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// If an answer's header and body both name a wait, the longer one counts, since each is a minimum.
func TestFromHTTPTakesTheLongerWait(t *testing.T) {
	t.Parallel()
	c, err := contract.Builtin().Load("waits.yaml", []byte(`form: 1
name: waits
doc: Its backend names the wait in the body.
default: BUSY
upstream: {body: {wait: after.seconds}}
write: {text: "[{code}] {message}"}
codes:
- {code: BUSY, kind: unavailable, when: It is busy.}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		header, body string
		want         time.Duration
	}{
		{"12", `{"wait":5}`, 12 * time.Second},
		{"5", `{"wait":12}`, 12 * time.Second},
		{"", `{"wait":7}`, 7 * time.Second},
		{"7", `{}`, 7 * time.Second},
	} {
		answer := backend(503, tt.body)
		if tt.header != "" {
			answer.Header.Set("Retry-After", tt.header)
		}
		if e := c.FromHTTP("the backend", answer); e.RetryAfter != tt.want {
			t.Errorf("Retry-After %q, %s: %s, want %s", tt.header, tt.body, e.RetryAfter, tt.want)
		}
	}
}

// Only a trusted server is believed that a call had no effect; any server is believed that it had one, or may have had
// one.
func TestEffectOfAForeignRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said    string
		trusted bool
		want    recourse.Effect
	}{
		{"none", false, ""},
		{"unknown", false, recourse.EffectUnknown},
		{"applied", false, recourse.EffectApplied},
		{"perhaps", false, ""},
		{"none", true, recourse.EffectNone},
		{"unknown", true, recourse.EffectUnknown},
		{"perhaps", true, ""},
	} {
		reader := contract.Reader{Contracts: contract.Builtin().All(), Provider: "The server", Trusted: tt.trusted}
		reading, ok := reader.Result([]byte(`{"content":[],"isError":true,"_meta":{"io.github.recoursehq/error":` +
			`{"v":1,"kind":"conflict","message":"No.","effect":"` + tt.said + `"}}}`))
		if !ok || reading.Error() == nil || reading.Error().Effect != tt.want {
			t.Errorf("%q, trusted %t: %t %+v, want effect %q", tt.said, tt.trusted, ok, reading.Error(), tt.want)
		}
	}
}
