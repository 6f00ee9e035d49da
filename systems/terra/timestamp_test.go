package terra_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/terra"
)

// Every ISO 8601 timestamp is read as the right instant, and anything else is refused.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/iso-8601", "terra/detail-bad-timestamp")

	s := newSystem(t, terra.Options{})
	// One night of Ada's began at 2025-11-11T00:05:00+01:00.
	const night = "2025-11-10T23:05:00Z"
	filter := func(operator, value string) (text string, isError bool) {
		arguments := `{"select":[{"function":"count","field":"start_time"}],"where":{"and":[` +
			`{"field":"start_time","operator":"EQ","value":"` + night + `"},` +
			`{"field":"start_time","operator":"` + operator + `","value":` + strconv.Quote(value) + `}]}}`
		result, _ := ask(t, s, testkit.Modern, "get_sleep_data", arguments)
		return result.Text(), result.IsError
	}
	for _, value := range []string{
		night, "2025-11-11T00:05:00+01:00", "2025-11-11T00:05:00+01", "2025-11-11T00:05+01:00", "20251111T000500+0100", "20251111T0005+01",
		"20251110T230500Z", "20251110T2305Z", "2025-11-10T23:05", "2025-11-10t23:05:00z", "2025-11-10 23:05:00Z", "2025-11-10T23:05:00.000Z",
		"2025-11-10T23:05:00,0Z", "2025-11-10T23:05:00.0000000000Z", "2025-W46-1T23:05:00Z", "2025W461T230500Z", "2025-314T23:05:00Z", "2025314T2305Z", "2025-11-10T17:35:00-05:30",
	} {
		text, isError := filter("EQ", value)
		if isError || !strings.Contains(text, ":1}") {
			t.Errorf("%s: %s", value, text)
		}
	}
	for _, value := range []string{ // all before that instant
		"2025", "2025-11", "2025-11-10", "20251110", "2025-W46", "2025-W46-1", "2025W461", "2025-314", "2025314",
		"2025-11-10T00Z", "2025-11-10T23Z", "2025-11-09T24:00:00Z", "2025-11-09T24:00Z", "2024-12-31T23:59:60Z", "2025-11-10T22,5Z",
	} {
		if text, isError := filter("GT", value); isError || !strings.Contains(text, ":1}") {
			t.Errorf("%s: %s", value, text)
		}
	}
	for _, value := range []string{
		"", "yesterday", "12/11/2025", "2025-13-01", "2025-02-29", "2025-11-31", "2025-366", "2025-000", "2025-W53-1", "2025-W00-1", "2025-W46-8",
		"2025-11-10T25:00:00Z", "2025-11-10T24:00:01Z", "2025-11-10T23:60:00Z", "2025-11-10T23:05:61Z", "2025-11-10T23:05:00+24:00",
		"2025-11-10T23:05:00+01:60", "2025-11-10T", "T23:05:00Z", "2025-11-10T2305Z", "20251110T23:05Z", "25-11-10", "1762815900", "2025-11-10T23:05:00Zulu",
	} {
		want := "Invalid ISO 8601 timestamp '" + value + "'. Use formats like 2025-11-12T00:00:00Z."
		if text, isError := filter("EQ", value); !isError || text != want {
			t.Errorf("%s: %s", value, text)
		}
	}
}
