package uri_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/uri"
)

func TestSpellings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"order_get":                        {"order_get"},
		"file:///public/a":                 {"file:///public/a"},
		"FILE:///public/a":                 {"file:///public/a"},
		"file:///public/../etc/passwd":     {"file:///etc/passwd"},
		"file:///public/./a":               {"file:///public/a"},
		"file:///public/..;x/etc":          {"file:///etc"},
		"file:///public//../etc":           {"file:///public/etc", "file:///etc"},
		"file:///public/%5c..%5cetc":       {"file:///public/%5c..%5cetc", "file:///public/etc", "file:///etc"},
		"file:////public//a":               {"file:////public//a"},
		"file:///public/..":                {"file:///"},
		`file:///public/..\etc`:            {"file:///etc"},
		"file:///public/%2e%2e/etc":        {"file:///public/%2e%2e/etc", "file:///etc"},
		"file:///public/..%2fetc":          {"file:///public/..%2fetc", "file:///etc"},
		"file:///public/%252e%252e/etc":    {"file:///public/%252e%252e/etc", "file:///public/%2e%2e/etc", "file:///etc"},
		"file:///%2525252525252e/a":        nil,
		"file:///public/ ../etc":           {"file:///etc"},
		"file:///public/..%20/etc":         {"file:///public/..%20/etc", "file:///etc"},
		"file:///public/%20..;x/etc":       {"file:///public/%20..;x/etc", "file:///etc"},
		"file:///public/%c0%ae%c0%ae/etc":  nil,
		"file:///public/%25c0%25af":        nil,
		"file:///public/a%00":              nil,
		"file:///public/a%250d%250ab":      nil,
		"file:///public/．．/etc":            {"file:///public/．．/etc", "file:///etc"},
		"file:///public/..∕etc":            {"file:///public/..∕etc", "file:///etc"},
		"file:///public/.\u200d./etc":      {"file:///public/.\u200d./etc", "file:///etc"},
		"file:///public/%E2%80%A5/etc":     {"file:///public/%E2%80%A5/etc", "file:///public/‥/etc", "file:///etc"},
		"file:///public/１／２…":              {"file:///public/１／２…"},
		"file:///public/%C3%A9":            {"file:///public/%C3%A9", "file:///public/é"},
		"http://example.com/a//b?c=../d#e": {"http://example.com/a//b?c=../d#e"},
		"http://example.com/100%":          {"http://example.com/100%"},
	} {
		if diff := cmp.Diff(want, uri.Spellings(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
