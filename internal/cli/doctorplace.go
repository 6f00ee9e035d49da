package cli

import (
	"context"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/store"
)

// listeners looks whether the addresses can be listened on.
func (d *doctor) listeners(ctx context.Context, cfg *config.Config) {
	for key, address := range map[string]string{"listen": cfg.Listen, "admin": cfg.Admin} {
		if address == "" {
			continue
		}
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		switch {
		case err == nil:
			_ = ln.Close() // nobody has connected
		case key == "listen" && servesThere(ctx, cfg):
			d.warnf("a gateway already answers at %s", address)
		case key == "admin" && servesThere(ctx, cfg): // it has both
		default:
			d.problemf("`%s`: %s: choose another address, or end what has it", key, err)
		}
	}
}

// servesThere reports whether what has the port answers as a gateway does: to GET, with 405.
func servesThere(ctx context.Context, cfg *config.Config) bool {
	if cfg.TLS != nil || len(cfg.Servers) == 0 || strings.ContainsAny(cfg.Servers[0].Path, "{}") {
		return false
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+cfg.Listen+cfg.Servers[0].Path, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only the status counts
	return resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusUnauthorized
}

// store looks whether a store that is a file can be written, and has room for the journal.
func (d *doctor) store(cfg *config.Config) {
	path, isFile := strings.CutPrefix(cfg.Store, "sqlite:")
	if !isFile {
		return
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); err != nil {
		return // which the check has said
	}
	f, err := os.CreateTemp(folder, ".recourse-*")
	if err != nil {
		d.problemf("the folder of the store cannot be written: %s", err)
		return
	}
	_ = f.Close()           // it is empty
	_ = os.Remove(f.Name()) // as above
	wants := int64(cfg.Journal.MaxSize)
	if info, err := os.Stat(path); err == nil {
		wants -= info.Size()
	}
	if free := freeSpace(folder); free < wants {
		d.warnf("the store may grow by %d MiB (`max_size` of `journal`), and its disk has %d MiB left", wants>>20, free>>20)
	}
}

// noLimit is the room on a disk of which nothing is known.
const noLimit = math.MaxInt64

// soon is how long before its end a key is worth a warning.
const soon = 30 * 24 * time.Hour

// keys looks for keys that end soon, in the file and in the store, and for accounts that have to be connected again.
func (d *doctor) keys(ctx context.Context, cfg *config.Config) {
	ends := func(what string, at time.Time) {
		switch left := time.Until(at); {
		case at.IsZero() || left > soon:
		case left <= 0:
			d.warnf("%s has ended, on %s", what, at.UTC().Format(time.DateOnly))
		default:
			d.warnf("%s ends on %s", what, at.UTC().Format(time.DateOnly))
		}
	}
	for _, entry := range cfg.Access {
		for i := range entry.Value.Keys {
			key := &entry.Value.Keys[i]
			ends("access "+entry.Key+": the key of "+key.Name, key.ExpiresAt())
		}
	}
	if cfg.Store == "" {
		return
	}
	kept, err := store.OpenExisting(ctx, cfg.Store)
	if err != nil {
		return // which the check has said, or there is none yet
	}
	defer kept.Close()
	stored, err := kept.Keys().List(ctx)
	if err != nil {
		d.problemf("the keys in the store cannot be read: %s", err)
	}
	for _, key := range stored {
		if key.Revoked.IsZero() {
			ends("the key "+key.ID+" of "+key.Name, key.Expires)
		}
	}
	accounts, err := kept.Connections().List(ctx)
	if err != nil {
		d.problemf("the connections in the store cannot be read: %s", err)
	}
	for _, c := range accounts {
		if c.State == connection.Connected && c.Ends.After(c.Expires) {
			ends("the access of "+c.Owner+" to its account at "+c.Provider, c.Ends)
		}
	}
}
