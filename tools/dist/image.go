package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the user that the program runs as in a container.
const nobody = "65532:65532"

// image writes an OCI image layout for the Linux platforms, as one tar archive. It only contains the program
// and its licenses: the program includes the certificates that it needs.
func image(r *release, out string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		img, err := r.image(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
		found = true
	}
	if !found {
		return nil
	}
	dir, err := os.MkdirTemp("", "recourse-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	tag := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": strings.ReplaceAll(r.version, "+", "-")})
	if err := at.AppendIndex(index, tag); err != nil {
		return err
	}
	files, err := read(dir)
	if err != nil {
		return err
	}
	body, err := tarred(files, r.modified)
	if err != nil {
		return err
	}
	return save(out, "recourse_"+strings.TrimPrefix(r.version, "v")+"_image.tar", body)
}

// image returns the image for a platform.
func (r *release) image(p binary) (v1.Image, error) {
	content := []archiveFile{{name: "usr/bin/recourse", body: p.body, mode: 0o755}}
	for _, f := range r.beside(p) {
		if path.Dir(f.name) == "." {
			content = append(content, archiveFile{name: "usr/share/doc/recourse/" + f.name, body: f.body, mode: f.mode})
		}
	}
	plain, err := tarred(content, r.modified)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.modified}, CreatedBy: "make dist"},
	})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.modified}
	config.Config = v1.Config{
		User: nobody, Entrypoint: []string{"/usr/bin/recourse"}, Cmd: []string{"serve", "-c", "/etc/recourse/recourse.yaml"},
		Env: []string{"PATH=/usr/bin"}, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title": "recourse", "org.opencontainers.image.description": summary,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version": r.version,
		},
	}
	return mutate.ConfigFile(img, config)
}

// read returns the files below a folder, sorted by name.
func read(dir string) ([]archiveFile, error) {
	var files []archiveFile
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile(filepath.Join(dir, name))
		files = append(files, archiveFile{name: name, body: body, mode: 0o644})
		return err
	})
	slices.SortFunc(files, func(a, b archiveFile) int { return strings.Compare(a.name, b.name) })
	return files, err
}
