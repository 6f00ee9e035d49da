package config_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// All mistakes in access control are found, each with its position. A plain key in the place of a hash is not shown.
func TestAccessMistakes(t *testing.T) {
	t.Parallel()
	const src = `
trusted_proxies: [10.0.0.0/8, 192.0.2.7, nonsense]
lockout: {failures: -1, within: 0s}
access:
  loopback: {keys: [{name: a, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}]}
  Team: {}
  both:
    keys: [{name: "", hash: rk_hunter2_hunter2, expires: soon}]
    jwt: {issuer: http://login.example.com, audience: [], leeway: -1s, algorithms: [HS256], name: ""}
  pair:
    headers: {id: x-key, key: X-Key}
    keys:
    - {name: a, hash: "sha256:1111111111111111111111111111111111111111111111111111111111111111"}
    - {name: b, hash: "sha256:1111111111111111111111111111111111111111111111111111111111111111"}
  staff:
    headers: {key: "no header"}
    jwt: {issuer: https://login.example.com, jwks: ftp://x, audience: [farm], login: {client_id: "", client_secret: hunter2, scopes: [email]}}
servers:
  a: {url: "http://h/mcp", access: []}
  b: {url: "http://h/mcp", access: [pear, nobody, staff, staff], grants: [{roles: [a]}]}
  c: {url: "http://h/mcp", grants: [{tools: ["a b"]}]}
  e: {url: "http://h/mcp", access: [loopback], grants: []}
  d:
    url: http://h/mcp
    mode: observe
    access: [loopback]
    grants:
    - {tools: ["*"], when: args.a ==}
    - {tools: ["*"], when: caller.nam == "x"}
    - {tools: ["*"], when: args.amount}
    - {tools: ["*"], when: "any(args.a, any(args.b, # == 1))"}
    - {tools: ["*"], when: "any(args.a, # in args.b)"}
    - {tools: ["*"], when: "args.a matches args.b"}
    - {tools: ["*"], when: "let x = 1; x == 1"}
    - {tools: ["*"], when: "len(1..1000000000) > 1"}
    - {tools: ["*"], when: "len(repeat(\"a\", 1000000000)) > 1"}
    - {tools: ["*"], when: "len(map(args.a, # + 1)) > 1"}
    - {tools: ["*"], when: "reduce(args.a, #acc + #acc, 'x') == ''"}
  f: {url: "http://h/mcp", access: [staff], grants: [{tools: ["*"], callers: ["staff/*", "a*", b]}]}
endpoints:
  all: {servers: [b]}
  own: {servers: [b], access: [nobody]}
`
	_, err := config.Parse("access.yaml", []byte(src), options())
	if err == nil {
		t.Fatal("no mistakes")
	}
	contracttest.Golden(t, filepath.Join("testdata", "access.txt"), err.Error()+"\n")
}

func TestAccess(t *testing.T) {
	t.Parallel()
	const src = `
trusted_proxies: [10.0.0.0/8, "::1"]
access:
  team: {keys: [{name: a, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000", expires: 2027-01-31}], headers: {id: dev-id, key: x-api-key}}
  staff: {jwt: {issuer: https://login.example.com, audience: [farm], login: {client_id: recourse}}}
store: sqlite:recourse.db
connection_keys: ["a secret for tests, of more than 32 characters"]
providers: {deere: {flow: api_key}}
servers:
  a: {url: "http://h/mcp", access: [team, staff, loopback], grants: [{tools: ["*"], when: "caller.org != '' && args.n in [1, 2] || 'admin' in caller.roles"}]}
`
	c, err := config.Parse("access.yaml", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	team, _ := c.Access.Get("team")
	if at := team.Keys[0].ExpiresAt(); !at.Equal(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got expiry %s", at)
	}
	if diff := cmp.Diff(&config.AccessHeaders{ID: "Dev-Id", Key: "X-Api-Key"}, team.Headers); diff != "" {
		t.Error(diff)
	}
	staff, _ := c.Access.Get("staff")
	want := &config.AccessJWT{
		Issuer: "https://login.example.com", Audience: []string{"farm"}, Algorithms: []config.JWTAlg{"ES256", "RS256", "EdDSA"},
		Leeway: time.Minute, Name: "sub", Org: "org", Roles: "roles",
		Login: &config.AccessLogin{ClientID: "recourse", Scopes: []string{"openid"}},
	}
	if diff := cmp.Diff(want, staff.JWT); diff != "" {
		t.Error(diff)
	}
	if n := len(c.Proxies()); n != 2 || c.LockoutRule() != (config.Lockout{Failures: 25, Within: 15 * time.Minute}) {
		t.Errorf("%d proxies, %+v", n, c.LockoutRule())
	}
}
