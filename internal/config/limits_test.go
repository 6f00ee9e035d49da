package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	const src = `
redis: redis://:s3cret@127.0.0.1:6379/2
on_redis_failure: closed
access: {staff: {jwt: {issuer: "https://id.example.com", audience: [farm]}}}
servers:
  farm:
    url: http://127.0.0.1:1/mcp
    access: [staff]
    limit_headers: true
    limits:
      minute: {calls: 100/1m}
      month: {calls: 17000/30d, by: [org]}
      reports: {calls: 5/1m, by: [server, tool], tools: [report_*, audit]}
      busy: {at_once: 4}
      writes: {at_once: 1, queue: 0, wait: 500ms, by: [address], tools: ["*_create"]}
`
	got, err := config.Parse("recourse.yaml", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	want := config.Limits{
		{Name: "minute", Calls: config.Rate{Calls: 100, Window: time.Minute}, By: []config.LimitKey{"caller"}},
		{Name: "month", Calls: config.Rate{Calls: 17_000, Window: 30 * 24 * time.Hour}, By: []config.LimitKey{"org"}},
		{
			Name: "reports", Calls: config.Rate{Calls: 5, Window: time.Minute}, By: []config.LimitKey{"server", "tool"},
			Tools: []string{"report_*", "audit"},
		},
		{Name: "busy", AtOnce: 4, Queue: 4, Wait: 2 * time.Second, By: []config.LimitKey{"caller"}},
		{Name: "writes", AtOnce: 1, Wait: 500 * time.Millisecond, By: []config.LimitKey{"address"}, Tools: []string{"*_create"}},
	}
	if diff := cmp.Diff(want, got.Servers[0].Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if !got.Servers[0].LimitHeaders || got.Redis != "redis://:s3cret@127.0.0.1:6379/2" || got.OnRedisFailure != config.RedisFailureClosed {
		t.Errorf("%+v", got)
	}
	reports := got.Servers[0].Limits[2]
	for tool, counts := range map[string]bool{"report_year": true, "audit": true, "audits": false, "my_report_x": false} {
		if reports.Counts(tool) != counts {
			t.Errorf("%s counts: %v", tool, !counts)
		}
	}
}

// Contradictory limits are mistakes, with advice.
func TestLimitMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limits string
		want   []string
	}{
		"an hour below a minute": {
			"{minute: {calls: 100/1m}, hour: {calls: 50/1h}}",
			[]string{"`minute` (100/1m) can never be reached, because `hour` (50/1h) allows less in a longer time", "raise `hour` or lower `minute`"},
		},
		"a minute above an hour": {"{hour: {calls: 50/1h}, minute: {calls: 100/1m}}", []string{"`minute` (100/1m) can never be reached"}},
		"a caller above all callers": {
			"{all: {calls: 50/1m, by: [server]}, one: {calls: 100/1m}}",
			[]string{"`one` (100/1m) can never be reached, because `all` (50/1m) allows less"},
		},
		"a caller above the organisation": {
			"{org: {calls: 50/1h, by: [org]}, one: {calls: 100/1m, by: [caller]}}", []string{"`one` (100/1m) can never be reached"},
		},
		"a tool above all tools": {
			"{one: {calls: 100/1m, tools: [report_*]}, all: {calls: 50/1m}}", []string{"`one` (100/1m) can never be reached"},
		},
		"two for the same calls": {"{a: {calls: 100/1m}, b: {calls: 90/60s}}", []string{"the limit `a` already bounds the same calls", "remove one of them"}},
		"equal":                  {"{minute: {calls: 100/1m}, hour: {calls: 100/1h}}", nil},
		"another caller's":       {"{minute: {calls: 100/1m, by: [caller]}, hour: {calls: 50/1h, by: [address]}}", nil},
		"other tools":            {"{minute: {calls: 100/1m, tools: [a]}, hour: {calls: 50/1h, tools: [b]}}", nil},
		"both":                   {"{a: {calls: 1/1m, at_once: 3}}", []string{"the limit has both `calls` and `at_once`", "make them two limits"}},
		"neither":                {"{a: {by: [org]}}", []string{"neither `calls` nor `at_once`", "add `calls: 100/1m` or `at_once: 4`"}},
		"empty":                  {"{a: }", []string{"neither `calls` nor `at_once`"}},
		"too long":               {"{a: {calls: 5/32d}}", []string{"the window is longer than 31 days", "use `30d` or less"}},
		"too short":              {"{a: {calls: 5/99ms}}", []string{"the window is shorter than 100 ms", "use `1s`"}},
		"an invalid rate":        {"{a: {calls: often}}", []string{"`calls` must be a number of calls in a time", "write it as `100/1m`"}},
		"no call":                {"{a: {calls: 0/1m}}", []string{"`calls` must be a number of calls in a time"}},
		"no time":                {"{a: {calls: 100}}", []string{"`calls` must be a number of calls in a time"}},
		"a number of 13 digits":  {"{a: {calls: 1000000000000/1m}}", []string{"`calls` must be a number of calls in a time"}},
		"a minus":                {"{a: {calls: -5/1m}}", []string{"`calls` must be a number of calls in a time"}},
		"no calls at once":       {"{a: {at_once: 0}}", []string{"`at_once` must be at least 1"}},
		"a queue below 0":        {"{a: {at_once: 1, queue: -1}}", []string{"`queue` must be 0 or more"}},
		"no wait":                {"{a: {at_once: 1, wait: 0s}}", []string{"`wait` must be more than 0"}},
		"a queue of a rate":      {"{a: {calls: 1/1m, queue: 1}}", []string{"`queue` belongs to a limit with `at_once`", "remove it"}},
		"a wait of a rate":       {"{a: {calls: 1/1m, wait: 1s}}", []string{"`wait` belongs to a limit with `at_once`"}},
		"an unknown key":         {"{a: {calls: 1/1m, by: [planet]}}", []string{"must be `caller`, `address`, `org`, `tool` or `server`"}},
		"a key twice":            {"{a: {calls: 1/1m, by: [tool, tool]}}", []string{"`tool` is already in the list"}},
		"no key":                 {"{a: {calls: 1/1m, by: []}}", []string{"`by` is empty", "write `by: [server]`"}},
		"all and one":            {"{a: {calls: 1/1m, by: [server, caller]}}", []string{"`server` counts all calls together"}},
		"a name":                 {"{A b: {calls: 1/1m}}", []string{"this is not a valid name for a limit"}},
		"a tool":                 {"{a: {calls: 1/1m, tools: ['x y']}}", []string{"this is neither the name of a tool nor a pattern"}},
		"an org without access control": {
			"{month: {calls: 50/30d, by: [tool, org]}}",
			[]string{"recourse.yaml:1:92: no caller has an organisation here", "name an entry of `access` whose keys have an `org`"},
		},
		"a misspelt key": {"{a: {cals: 1/1m}}", []string{"unknown key `cals`", "did you mean `calls`?"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("recourse.yaml", []byte("servers: {farm: {url: 'http://127.0.0.1:1/mcp', limits: "+test.limits+"}}\n"), options())
			if (err == nil) != (test.want == nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got:\n%v\nwant %s", err, want)
				}
			}
		})
	}
}

func TestRedisMistakes(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://127.0.0.1:6379/0":       "",
		"rediss://:s3cret@redis:6379":    "",
		"redis://a:1?addr=b:2&addr=c:3":  "",
		"redis://a:1?master_name=b":      "",
		"unix:///run/redis.sock":         "",
		"redis://a:1?master_name=":       "`redis` has a `master_name` that does not name a primary",
		"unix:///a?master_name=b":        "`redis` has a `master_name` that does not name a primary",
		"http://127.0.0.1:6379":          "`redis` must be a redis, rediss or unix URL",
		"127.0.0.1:6379":                 "`redis`",
		"redis:///0":                     "`redis` does not say where Redis is",
		"redis://127.0.0.1:6379/s3cret":  "the path of `redis` must be the number of a database",
		"redis://:s3cret%zz@127.0.0.1:1": "`redis` is not a URL",
		"''":                             "`redis`",
	} {
		_, err := config.Parse("recourse.yaml", []byte("redis: "+address+"\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n"), options())
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", address, err, want)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("the error shows the password: %v", err)
		}
	}
	_, err := config.Parse("recourse.yaml", []byte("on_redis_failure: ignore\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n"), options())
	if err == nil || !strings.Contains(err.Error(), "`on_redis_failure` must be `open` or `closed`") {
		t.Errorf("got %v", err)
	}
}
