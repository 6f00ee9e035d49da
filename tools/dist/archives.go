package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// archives writes one archive for each platform: a zip file for Windows, a tar.gz for the others. Its files
// are in a folder with the archive's name.
func archives(r *release, out string) error {
	for _, p := range r.programs {
		name := fmt.Sprintf("recourse_%s_%s_%s", strings.TrimPrefix(r.version, "v"), p.os, p.arch)
		files := append([]archiveFile{{name: p.name(), body: p.body, mode: 0o755}}, r.beside(p)...)
		for i := range files {
			files[i].name = path.Join(name, files[i].name)
		}
		format, extension := gzipped, ".tar.gz"
		if p.os == "windows" {
			format, extension = zipped, ".zip"
		}
		body, err := format(files, r.modified)
		if err != nil {
			return err
		}
		if err := save(out, name+extension, body); err != nil {
			return err
		}
	}
	return nil
}

// gzipped returns the files as a tar archive, compressed by gzip.
func gzipped(files []archiveFile, modified time.Time) ([]byte, error) {
	plain, err := tarred(files, modified)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close() // Close writes the rest
	return b.Bytes(), err
}

// tarred returns the files as a tar archive. They belong to nobody in particular.
func tarred(files []archiveFile, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.body)), Mode: int64(f.mode), ModTime: modified, Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close() // Close writes the rest
	return b.Bytes(), err
}

// zipped returns the files as a zip archive.
func zipped(files []archiveFile, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(f.mode)
		in, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := in.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close() // Close writes the rest
	return b.Bytes(), err
}

// checksums writes the checksums of all files, in the format of sha256sum --check.
func checksums(_ *release, out string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, entry := range entries { // sorted by name
		body, err := os.ReadFile(filepath.Join(out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(body), entry.Name())
	}
	return save(out, mark, lines.Bytes())
}
