package serve

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

const (
	// pollInterval is how often the files are checked.
	pollInterval = 2 * time.Second
	// settleTime is how long they must stay unchanged before they are read again, so that none is read
	// half-written.
	settleTime = 200 * time.Millisecond
)

// A watcher applies the configuration again when its files change, and after SIGHUP on systems that
// have it.
type watcher struct {
	command *Command
	env     *term.Environment
	gateway *gateway.Gateway
	kept    *storage
	log     *slog.Logger
	level   *slog.LevelVar    // of the log
	running *config.Config    // what cannot change stays as it is here
	files   load.Fingerprints // as of the last reading
	hangups chan os.Signal
}

// newWatcher returns the watcher for a gateway that serves r. Until close SIGHUP does not end the program, also while it answers
// the last calls.
func newWatcher(
	c *Command, env *term.Environment, g *gateway.Gateway, kept *storage, log *slog.Logger, level *slog.LevelVar, r *load.Loaded,
) *watcher {
	w := &watcher{
		command: c, env: env, gateway: g, kept: kept, log: log, level: level,
		running: r.Config, files: r.Files, hangups: make(chan os.Signal, 1),
	}
	signal.Notify(w.hangups, syscall.SIGHUP) // never arrives on Windows
	return w
}

// close gives SIGHUP back its meaning.
func (w *watcher) close() { signal.Stop(w.hangups) }

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	interval := w.env.Poll
	if interval == 0 {
		interval = pollInterval
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var changed load.Fingerprints // as of when the change was noticed
	for {
		next := interval
		select {
		case <-ctx.Done():
			return
		case <-w.hangups:
			w.reload(ctx)
		case <-timer.C:
			switch now := w.files.Current(); {
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
	w.files = r.Files // a bad file is not read again until it changes
	var restart []string
	if err == nil {
		restart = w.fixed(r.Config)
		err = w.gateway.Reload(r.Config, r.Contracts)
	}
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "reload failed; keeping the old configuration", slog.Any("mistakes", mistakesOf(err)))
		term.Report(w.env.Painter(w.env.Stderr), err)
		return
	}
	w.running = r.Config
	w.kept.configure(r.Config)
	w.level.Set(levelOf(r.Config.LogLevel))
	limitMemory(w.env, r.Config)
	warnOfExpiry(ctx, r.Config, w.log)
	if len(restart) > 0 {
		w.log.LogAttrs(ctx, slog.LevelWarn, "a restart is needed for some changes", slog.Any("keys", restart))
	}
}

// fixed resets the settings that cannot change while the gateway runs, and returns the keys that would
// have changed.
func (w *watcher) fixed(c *config.Config) (keys []string) {
	was := w.running
	otherTLS, otherTracing := (c.TLS == nil) != (was.TLS == nil), !sameCollector(c.Tracing, was.Tracing)
	for _, setting := range []struct {
		key     string
		changes bool
	}{
		{"listen", c.Listen != was.Listen},
		{"admin", c.Admin != was.Admin},
		{"tls", otherTLS},
		{"tracing", otherTracing},
		{"store", c.Store != was.Store},
		{"log", c.Log != was.Log},
		{"console", c.Console != was.Console},
		{"console_access", c.ConsoleAccess != was.ConsoleAccess || c.ConsoleRole != was.ConsoleRole},
		{"journal_tools", c.JournalTools != was.JournalTools},
		{"profiles", c.Profiles != was.Profiles},
	} {
		if setting.changes {
			keys = append(keys, setting.key)
		}
	}
	if otherTLS { // another pair of files is followed
		c.TLS = was.TLS
	}
	if otherTracing {
		c.Tracing = was.Tracing
	}
	c.Listen, c.Admin, c.AdminRemote, c.Store, c.Log = was.Listen, was.Admin, was.AdminRemote, was.Store, was.Log
	c.Console, c.ConsoleAccess, c.ConsoleRole = was.Console, was.ConsoleAccess, was.ConsoleRole
	c.JournalTools, c.Profiles = was.JournalTools, was.Profiles
	return keys
}

// sameCollector reports whether traces go to the same place in the same way.
func sameCollector(a, b *config.Tracing) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Endpoint == b.Endpoint && maps.Equal(a.Headers, b.Headers)
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
