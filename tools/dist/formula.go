package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// formula writes the formula for Homebrew, which installs the archives for macOS and Linux.
func formula(r *release, out string) error {
	version := strings.TrimPrefix(r.version, "v")
	var b bytes.Buffer
	fmt.Fprintf(&b, "class Recourse < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n", summary, homepage, version)
	words := map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}
	for _, system := range []string{"darwin", "linux"} {
		for _, p := range r.programs {
			if p.os != system {
				continue
			}
			name := fmt.Sprintf("recourse_%s_%s_%s.tar.gz", version, p.os, p.arch)
			body, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "\n  on_%s do\n    on_%s do\n      url \"%s/releases/download/v%s/%s\"\n      sha256 \"%x\"\n    end\n  end\n",
				words[p.os], words[p.arch], homepage, version, name, sha256.Sum256(body))
		}
	}
	b.WriteString(`
  def install
    bin.install "recourse"
    bash_completion.install "completions/recourse.bash" => "recourse"
    zsh_completion.install "completions/_recourse"
    fish_completion.install "completions/recourse.fish"
  end

  test do
    assert_match "recourse", shell_output("#{bin}/recourse version")
  end
end
`)
	return save(out, "recourse.rb", b.Bytes())
}
