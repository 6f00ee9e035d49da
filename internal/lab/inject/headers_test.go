package inject_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The server gets exactly the client's headers; answers of failing calls are not compressed, since the injector has to
// read them.
func TestHeadersPass(t *testing.T) {
	t.Parallel()

	for _, agent := range []string{"client/1", ""} {
		testkit.Virtual(t, "agent "+agent, func(t *testing.T) {
			var seen []string
			api := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, fmt.Sprint(r.Method, r.RequestURI, r.Header))
				w.Header().Set("X-Own", "a")
				_, _ = io.WriteString(w, "well")
			}))
			target, err := url.Parse(api)
			if err != nil {
				t.Fatal(err)
			}
			injector := inject.New(plan(t, inject.API, "rules: [{match: {path: /fails}, fault: truncate}]"))
			at := serve(t, inject.Front(inject.NewTransport(injector, inject.API, base(t)), target))
			client := &http.Client{Transport: base(t)}
			for _, path := range []string{api + "/a?x=%20;y", at + "/a?x=%20;y", at + "/fails"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = http.Header{
					"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"}, "Accept-Encoding": {"gzip"}, "Authorization": {"Bearer x"},
					"User-Agent": {agent},
				}
				resp, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Header.Get("X-Own") != "a" {
					t.Error(resp.Header)
				}
				_ = resp.Body.Close()
			}
			if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
				t.Errorf("(-direct +through):\n%s", diff)
			}
			if strings.Contains(seen[2], "gzip") {
				t.Error(seen[2])
			}
		})
	}
}

// User and password in the server's URL are sent to the server, unless the client has its own credentials.
func TestCredentialsInURL(t *testing.T) {
	t.Parallel()
	for _, traffic := range []inject.Traffic{inject.API, inject.MCP} {
		testkit.Virtual(t, traffic.String(), func(t *testing.T) {
			api := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, r.Header.Get("Authorization")) // a client that is gone reads nothing
			}))
			target, err := url.Parse(strings.Replace(api, "://", "://ada:secret@", 1))
			if err != nil {
				t.Fatal(err)
			}
			injector := inject.New(plan(t, traffic, "rules: [{match: {method: nothing}, fault: hang}]"))
			at := serve(t, inject.Front(inject.NewTransport(injector, traffic, base(t)), target))
			for own, want := range map[string]string{"": "Basic YWRhOnNlY3JldA==", "Bearer x": "Bearer x"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				if own != "" {
					r.Header.Set("Authorization", own)
				}
				resp, err := (&http.Client{Transport: base(t)}).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(resp.Body); string(got) != want || err != nil {
					t.Errorf("%s %v, want %s", got, err, want)
				}
				_ = resp.Body.Close() // already read
			}
		})
	}
}
