package archtest_test

import (
	"path"
	"regexp"
	"testing"
)

// registries are the hosts of package registries, and URLs that a lock file resolves to.
var registries = regexp.MustCompile(`registry[.](npmjs|yarnpkg)[.]|(proxy|sum)[.]golang[.]org|goproxy[.](io|cn)`)

var resolvedURL = regexp.MustCompile(`"resolved":\s*"https?:`)

// The repository leaves the choice of a registry to the machine that installs. Lock files have versions and sums only, as
// npm's omit-lockfile-registry-resolved writes them.
func TestNoRegistryIsNamed(t *testing.T) {
	t.Parallel()

	for _, f := range readFiles(t) {
		if registries.Match(f.data) || path.Base(f.path) == "package-lock.json" && resolvedURL.Match(f.data) {
			t.Errorf("%s names a package registry", f.path)
		}
	}
}
