package wildtest_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/wildtest"
)

// The corpus is large enough, and both halves have entries of every family.
func TestLoad(t *testing.T) {
	t.Parallel()
	c, err := wildtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	seen, held := map[string]int{}, map[string]int{}
	for _, f := range c.Failures {
		if f.Held {
			held[f.Family]++
		} else {
			seen[f.Family]++
		}
	}
	for family := range seen {
		if held[family] < 2 || seen[family] < 2 {
			t.Errorf("%s has %d entries in one half, %d in the other: give it more", family, seen[family], held[family])
		}
	}
	if len(held) != len(seen) {
		t.Errorf("%d families in one half, %d in the other", len(seen), len(held))
	}
	if len(c.Failures) < 400 || len(c.Innocents) < 500 {
		t.Errorf("%d failures and %d innocent answers: too few", len(c.Failures), len(c.Innocents))
	}
}

// Every mistake in a file is found.
func TestLoadIsStrict(t *testing.T) {
	t.Parallel()
	const whole = "source: a page\n  text: no\n  kind: unknown\n"
	for name, tt := range map[string]struct {
		file string // of the family f; `a` and `c` belong to the seen half, `d` to the half held back
		want string
	}{
		"an unknown key":         {"a:\n  " + whole + "  note: x\n", "unknown key `note`"},
		"a duplicate name":       {"a:\n  " + whole + "a:\n  " + strings.Replace(whole, "no", "yes", 1), "`a`"},
		"no source":              {"a:\n  text: no\n  kind: unknown\n", "lacks the key `source`"},
		"no kind":                {"a:\n  source: a page\n  text: no\n", "lacks the key `kind`"},
		"an empty list of kinds": {"a:\n  source: a page\n  text: no\n  kind: []\n", "needs a kind"},
		"an unknown kind":        {"a:\n  source: a page\n  text: no\n  kind: [unknown, oops]\n", "the kind oops"},
		"an unknown advice":      {"a:\n  " + whole + "  retry: soon\n", "the advice soon"},
		"no answer":              {"a:\n  source: a page\n  kind: unknown\n", "exactly one of"},
		"two answers":            {"a:\n  " + whole + "  http: {status: 500}\n", "exactly one of"},
		"a status of success":    {"a:\n  source: a page\n  kind: unknown\n  http: {status: 200}\n", "is not a failure"},
		"broken JSON":            {"a:\n  source: a page\n  kind: unknown\n  result: '{\"content\":['\n", "no CallToolResult"},
		"a result unmarked":      {"a:\n  source: a page\n  kind: unknown\n  result: '{\"content\":[]}'\n", "by isError, or by"},
		"a result marked":        {"a:\n  source: a page\n  kind: unknown\n  reads: true\n  result: '{\"content\":[],\"isError\":true}'\n", "by isError, or by"},
		"the same answer":        {"a:\n  " + whole + "c:\n  " + whole, "the same answer as"},
		"a name with spaces":     {"a b:\n  " + whole, "is no name"},
		"the wrong half":         {"d:\n  " + whole, "puts it into held"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wildtest.LoadFrom(fstest.MapFS{
				"seen/f.yaml":     {Data: []byte(tt.file)},
				"held/f.yaml":     {Data: []byte("d:\n  source: a page\n  text: maybe\n  kind: unknown\n")},
				"innocent/t.yaml": {Data: []byte("a: all is well\n")},
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestLoadIsStrictOnInnocents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, want string }{
		"a failure":       {`a: {result: '{"content":[],"isError":true}'}`, "that is a failure"},
		"the same answer": {"a: fine\nb: fine\n", "the same answer as"},
		"an unknown key":  {"a: {text: fine}\n", "unknown key `text`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := "source: a page\n  kind: unknown\n  text: "
			_, err := wildtest.LoadFrom(fstest.MapFS{
				"seen/f.yaml":     {Data: []byte("a:\n  " + entry + "one\n")},
				"held/f.yaml":     {Data: []byte("d:\n  " + entry + "two\n")},
				"innocent/t.yaml": {Data: []byte(tt.file)},
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	limited := recourse.RateLimited(30 * time.Second)
	missing := recourse.Missing("a", "b")
	for name, tt := range map[string]struct {
		want wildtest.Want
		got  *recourse.Error
		says string
	}{
		"nothing read":     {wildtest.Want{Kinds: []recourse.Kind{recourse.KindTimeout}}, nil, "not read as a failure"},
		"right":            {wildtest.Want{Kinds: []recourse.Kind{recourse.KindTimeout, recourse.KindRateLimited}, After: 30 * time.Second}, limited, ""},
		"rounded up":       {wildtest.Want{Kinds: []recourse.Kind{recourse.KindRateLimited}, After: 29500 * time.Millisecond}, limited, ""},
		"another kind":     {wildtest.Want{Kinds: []recourse.Kind{recourse.KindTimeout}, After: 30 * time.Second}, limited, "kind rate_limited instead of timeout"},
		"too short a wait": {wildtest.Want{Kinds: []recourse.Kind{recourse.KindRateLimited}, After: time.Minute}, limited, "wait 30s instead of 1m0s"},
		"an invented wait": {wildtest.Want{Kinds: []recourse.Kind{recourse.KindRateLimited}}, limited, "wait 30s instead of 0s"},
		"violations":       {wildtest.Want{Kinds: []recourse.Kind{recourse.KindMissingParam}, Violations: []string{"b", "a"}}, missing, ""},
		"other violations": {wildtest.Want{Kinds: []recourse.Kind{recourse.KindMissingParam}, Violations: []string{"a"}}, missing, "violations of [a b] instead of [a]"},
		"advice":           {wildtest.Want{Kinds: []recourse.Kind{recourse.KindMissingParam}, Retries: []recourse.Retry{recourse.RetryNever}}, missing, "retry after_fix instead of never"},
		"message":          {wildtest.Want{Kinds: []recourse.Kind{recourse.KindUnknown}, Message: "the silo"}, recourse.New(recourse.KindUnknown, "No."), "message without the silo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.want.Wrong(tt.got); got != tt.says {
				t.Errorf("Wrong() = %q, want %q", got, tt.says)
			}
		})
	}
}
