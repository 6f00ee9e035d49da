package gateway_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// answered returns the faults with a complete HTTP answer. For all others the gateway writes an answer itself. Large
// answers are just large enough.
func answered() []testkit.Fault {
	const size = 1 << 20
	all := []testkit.Fault{faults.Large(testkit.SSE, size, faults.Whole)}
	for _, ending := range []faults.Ending{faults.Whole, faults.Wrong, faults.Broken, faults.Failed} {
		all = append(all, faults.Large(testkit.JSON, size, ending))
	}
	return append(all, slices.DeleteFunc(faults.All(size), func(fault testkit.Fault) bool {
		return slices.ContainsFunc([]string{"reset before", "hang", "slow drip", "restart", "large"}, func(prefix string) bool {
			return strings.HasPrefix(fault.Name, prefix)
		})
	})...)
}

// With mode observe, answers reach the client unchanged, and the log says what enforcing would do. This is a sample: each
// fault in one era.
func TestObserve(t *testing.T) {
	t.Parallel()
	testObserve(t)
}

// Each fault in the other era.
func TestLongObserve(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testObserve(t)
}

func testObserve(t *testing.T) {
	t.Helper()
	table := outcomes()
	for row, fault := range answered() {
		for column, era := range testkit.Eras {
			if !testkit.Sampled(t, row+column, 2) {
				continue
			}
			t.Run(fault.Name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				f := gatewaytest.Start(t, srv.URL(), "mode: observe", "title: The farm", "timeout: 5s", "trust_annotations: true")
				through := f.Client(t, era)
				direct := through.Clone(t)
				direct.URL = srv.URL()
				if era == testkit.Legacy {
					direct.MustInitialize(t)
				}
				srv.Always(testkit.GetField, fault)
				const params = `{"name":"get_field","arguments":{"field_id":"F-1"}}`
				want, wantErr := exchange(t, direct, params)
				got, gotErr := exchange(t, through, params)
				if (wantErr == nil) != (gotErr == nil) {
					t.Fatalf("got %v through the gateway, %v directly", gotErr, wantErr)
				}
				if got.Status != want.Status || got.Size != want.Size || !bytes.Equal(got.Tail, want.Tail) {
					t.Errorf("got HTTP %d with %d bytes, want %d with %d", got.Status, got.Size, want.Status, want.Size)
				}
				if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" {
					t.Errorf("body (-direct +through):\n%s", diff)
				}
				for _, name := range []string{"Content-Type", "Retry-After", "WWW-Authenticate", "Location", "Allow"} {
					if name == "Retry-After" && strings.HasSuffix(fault.Name, "as a date") {
						continue // the date depends on the time of the answer
					}
					if want.Header.Get(name) != got.Header.Get(name) {
						t.Errorf("%s: got %q, want %q", name, got.Header.Get(name), want.Header.Get(name))
					}
				}
				if got := srv.Attempts(testkit.GetField); got != 2 {
					t.Errorf("got %d attempts, want one directly and one through the gateway", got)
				}
				checkObserved(t, f, fault, table[fault.Name])
			})
		}
	}
}

func exchange(t *testing.T, c *testkit.Client, params string) (*testkit.Answer, error) {
	t.Helper()
	body, header := c.Message("1", "tools/call", params)
	a, err := c.Post(t.Context(), body, header)
	if a == nil {
		t.Fatal(err)
	}
	return a, err
}

// checkObserved checks the log of one observed call.
func checkObserved(t *testing.T, f *gatewaytest.Front, fault testkit.Fault, want outcome) {
	t.Helper()
	lines := f.Log.Failures(t)
	if want.kind == "" && !want.broken && fault.Name != healed[0] && !strings.Contains(fault.Name, "isError") {
		if len(lines) != 0 {
			t.Errorf("got a line about a success: %s", f.Log)
		}
		return
	}
	f.Await(t, func(lines []gatewaytest.LogLine) bool { return len(lines) > 0 }) // the client may have the whole answer before the call has ended
	if lines = f.Log.Failures(t); len(lines) != 1 {
		t.Fatalf("got %d lines: %s", len(lines), f.Log)
	}
	if l := lines[0]; want.kind != "" && (l.Kind != string(want.kind) || l.Origin != string(want.origin) || l.Note == "") || l.Attempts != 1 || l.Tool != testkit.GetField {
		t.Errorf("got %+v, want %s of %s", l, want.kind, want.origin)
	}
}

// With mode observe, bad arguments and unknown tools reach the server.
func TestObservedArguments(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "mode: observe")
	client := f.Client(t, testkit.Legacy)
	direct := client.Clone(t)
	direct.URL = srv.URL()
	direct.MustInitialize(t)
	for i, params := range []string{
		`{"name":"order_create","arguments":{"reference":7}}`,
		`{"name":"order_craete","arguments":{}}`,
	} {
		want, got := direct.MustRequest(t, "1", "tools/call", params), client.MustRequest(t, "1", "tools/call", params)
		if got.Status != http.StatusOK || !bytes.Equal(want.Body, got.Body) {
			t.Errorf("got HTTP %d %s, want %s", got.Status, got.Body, want.Body)
		}
		lines := f.Log.Failures(t)
		kind := []string{"missing_param", "unknown_tool"}[i]
		if len(lines) == 0 || !strings.Contains(f.Log.String(), kind) {
			t.Errorf("%s is not in the log: %s", kind, f.Log)
		}
	}
}

// If there is no answer to pass on, the gateway writes the failure.
func TestObserveWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, fault := range []testkit.Fault{faults.Hang(), faults.ResetBeforeAnswer()} {
		testkit.Virtual(t, fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			client := gatewaytest.Start(t, srv.URL(), "mode: observe", "trust_annotations: true", gatewaytest.UntilDeadline).Client(t, testkit.Modern)
			srv.Always(testkit.GetField, fault)
			a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`)
			if err != nil || srv.Attempts(testkit.GetField) != 1 || a.Took > gatewaytest.Deadline {
				t.Fatalf("got %+v, %v", a, err)
			}
			if e := gatewaytest.Record(t, a); e.Origin != recourse.OriginGateway {
				t.Errorf("got %s of %s", e.Kind, e.Origin)
			}
		})
	}
}
