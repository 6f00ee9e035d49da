package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
)

var errClosed = errors.New("the gateway is closed")

// Reload puts another configuration in the place of the one that is served; its
// contracts are in set. A request that has come before is answered by the old one,
// every later request by the new one. A server whose entry and contracts say the
// same is kept as it is, with its sessions and processes. One that has been removed,
// or is reached in another way, is closed when its last call ends, and its streams
// end then.
//
// After an error the old configuration stays. Listen is the caller's part.
func (g *Gateway) Reload(cfg *config.Config, set *contract.Set) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return errClosed
	}
	old := g.table.Load()
	t, err := g.newTable(cfg, set, old)
	if err != nil {
		g.mu.Unlock()
		return err
	}
	used := g.adopt(t)
	g.table.Store(t)
	g.mu.Unlock()
	for _, s := range old.servers {
		if !used[s.backend] {
			s.leave()
		}
	}
	g.logReload(old.byName(), t.byName(), cfg.Servers)
	return nil
}

// adopt takes the backends of t into the gateway's care, and returns them.
func (g *Gateway) adopt(t *table) (used map[*backend]bool) {
	used = map[*backend]bool{}
	for _, s := range t.servers {
		used[s.backend] = true
		g.backends[s.backend] = true
	}
	return used
}

func (g *Gateway) logReload(before, after map[string]*server, order config.Servers) {
	var added, changed, kept, removed []string
	for _, entry := range order {
		switch s := before[entry.Name]; s {
		case nil:
			added = append(added, entry.Name)
		case after[entry.Name]:
			kept = append(kept, entry.Name)
		default:
			changed = append(changed, entry.Name)
		}
	}
	for name := range before {
		if after[name] == nil {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	var attrs []slog.Attr
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", added}, {"removed", removed}, {"changed", changed}, {"kept", kept}} {
		if len(part.names) > 0 {
			attrs = append(attrs, slog.Any(part.what, part.names))
		}
	}
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "reloaded", attrs...)
}

// retire closes a backend that nobody holds any more.
func (g *Gateway) retire(b *backend) {
	b.endStreams()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return // Close closes it
	}
	g.work.Go(func() {
		b.close()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.backends, b)
	})
}
