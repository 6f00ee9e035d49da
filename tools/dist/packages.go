package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

const (
	homepage = "https://github.com/recoursehq/recourse"
	summary  = "Truthful, usable failures for MCP tools"
	about    = summary + `
A gateway in front of MCP servers. It checks arguments, keeps deadlines, repeats
what is safe to repeat, and tells agents what happened, whether anything was
changed, and what to do next.`
)

// packages writes a deb and an rpm for each Linux program.
func packages(r *release, out string) error {
	work, err := os.MkdirTemp("", "recourse-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		for _, kind := range []struct {
			nfpm.Packager

			zsh string // where zsh looks for completions
		}{{deb.Default, "vendor-completions"}, {rpm.DefaultRPM, "site-functions"}} {
			info, err := r.describe(p, work, kind.zsh)
			if err != nil {
				return err
			}
			info.Target = kind.ConventionalFileName(info)
			var body bytes.Buffer
			if err := kind.Package(info, &body); err != nil {
				return fmt.Errorf("%s: %w", info.Target, err)
			}
			if err := save(out, info.Target, body.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe returns the content and the metadata of a package. The files are written to work first.
func (r *release) describe(p binary, work, zsh string) (*nfpm.Info, error) {
	contents := files.Contents{}
	add := func(to string, body []byte, mode os.FileMode) error {
		from := filepath.Join(work, p.arch+strings.ReplaceAll(to, "/", "-"))
		contents = append(contents, &files.Content{
			Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.modified, Owner: "root", Group: "root"},
		})
		return os.WriteFile(from, body, 0o600)
	}
	places := map[string]string{
		"completions/recourse.bash": "/usr/share/bash-completion/completions/recourse",
		"completions/_recourse":     "/usr/share/zsh/" + zsh + "/_recourse",
		"completions/recourse.fish": "/usr/share/fish/vendor_completions.d/recourse.fish",
	}
	if err := add("/usr/bin/recourse", p.body, 0o755); err != nil {
		return nil, err
	}
	for _, f := range r.beside(p) {
		to := places[f.name]
		if to == "" {
			to = "/usr/share/doc/recourse/" + f.name
		}
		if err := add(to, f.body, f.mode); err != nil {
			return nil, err
		}
	}
	for _, f := range r.service {
		if err := add(f.name, f.body, f.mode); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(contents, func(a, b *files.Content) int { return strings.Compare(a.Destination, b.Destination) })
	for name, script := range r.scripts {
		if err := os.WriteFile(filepath.Join(work, name), script, 0o600); err != nil {
			return nil, err
		}
	}
	return nfpm.WithDefaults(&nfpm.Info{
		Name: "recourse", Arch: p.arch, Platform: p.os, Version: r.version, VersionSchema: "semver", Section: "net", Priority: "optional",
		Maintainer: "The Recourse authors", Vendor: "Recourse", Homepage: homepage, License: "Apache-2.0", MTime: r.modified,
		Description: about,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(work, "postinstall.sh"), PreRemove: filepath.Join(work, "preremove.sh"),
			},
			Deb: nfpm.Deb{Compression: "gzip"},
			RPM: nfpm.RPM{Summary: summary, Compression: "gzip", BuildHost: "localhost"},
		},
	}), nil
}
