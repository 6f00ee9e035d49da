package e2e_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/testkit"
)

// allowedDifferences are the checks, each a scenario and an id, whose outcome a gateway may change, and why.
var allowedDifferences = map[string]string{}

// The official conformance suite finds the same through the gateway as at the server itself: what conforms, conforms still,
// and the gateway hides no fault.
func TestConformance(t *testing.T) {
	t.Parallel()
	suite := testkit.NewConformance(t)
	for _, test := range []struct {
		era    testkit.Era
		passed int // checks at the server itself, at least: whether the suite has run as a whole
	}{
		{testkit.OldEra, 82},
		{testkit.NewEra, 165},
	} {
		t.Run(test.era.Version(), func(t *testing.T) {
			t.Parallel()
			url := suite.Serve(t, test.era)
			direct := suite.Run(t, url, test.era)
			through := suite.Run(t, start(t, url).url, test.era)

			passed := 0
			for _, check := range direct {
				if check.Status == "SUCCESS" {
					passed++
				}
			}
			if passed < test.passed {
				t.Errorf("the server passes %d checks, want at least %d", passed, test.passed)
			}
			want, got := outcomes(direct), outcomes(through)
			for check := range allowedDifferences {
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
		})
	}
}

// outcomes returns the statuses of each check, which stands there once for each time it was made.
func outcomes(checks []testkit.Check) map[string][]string {
	all := make(map[string][]string)
	for _, check := range checks {
		name := checkName(check)
		all[name] = append(all[name], check.Status)
		slices.Sort(all[name])
	}
	return all
}

func checkName(check testkit.Check) string { return check.Scenario + ": " + check.ID }
