package e2e_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A way is a set-up of the gateway between the conformance suite and the Go SDK's conformance server.
type way struct {
	name  string
	front func(*testing.T, *conformanceSuite) *front
	// differs maps the checks (scenario and id) whose outcome this way changes to the reason.
	differs map[string]string
	// varies maps the checks whose outcome is random to the reason: they are not compared.
	varies map[string]string
}

// conformanceWays are the ways for clients of an era.
func conformanceWays(era testkit.Era) []way {
	if era == testkit.Modern {
		return modernWays()
	}
	return legacyWays()
}

// Reasons that several ways share.
const (
	plainAnswer    = "nothing precedes the answer, so it is sent as JSON"
	noResuming     = "messages have no event id from which to resume"
	noQuestions    = "a question could concern another client, so nobody is asked"
	noLogs         = "a log message could concern another client, so nobody sees it"
	legacyQuestion = "the server's tool asks in the way of the legacy era, which the modern era does not have"
)

func legacyWays() []way {
	streams := together(
		because(plainAnswer, "server-sse-multiple-streams: server-sse-streams-functional"),
		because(noResuming, "server-sse-polling: server-sse-priming-event server-sse-retry-field"),
	)
	questions := []string{
		"elicitation-sep1034-defaults: elicitation-sep1034-string-default elicitation-sep1034-integer-default" +
			" elicitation-sep1034-number-default elicitation-sep1034-enum-default elicitation-sep1034-boolean-default" +
			" elicitation-sep1034-general",
		"elicitation-sep1330-enums: elicitation-sep1330-untitled-single elicitation-sep1330-titled-single" +
			" elicitation-sep1330-legacy-enumnames elicitation-sep1330-untitled-multi elicitation-sep1330-titled-multi" +
			" elicitation-sep1330-general",
		"tools-call-elicitation: tools-call-elicitation",
		"tools-call-sampling: tools-call-sampling",
	}
	return []way{
		{name: "a server of the same era", front: served(testkit.Legacy)},
		{name: "a program for each client", front: asProgram("client"), differs: streams},
		{name: "a program for all clients", front: asProgram("all"), differs: together(streams, because(noQuestions, questions...),
			because(noLogs, "logging-set-level: logging-set-level", "tools-call-with-logging: tools-call-with-logging"))},
		{
			name: "a server of the modern era", front: servedInModernEra,
			differs: together(because(legacyQuestion, questions...), because(noResuming, "server-sse-polling: server-sse-retry-field")),
		},
		{
			name: "a program of the modern era", front: asModernProgram("all"),
			differs: together(streams, because(legacyQuestion, questions...),
				because(noLogs, "tools-call-with-logging: tools-call-with-logging")),
		},
	}
}

func modernWays() []way {
	streams := because(plainAnswer, "server-sse-multiple-streams: server-sse-streams-functional")
	bridged := together(
		because("questions of the legacy era have no name", "input-required-result-basic-elicitation: sep-2322-elicitation-incomplete"+
			" sep-2322-elicitation-complete"),
		because("in the legacy era questions are asked one at a time", "input-required-result-multiple-input-requests:"+
			" sep-2322-multiple-inputs-incomplete sep-2322-multiple-inputs-complete"),
		because("an unknown state is answered with a tool result, so that the model can start again",
			"input-required-result-tampered-state: sep-2322-reject-tampered-state"),
		because("in the legacy era a tool of the Go SDK can ask only once", "input-required-result-multi-round: sep-2322-multi-round-r2 sep-2322-multi-round-r3"),
	)
	// The suite closes a stream and opens the next at once. Clients that share a process share its session.
	news := because("in the Go SDK the end of one stream can end the other subscriptions of the session",
		"server-stateless: sep-2575-server-sends-prompts-list-changed-on-subscription sep-2575-server-sends-tools-list-changed-on-subscription")
	unknown := because("the scenarios call tools that the server does not have, and an unknown tool is told in a result",
		"tasks-capability-negotiation: sep-2663-server-rejects-undeclared-client",
		"tasks-dispatch-and-envelope: sep-2663-legacy-task-param-ignored tasks-immediate-result-shortcut"+
			" tasks-result-type-complete-on-non-task-responses",
		"tasks-lifecycle: tasks-sync-tool-call")
	return []way{
		{name: "a server of the same era", front: served(testkit.Modern), differs: unknown},
		{name: "a program for all clients", front: asModernProgram("all"), differs: together(unknown, streams), varies: news},
		{name: "a program for each client", front: asModernProgram("client"), differs: together(unknown, streams), varies: news},
		{name: "a server of the legacy era", front: served(testkit.Legacy), differs: together(unknown, bridged)},
		{
			name: "a program of the legacy era", front: withCredentials(asProgram("client")),
			differs: together(unknown, bridged, streams),
		},
	}
}

// served starts a gateway in front of the server over HTTP.
func served(era testkit.Era) func(*testing.T, *conformanceSuite) *front {
	return func(t *testing.T, suite *conformanceSuite) *front {
		t.Helper()
		return start(t, suite.Serve(t, era))
	}
}

// servedInModernEra starts a gateway in front of the server over HTTP, limited to the modern era.
func servedInModernEra(t *testing.T, suite *conformanceSuite) *front {
	t.Helper()
	return start(t, testkit.Serve(t, onlyModern(proxyTo(t, suite.Serve(t, testkit.Modern))))+"/mcp")
}

// asProgram starts a gateway with the server as a child, in a session of the legacy era.
func asProgram(share string) func(*testing.T, *conformanceSuite) *front {
	return func(t *testing.T, suite *conformanceSuite) *front {
		t.Helper()
		return start(t, "", "command: "+flow(t, suite.Command()), "share: "+share)
	}
}

// withCredentials lets the suite send credentials: in the modern era, only a client with its own credentials is asked a
// program's questions.
func withCredentials(begin func(*testing.T, *conformanceSuite) *front) func(*testing.T, *conformanceSuite) *front {
	return func(t *testing.T, suite *conformanceSuite) *front {
		t.Helper()
		f := begin(t, suite)
		f.url = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer conformance")
			f.current.Load().ServeHTTP(w, r)
		})) + "/farm/mcp"
		return f
	}
}

// asModernProgram is asProgram with a child that only speaks the modern era.
func asModernProgram(share string) func(*testing.T, *conformanceSuite) *front {
	return func(t *testing.T, suite *conformanceSuite) *front {
		t.Helper()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return start(t, "", "command: "+flow(t, append([]string{exe}, suite.Command()...)), "share: "+share,
			"env: "+flow(t, map[string]string{modernVariable: "1"}))
	}
}

// because maps checks to one reason. In scenarios, a scenario's name is followed by the ids of its checks.
func because(reason string, scenarios ...string) map[string]string {
	all := make(map[string]string)
	for _, scenario := range scenarios {
		name, ids, _ := strings.Cut(scenario, ": ")
		for id := range strings.FieldsSeq(ids) {
			all[name+": "+id] = reason
		}
	}
	return all
}

func together(some ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, differs := range some {
		maps.Copy(all, differs)
	}
	return all
}

// The official conformance suite finds the same through the gateway as at the server itself, both successes and
// failures. This is a sample: a third of the ways.
func TestConformance(t *testing.T) {
	t.Parallel()
	testConformance(t)
}

// The remaining ways.
func TestLongConformance(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testConformance(t)
}

func testConformance(t *testing.T) {
	t.Helper()
	suite := newConformanceSuite(t)
	for row, test := range []struct {
		era    testkit.Era
		passed int // the minimum at the server itself: fewer mean that the suite broke off
	}{
		{testkit.Legacy, 82},
		{testkit.Modern, 165},
	} {
		t.Run(test.era.Version(), func(t *testing.T) {
			t.Parallel()
			direct := suite.Run(t, suite.Serve(t, test.era), test.era)
			passed := 0
			for _, check := range direct {
				if check.Status == "SUCCESS" {
					passed++
				}
			}
			if passed < test.passed {
				t.Errorf("the server passes %d checks, want at least %d", passed, test.passed)
			}
			for column, way := range conformanceWays(test.era) {
				if !testkit.Sampled(t, row+column, 3) {
					continue
				}
				t.Run(way.name, func(t *testing.T) {
					t.Parallel()
					through := suite.Run(t, way.front(t, suite).url, test.era)
					compareOutcomes(t, direct, through, way)
				})
			}
		})
	}
}

// compareOutcomes compares two runs of the suite. The checks in w.differs must differ; those in w.varies may.
func compareOutcomes(t *testing.T, direct, through []suiteCheck, w way) {
	t.Helper()
	want, got := outcomes(direct), outcomes(through)
	for check := range w.varies {
		if len(want[check]) == 0 || len(got[check]) == 0 {
			t.Errorf("the suite has no check %s", check)
		}
		delete(want, check)
		delete(got, check)
	}
	for _, check := range slices.Sorted(maps.Keys(w.differs)) {
		if slices.Equal(want[check], got[check]) {
			t.Errorf("%s has the same outcome directly: remove it from differs", check)
		}
		delete(want, check)
		delete(got, check)
	}
	diff := cmp.Diff(want, got)
	if diff == "" {
		return
	}
	t.Errorf("outcomes (-direct +through the gateway):\n%s", diff)
	for _, check := range through {
		if name := checkName(check); check.Error != "" && !slices.Equal(want[name], got[name]) {
			t.Logf("%s: %s: %s", name, check.Status, check.Error)
		}
	}
}

// outcomes returns the statuses of each check, one for each time it was made. Remarks and skipped checks do not count.
func outcomes(checks []suiteCheck) map[string][]string {
	all := make(map[string][]string)
	for _, check := range checks {
		if check.Status == "INFO" || check.Status == "SKIPPED" {
			continue
		}
		name := checkName(check)
		all[name] = append(all[name], check.Status)
		slices.Sort(all[name])
	}
	return all
}

func checkName(check suiteCheck) string { return check.Scenario + ": " + check.ID }
