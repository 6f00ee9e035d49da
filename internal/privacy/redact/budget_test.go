package redact_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// All texts of an answer share one budget for the search of addresses in the caller's arguments.
func TestAnswerHasOneBudget(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "host 10.1.%d.%d:80 ", i, i)
	}
	m := redact.New(redact.All, strings.Repeat("10.1.250.250:8 ", 60_000)).ForAnswer(time.Minute)
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

// Masking ends with the time of the call: what has not been examined by then is not shown.
func TestMaskingHeedsTheTime(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("level=error url=https://api.example.com/v1 password=hunter2 at 10.0.0.1:5432\n", 50_000)
	start := time.Now()
	got := redact.New(redact.All).ForAnswer(-time.Second).String(text)
	if took := time.Since(start); strings.Contains(got, "hunter2") || !strings.Contains(got, "not shown") || took > 2*time.Second {
		t.Errorf("got %.200s after %v", got, took)
	}
	if got := redact.New(redact.All).ForAnswer(time.Millisecond).String("a: " + strings.Repeat("IBAN ", 100_000)); !strings.Contains(got, "not shown") {
		t.Errorf("a text of which every word takes time: got %.200s", got)
	}
	if got := redact.New(redact.All).ForAnswer(-time.Second).String("The order has no stock."); got != "The order has no stock." {
		t.Errorf("a text without secrets: got %q", got)
	}
}

// However many secrets there are and however alike, a text takes time in proportion to its length.
func TestManySecrets(t *testing.T) {
	t.Parallel()
	args, text := manySecrets()
	alike := make([]string, 16_000)
	for i := range alike {
		alike[i] = fmt.Sprintf("%s%05d", strings.Repeat("sk-live-", 4), i)
	}
	for name, test := range map[string]struct {
		secrets []string
		text    string
	}{
		"different": {redact.Arguments([]byte(args)), text},
		"alike":     {alike, strings.Repeat("sk-live-", 400_000) + alike[0]},
		"long":      {[]string{strings.Repeat("a", 500_000)}, strings.Repeat(strings.Repeat("a", 200_000)+"b", 15)},
	} {
		start := time.Now()
		got := redact.New(redact.Secrets).Hiding(func() []string { return test.secrets }).String(test.text)
		if took := time.Since(start); took > 10*time.Second { // a second without the race detector
			t.Errorf("%s: took %v", name, took)
		}
		for i := 0; i < len(test.secrets); i += 100 {
			if strings.Contains(got, test.secrets[i]) {
				t.Errorf("%s: leaks %.40s", name, test.secrets[i])
			}
		}
	}
}
