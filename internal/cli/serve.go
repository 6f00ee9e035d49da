package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/admin"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/limit"
)

// serveCommand runs the gateway.
type serveCommand struct {
	Config    string           `short:"c" default:"recourse.yaml" placeholder:"FILE" help:"Configuration file (default: recourse.yaml)."`
	HostsFile string           `placeholder:"FILE" help:"Serve the MCP servers that a host lists in this file, without a configuration."`
	Listen    string           `placeholder:"ADDR" help:"Address to listen on; overrides the file's."`
	Log       config.LogFormat `enum:",auto,text,json" default:"" placeholder:"FORMAT" help:"text, json, or auto: text on a terminal."`
	LogLevel  config.LogLevel  `enum:",debug,info,warn,error" default:"" placeholder:"LEVEL" help:"debug, info, warn or error."`
	Check     bool             `help:"Only check whether the files can be served, and where."`
}

// Help shows an example.
func (*serveCommand) Help() string {
	return `The gateway serves each MCP server of the configuration at its path, by default /NAME/mcp, until SIGTERM ` +
		`or Ctrl-C; calls under way are answered first. When its files change, or on SIGHUP, it ` +
		`reloads them.

Example:

    recourse serve -c recourse.yaml`
}

// grace is how long calls in progress may take when the program ends.
const grace = 30 * time.Second

// garbagePercent is GOGC unless the user sets it. A gateway's live heap is a few MB, so with Go's
// default of 100 the collector runs some hundred times a second under load; at 400 a call takes a sixth
// less time, for about 15 MB of memory.
const garbagePercent = 400

// limitMemory sets the memory limit of Go's garbage collector, unless the environment does.
func limitMemory(env *term.Environment, cfg *config.Config) {
	if _, chosen := env.LookupEnv("GOMEMLIMIT"); chosen {
		return
	}
	most := int64(math.MaxInt64)
	if cfg.MemoryLimit > 0 {
		most = int64(cfg.MemoryLimit)
	}
	debug.SetMemoryLimit(most)
}

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, env *term.Environment) error {
	if err := checkListen(c.Listen); err != nil {
		return err
	}
	r, err := c.read(env)
	if errors.Is(err, fs.ErrNotExist) && c.HostsFile != "" {
		return term.Usage(err)
	}
	if err != nil {
		return load.NoConfig(err)
	}
	cfg := r.Config
	if c.Check {
		return c.check(ctx, env, r)
	}
	level := new(slog.LevelVar)
	level.Set(levelOf(cfg.LogLevel))
	log := newLogger(env.Stderr, cfg.Log, level)
	slog.SetDefault(log) // puts what net/http reports about odd servers into the log, too
	if _, chosen := env.LookupEnv("GOGC"); !chosen {
		debug.SetGCPercent(garbagePercent)
	}
	limitMemory(env, cfg)
	r.Contracts.All() // reads the contracts now, so that no failure of a call has to wait for it
	contract.Families()
	kept, err := openStorage(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer kept.close(ctx, log)
	g, err := gateway.NewReaching(gateway.Reach{Connections: kept.connections, Keys: kept.keys()}, cfg, r.Contracts, log)
	if err != nil {
		return err
	}
	defer g.Close()
	kept.observe(g)
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return term.Hint(
			err,
			"choose another address with `listen` in the file or --listen; port 0 takes a free one",
		)
	}
	stopTelling, err := tell(ctx, cfg, g, kept, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer stopTelling()
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	w := newWatcher(c, env, g, kept, log, level, r)
	watching.Go(func() { w.run(watch) })
	defer watching.Wait()
	defer stop()
	runtime.GC() // otherwise what starting has left counts, and the heap grows to five times as much before it is collected
	announce(ctx, r, ln.Addr(), log)
	if err := g.Serve(ctx, ln, grace); err != nil {
		return err
	}
	log.LogAttrs(ctx, slog.LevelInfo, "ended: every call was answered")
	return nil
}

// announce logs what is served, and what an operator should know about it.
func announce(ctx context.Context, r *load.Reading, at net.Addr, log *slog.Logger) {
	cfg := r.Config
	for _, name := range slices.Sorted(maps.Keys(r.Left)) {
		log.LogAttrs(ctx, slog.LevelWarn, "not served: only the host can start it",
			slog.String("server", name), slog.String("reference", r.Left[name]))
	}
	logServing(ctx, log, cfg, scheme(cfg)+at.String())
	warnOfExpiry(ctx, cfg, log)
	warnOfReach(ctx, at, cfg, log)
}

// warnOfReach logs that other machines can call servers that let everybody in.
func warnOfReach(ctx context.Context, addr net.Addr, cfg *config.Config, log *slog.Logger) {
	if open := cfg.Open(); !isLoopback(addr) && len(open) > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "other machines can reach this address, and nobody is asked who they are: "+
			"add `access`, listen on 127.0.0.1, or put a proxy that authenticates callers in front",
			slog.String("address", addr.String()), slog.Any("servers", open))
	}
}

// tell sends traces and serves the admin endpoints until stop is called.
func tell(
	ctx context.Context, cfg *config.Config, g *gateway.Gateway, kept *storage, log *slog.Logger,
) (stop func(), err error) {
	parts := admin.Sources{Gateway: g.Figures, Protections: g.Protections, Limits: g.Limits}
	stopTraces := serveTraces(cfg, g, log, &parts)
	kept.count(&parts)
	stopAdmin, err := serveAdmin(ctx, cfg, g, kept, parts, log)
	if err != nil {
		stopTraces()
		return nil, err
	}
	return func() { stopTraces(); stopAdmin() }, nil
}

// serveAdmin serves the admin endpoints, if they are configured, until stop is called.
func serveAdmin(
	ctx context.Context, cfg *config.Config, g *gateway.Gateway, kept *storage, parts admin.Sources, log *slog.Logger,
) (stop func(), err error) {
	if cfg.Admin == "" {
		return func() {}, nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Admin)
	if err != nil {
		return nil, term.Hint(err, "choose another address with `admin` in the file; port 0 takes a free one")
	}
	a := admin.New(term.Version(), parts)
	g.Observe(a)
	if kept.store != nil {
		a.Watch("store", kept.check)
	}
	a.Watch("redis", func(ctx context.Context) error {
		err := g.CheckRedis(ctx)
		if errors.Is(err, limit.ErrUncounted) {
			return fmt.Errorf("%w: %w", admin.ErrNotReady, err)
		}
		return err
	})
	if cfg.Profiles {
		a.Profile()
	}
	what := "serving health and metrics"
	asked := newOperators(g, kept)
	if cfg.Console {
		a.Show(newConsole(g, kept, asked, log))
		what = "serving health, metrics and the console"
	}
	if cfg.JournalTools {
		a.Offer(newJournalTools(g, kept, asked, log))
	}
	context.AfterFunc(ctx, a.Drain)
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // it reports the drain, too
	var serving sync.WaitGroup
	serving.Go(func() { a.Serve(life, ln, log) })
	log.LogAttrs(ctx, slog.LevelInfo, what, slog.String("address", "http://"+ln.Addr().String()))
	return func() { end(); serving.Wait() }, nil
}

// checkListen reports a --listen that is not an address.
func checkListen(address string) error {
	if address != "" && !config.IsListenAddress(address) {
		return term.Usage(term.Hint(errors.New("--listen is not an address"), "write it as 127.0.0.1:8787; port 0 takes a free one"))
	}
	return nil
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
