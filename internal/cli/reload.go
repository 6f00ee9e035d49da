package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/hosts"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

const (
	// pollInterval is how often the files are checked.
	pollInterval = 2 * time.Second
	// settleTime is how long they must stay unchanged before they are read again, so that none is read
	// half-written.
	settleTime = 200 * time.Millisecond
)

// A reading is a configuration that was read, with its files.
type reading struct {
	config *config.Config
	set    *contract.Set
	files  fingerprints
	left   map[string]string // servers that only their host can start, each with what only the host knows
}

// fingerprints are the hashes of files by path; a file that cannot be read has a zero hash.
type fingerprints map[string][sha256.Size]byte

// current returns the fingerprints of the same files now.
func (f fingerprints) current() fingerprints {
	now := make(fingerprints, len(f))
	for path := range f {
		_, _ = now.read(path) // a missing file has another hash, too
	}
	return now
}

func (f fingerprints) read(path string) ([]byte, error) {
	f[path] = [sha256.Size]byte{}
	src, err := os.ReadFile(filepath.Clean(path))
	if err == nil {
		f[path] = sha256.Sum256(src)
	}
	return src, err
}

// read reads the configuration file and the contract files in it, or the hosts file. Even with an
// error, the reading says which files those are.
func (c *serveCommand) read(env *Environment) (*reading, error) {
	r := &reading{set: contract.Builtin(), files: fingerprints{}}
	readConfig := r.readConfig
	path := c.Config
	if c.HostsFile != "" {
		readConfig, path = r.readHosts, c.HostsFile
	}
	if err := readConfig(path, env); err != nil {
		return r, err
	}
	if c.Listen != "" {
		r.config.Listen = c.Listen
	}
	if c.Log != "" {
		r.config.Log = c.Log
	}
	if c.LogLevel != "" {
		r.config.LogLevel = c.LogLevel
	}
	return r, nil
}

func (r *reading) readConfig(path string, env *Environment) error {
	src, err := r.files.read(path)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	r.config, err = config.Parse(path, src, config.Options{
		LookupEnv:      env.LookupEnv,
		KnownContracts: r.set.Names(),
		KnownFamilies:  familyNames(),
		LoadContract: func(path string) (string, error) {
			src, err := r.files.read(path)
			return addContract(r.set, path, src, err)
		},
		LoadFamily: func(path string) (string, error) {
			src, err := r.files.read(path)
			return addFamily(r.set, path, src, err)
		},
		ReadFile: r.files.read,
	})
	if err == nil {
		keepLists(r.config, path)
	}
	return err
}

func (r *reading) readHosts(path string, env *Environment) error {
	src, err := r.files.read(path)
	if err != nil {
		return fmt.Errorf("read the hosts file: %w", err)
	}
	file, err := hosts.Parse(path, src)
	if err != nil {
		return err
	}
	if err := started(path, file); err != nil {
		return err
	}
	if r.left, err = leftToHost(path, file); err != nil {
		return err
	}
	servers, err := hostsServers(file, env.LookupEnv)
	if err != nil {
		return err
	}
	r.config, err = config.Of(servers...)
	return err
}

// A watcher applies the configuration again when its files change, and after SIGHUP on systems that
// have it.
type watcher struct {
	command *serveCommand
	env     *Environment
	gateway *gateway.Gateway
	kept    *storage
	log     *slog.Logger
	level   *slog.LevelVar // of the log
	running *config.Config // what cannot change stays as it is here
	files   fingerprints   // as of the last reading
	hangups chan os.Signal
}

// newWatcher returns the watcher for a gateway that serves r. From now on SIGHUP does not end the
// program; run must be called.
func newWatcher(
	c *serveCommand, env *Environment, g *gateway.Gateway, kept *storage, log *slog.Logger, level *slog.LevelVar, r *reading,
) *watcher {
	w := &watcher{
		command: c, env: env, gateway: g, kept: kept, log: log, level: level,
		running: r.config, files: r.files, hangups: make(chan os.Signal, 1),
	}
	signal.Notify(w.hangups, syscall.SIGHUP) // never arrives on Windows
	return w
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	defer signal.Stop(w.hangups)
	interval := w.env.Poll
	if interval == 0 {
		interval = pollInterval
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var changed fingerprints // as of when the change was noticed
	for {
		next := interval
		select {
		case <-ctx.Done():
			return
		case <-w.hangups:
			w.reload(ctx)
		case <-timer.C:
			switch now := w.files.current(); {
			case maps.Equal(now, w.files):
			case !maps.Equal(now, changed):
				changed, next = now, min(settleTime, interval)
			default:
				w.reload(ctx)
			}
		}
		timer.Reset(next)
	}
}

// reload applies the current configuration, or logs why it does not.
func (w *watcher) reload(ctx context.Context) {
	r, err := w.command.read(w.env)
	w.files = r.files // a bad file is not read again until it changes
	var restart []string
	if err == nil {
		restart = w.fixed(r.config)
		err = w.gateway.Reload(r.config, r.set) //nolint:contextcheck // it takes no time and is not broken off
	}
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "reload failed; keeping the old configuration", slog.Any("mistakes", mistakesOf(err)))
		report(w.env.painter(w.env.Stderr), err)
		return
	}
	w.running = r.config
	w.kept.configure(r.config)
	w.level.Set(levelOf(r.config.LogLevel))
	limitMemory(w.env, r.config)
	warnOfExpiry(ctx, r.config, w.log)
	if len(restart) > 0 {
		w.log.LogAttrs(ctx, slog.LevelWarn, "a restart is needed for some changes", slog.Any("keys", restart))
	}
}

// fixed resets the settings that cannot change while the gateway runs, and returns the keys that would
// have changed.
func (w *watcher) fixed(c *config.Config) (keys []string) {
	if c.Listen != w.running.Listen {
		keys = append(keys, "listen")
	}
	if c.Admin != w.running.Admin {
		keys = append(keys, "admin")
	}
	if (c.TLS == nil) != (w.running.TLS == nil) {
		keys = append(keys, "tls")
		c.TLS = w.running.TLS
	}
	if !sameCollector(c.Tracing, w.running.Tracing) {
		keys = append(keys, "tracing")
		c.Tracing = w.running.Tracing
	}
	if c.Store != w.running.Store {
		keys = append(keys, "store")
		c.Store = w.running.Store
	}
	if c.Front != w.running.Front {
		keys = append(keys, "front")
	}
	if c.Log != w.running.Log {
		keys = append(keys, "log")
	}
	if c.Console != w.running.Console {
		keys = append(keys, "console")
	}
	if c.ConsoleAccess != w.running.ConsoleAccess || c.ConsoleRole != w.running.ConsoleRole {
		keys = append(keys, "console_access")
	}
	c.ConsoleAccess, c.ConsoleRole = w.running.ConsoleAccess, w.running.ConsoleRole
	if c.JournalTools != w.running.JournalTools {
		keys = append(keys, "journal_tools")
	}
	if c.Profiles != w.running.Profiles {
		keys = append(keys, "profiles")
	}
	c.AdminRemote, c.Console, c.JournalTools = w.running.AdminRemote, w.running.Console, w.running.JournalTools
	c.Profiles = w.running.Profiles
	c.Listen, c.Admin, c.Front, c.Log = w.running.Listen, w.running.Admin, w.running.Front, w.running.Log
	return keys
}

// mistakesOf returns the mistakes in a configuration, one per line.
func mistakesOf(err error) []string {
	mistakes, ok := errors.AsType[strictyaml.Errors](err)
	if !ok {
		return []string{err.Error()}
	}
	lines := make([]string, len(mistakes))
	for i, mistake := range mistakes {
		lines[i], _, _ = strings.Cut(mistake.Error(), "\n")
	}
	return lines
}
