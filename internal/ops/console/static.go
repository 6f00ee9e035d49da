package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"sync"
)

// The script htmx.js is htmx 4.0.1, and htmx-sse.js its extension for events; htmx.LICENSE is the licence of both (0BSD).
//
//go:embed static
var static embed.FS

const staticPrefix = "/static/"

// A staticFile is a file that pages refer to.
type staticFile struct {
	body        []byte
	contentType string
	version     string // changes with the body
}

// staticFiles are read when a page is first shown: otherwise every start of the program would pay for it.
var staticFiles = sync.OnceValue(readStatic)

func readStatic() map[string]*staticFile {
	files := map[string]*staticFile{}
	entries, _ := fs.ReadDir(static, "static") // it is embedded
	for _, e := range entries {
		body, _ := static.ReadFile("static/" + e.Name())
		sum := sha256.Sum256(body)
		kind := "text/plain; charset=utf-8"
		switch path.Ext(e.Name()) {
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".svg":
			kind = "image/svg+xml"
		}
		files[e.Name()] = &staticFile{body, kind, hex.EncodeToString(sum[:6])}
	}
	return files
}

// staticURL returns the URL of a file, which changes with its content.
func staticURL(name string) string { return staticPrefix + name + "?v=" + staticFiles()[name].version }

func serveStatic(w http.ResponseWriter, r *http.Request) {
	f := staticFiles()[r.PathValue("name")]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.contentType)
	if r.URL.Query().Get("v") == f.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(f.body) // a browser that has gone needs no file
}
