// Package serve holds the commands that run a gateway: serve, wrap and demo.
package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
)

// Command is the command serve, which runs the gateway.
type Command struct {
	Config    string           `short:"c" default:"recourse.yaml" placeholder:"FILE" help:"${config_file}"`
	HostsFile string           `placeholder:"FILE" help:"${served_hosts}"`
	Listen    string           `placeholder:"ADDR" help:"Address to listen on; overrides the file's."`
	Log       config.LogFormat `enum:",auto,text,json" default:"" placeholder:"FORMAT" help:"${log_format}"`
	LogLevel  config.LogLevel  `enum:",debug,info,warn,error" default:"" placeholder:"LEVEL" help:"debug, info, warn or error."`
	Check     bool             `help:"Only check whether the files can be served, and where."`
}

// Help shows an example.
func (*Command) Help() string {
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
func (c *Command) Run(ctx context.Context, env *term.Environment) error {
	if err := checkListen(c.Listen); err != nil {
		return err
	}
	r, err := c.read(env)
	if errors.Is(err, fs.ErrNotExist) && c.HostsFile != "" {
		return term.Usage(err)
	}
	if err != nil {
		return load.ConfigError(err)
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
	reach := gateway.Reach{Connections: kept.connections, Keys: kept.keys(), Once: kept.once(), Pins: kept.pins(), Lists: r.Lists}
	g, err := gateway.NewReaching(reach, cfg, r.Contracts, log)
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
	w := newWatcher(c, env, g, kept, log, level, r)
	defer w.close()
	stopTelling, err := tell(ctx, cfg, g, kept, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer stopTelling()
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
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

// checkListen reports a --listen that is not an address.
func checkListen(address string) error {
	if address != "" && !config.IsListenAddress(address) {
		return term.Usage(term.Hint(errors.New("--listen is not an address"), "write it as 127.0.0.1:8787; port 0 takes a free one"))
	}
	return nil
}

// read reads the configuration file and the contract files in it, or the hosts file. Even with an
// error, the reading says which files those are.
func (c *Command) read(env *term.Environment) (*load.Loaded, error) {
	read, path := load.Config, c.Config
	if c.HostsFile != "" {
		read, path = load.HostsConfig, c.HostsFile
	}
	r, err := read(path, env.LookupEnv)
	if err != nil {
		return r, err
	}
	if c.Listen != "" {
		r.Config.Listen = c.Listen
	}
	if c.Log != "" {
		r.Config.Log = c.Log
	}
	if c.LogLevel != "" {
		r.Config.LogLevel = c.LogLevel
	}
	return r, nil
}
