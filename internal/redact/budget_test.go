package redact_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/redact"
)

// All texts of an answer share one budget for the search of addresses in the caller's arguments.
func TestAnswerHasOneBudget(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "host 10.1.%d.%d:80 ", i, i)
	}
	m := redact.New(redact.All, strings.Repeat("10.1.250.250:8 ", 60_000)).ForAnswer()
	start := time.Now()
	for i := range 90 {
		if got := m.String(fmt.Sprint(i, " ", b.String())); strings.Contains(got, "10.1.") {
			t.Fatalf("%.200s", got)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
