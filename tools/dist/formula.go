package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// An archived program is one that Homebrew can install.
type archived struct{ System, Processor, Name, Sum string }

//nolint:dupword // as Ruby has it
var formulaText = template.Must(template.New("").Parse(`class Recourse < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Archives}}
  on_{{.System}} do
    on_{{.Processor}} do
      url "{{$.Homepage}}/releases/download/v{{$.Version}}/{{.Name}}"
      sha256 "{{.Sum}}"
    end
  end
{{end}}
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
`))

// formula writes the formula for Homebrew, which installs the archives for macOS and Linux.
func formula(r *release, out string) error {
	version := strings.TrimPrefix(r.version, "v")
	words := strings.NewReplacer("darwin", "macos", "amd64", "intel", "arm64", "arm")
	var archives []archived
	for _, p := range r.programs {
		name := fmt.Sprintf("recourse_%s_%s_%s.tar.gz", version, p.os, p.arch)
		body, err := os.ReadFile(filepath.Join(out, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a zip
		}
		if err != nil {
			return err
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(body))
		archives = append(archives, archived{words.Replace(p.os), words.Replace(p.arch), name, sum})
	}
	var text bytes.Buffer
	err := formulaText.Execute(&text, map[string]any{"Summary": summary, "Homepage": homepage, "Version": version, "Archives": archives})
	if err != nil {
		return err
	}
	return save(out, "recourse.rb", text.Bytes())
}
