package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config"
)

func TestProtectionDefaults(t *testing.T) {
	t.Parallel()
	src := "servers: {a: {url: http://a/mcp, breaker: {}, concurrency: {max: 8}, tools: {'get_*': {concurrency: {max: 2, queue: 0}}}}, b: {url: http://b/mcp}}\n"
	c, err := config.Parse("recourse.yaml", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Servers[0], c.Servers[1]
	want := &config.Breaker{FailureRate: 0.5, Window: 30 * time.Second, MinCalls: 20, OpenFor: 5 * time.Second, MaxOpen: time.Minute}
	if diff := cmp.Diff(want, a.Breaker); diff != "" {
		t.Errorf("breaker (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&config.Concurrency{Max: 8, Queue: 100, Wait: 10 * time.Second}, a.Concurrency); diff != "" {
		t.Errorf("concurrency (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&config.Concurrency{Max: 2, Wait: 10 * time.Second}, a.Tool("get_field").Concurrency); diff != "" {
		t.Errorf("concurrency of a tool (-want +got):\n%s", diff)
	}
	if b.Breaker != nil || b.Concurrency != nil {
		t.Errorf("without the keys: %+v %+v", b.Breaker, b.Concurrency)
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The examples on the page are valid.
func TestResiliencePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/resilience.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllSubmatch(page, -1)
	if len(blocks) < 1 {
		t.Fatalf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		if _, err := config.Parse("recourse.yaml", block[1], options()); err != nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
}

// A hedge later than every tool's timeout is a mistake.
func TestHedgeWithinTimeout(t *testing.T) {
	t.Parallel()
	for entry, mistake := range map[string]bool{
		"timeout: 5s, hedge: {after: 4999ms}":                               false,
		"timeout: 5s, hedge: {after: 5s}":                                   true,
		"hedge: {after: 60s}":                                               true,
		"timeout: 5s, hedge: {after: 6s}, tools: {long: {timeout: 7s}}":     false,
		"timeout: 5s, hedge: {after: 6s}, tools: {'sho*': {timeout: 6s}}":   true,
		"timeout: 5s, hedge: {after: 6s}, tools: {long: {read_only: true}}": true,
	} {
		_, err := config.Parse("recourse.yaml", []byte("servers: {farm: {url: 'http://127.0.0.1:1/mcp', "+entry+"}}\n"), options())
		if (err != nil) != mistake || mistake && !strings.Contains(err.Error(), "no call is ever sent twice") {
			t.Errorf("%s: %v", entry, err)
		}
	}
}
