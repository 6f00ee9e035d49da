package door_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

func TestUserPath(t *testing.T) {
	t.Parallel()
	const elsewhere, begins, fits = door.Elsewhere, door.Begins, door.Fits
	type found struct {
		User string
		Fit  door.Fit
	}
	for pattern, paths := range map[string]map[string]found{
		"/users/{user}/mcp": {
			"/users/ann/mcp": {"ann", fits}, "/users/a%2Fb/mcp": {"a/b", fits}, "/users//mcp": {"", fits}, "/users/mcp": {"", fits},
			"/users/ann": {"ann", begins}, "/users/ann/mcp/": {"ann/mcp/", begins}, "/users/ann/x/mcp": {"ann/x/mcp", begins},
			"/user/ann/mcp": {"", elsewhere}, "/": {"", elsewhere},
		},
		"/mcp/{who}": {
			"/mcp/ann": {"ann", fits}, "/mcp/": {"", fits}, "/mcp": {"", fits}, "/mcp/ann/": {"ann/", begins}, "/mc": {"", elsewhere},
		},
	} {
		p, ok := door.NewUserPath(pattern)
		if !ok {
			t.Fatalf("got no user path for %s", pattern)
		}
		for path, want := range paths {
			user, fit := p.User(path)
			if diff := cmp.Diff(want, found{user, fit}); diff != "" {
				t.Errorf("%s at %s (-want +got):\n%s", path, pattern, diff)
			}
		}
	}
	if p, _ := door.NewUserPath("/mcp/{who}/x"); p.Param != "who" || p.Len() != len("/mcp//x") {
		t.Errorf("%+v", p)
	}
	if _, ok := door.NewUserPath("/mcp"); ok {
		t.Error("got a user path for /mcp")
	}
}

func TestIsUser(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]bool{
		"u-1": true, "Ann.B_c~d": true, "ann@example.com": true, "auth0|1a+b=": true, "urn:x:1": true, strings.Repeat("a", 128): true,
		"": false, ".": false, "..": false, "a/b": false, "a b": false, " a": false, "a,b": false, "a\nb": false, "a%2Fb": false,
		"J\u00f6rg": false, "a\x7f": false, "<b>": false, strings.Repeat("a", 129): false,
	} {
		if got := door.IsUser(user); got != want {
			t.Errorf("%q: %v", user, got)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "http://inside:8080/mcp?q=1", http.NoBody)
	for public, want := range map[string]string{
		"": "http://inside:8080/mcp?q=1", "https://farm.example": "https://farm.example/mcp?q=1", "https://farm.example/": "https://farm.example/mcp?q=1",
	} {
		if got := door.URL(r, public); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r.TLS = new(tls.ConnectionState)
	if got := door.URL(r, ""); got != "https://inside:8080/mcp?q=1" {
		t.Error(got)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	header := http.Header{"Authorization": {"Bearer x"}, "X-Org": {""}}
	for want, names := range map[string][]string{"": {"authorization"}, "X-Org": {"Authorization", "X-Org", "X-User"}} {
		if got := door.Missing(header, names); got != want {
			t.Errorf("%q of %q, want %q", got, names, want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	e := door.Refused(&wire.Error{Code: wire.CodeInvalidParams, Message: "params are missing", Pointer: "/params/_meta/a~1b"})
	want := []recourse.Violation{{Pointer: "/params/_meta/a~1b", Param: "params._meta.a/b", Rule: "required", Message: "params are missing"}}
	if diff := cmp.Diff(want, e.Violations); diff != "" || e.Kind != recourse.KindMissingParam || e.Message != "Params are missing." {
		t.Errorf("%v %q (-want +got):\n%s", e.Kind, e.Message, diff)
	}
	if e := door.Refused(&wire.Error{Code: wire.CodeParseError, Message: "a quote"}); e.Kind != recourse.KindMalformed || e.Violations != nil {
		t.Errorf("%+v", e)
	}
	if e := door.Refused(errors.New("another")); e.Kind != recourse.KindInternal || e.Cause() == nil {
		t.Errorf("%+v", e)
	}
}

func TestFirstID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"id":7,"params":"cut o`: "7", `{"id":"a"`: `"a"`, `{"id":-1,`: "-1", `{"id":null}`: "", `{"id":[1]}`: "", `{"params":`: "", "": "",
	} {
		if got := string(door.FirstID([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestWithVersions(t *testing.T) {
	t.Parallel()
	data := door.WithVersions([]byte(`{"kind":"x"}`), []string{"2026-07-28"}, strings.Repeat("é", 64))
	want := `{"supported":["2026-07-28"],"requested":"` + strings.Repeat("é", 32) + `","kind":"x"}`
	if string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
	if got := door.WithVersions(nil, nil, ""); got != nil {
		t.Errorf("%s", got)
	}
}
