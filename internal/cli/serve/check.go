package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/store"
)

// issuerTimeout limits how long fetching the keys of all issuers may take.
const issuerTimeout = 5 * time.Second

// warnOfIssuers warns about token issuers whose keys cannot be fetched now.
func warnOfIssuers(ctx context.Context, env *term.Environment, cfg *config.Config) {
	issuers := auth.NewIssuers(http.DefaultTransport)
	defer issuers.Close()
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	for _, entry := range cfg.Access {
		if j := entry.Value.JWT; j != nil {
			if err := issuers.Keys(j.Issuer, j.JWKS).Fetch(ctx); err != nil {
				env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: access %s: the keys of %s cannot be fetched now: %s\n",
					entry.Key, j.Issuer, err)
			}
		}
	}
}

// redisTimeout and storeTimeout limit how long the checks of Redis and of the store wait. SQLite waits for 5 seconds
// for a file that is locked, and PostgreSQL's driver for a connection.
const (
	redisTimeout = 5 * time.Second
	storeTimeout = 10 * time.Second
)

// warnOfRedis warns if Redis cannot count calls now. The gateway starts without it.
func warnOfRedis(ctx context.Context, env *term.Environment, cfg *config.Config) {
	if cfg.Redis == "" {
		return
	}
	redis, err := limit.OpenRedis(cfg.Redis, redisTimeout)
	if err == nil {
		err = errors.Join(redis.Check(ctx), redis.Close())
	}
	if err != nil {
		env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: Redis cannot be used now: %s\n", err)
	}
}

// checkStore returns why the store cannot be opened. It only warns if that may pass by itself: the file can be right
// although the database cannot be reached from here.
func checkStore(ctx context.Context, env *term.Environment, cfg *config.Config) error {
	if cfg.Store == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	pending, err := store.Check(ctx, cfg.Store)
	switch {
	case errors.Is(err, store.ErrUnreachable), errors.Is(err, store.ErrLocked):
		env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: the gateway could not start now: %s\n", err)
		return nil
	case err != nil:
		return load.StoreError(err)
	case pending:
		term.Printf(env.Stdout, "  the store is created or updated when the gateway starts\n")
	}
	return nil
}

// warnings returns what an operator should know about a configuration without mistakes.
func warnings(r *load.Loaded) []string {
	return slices.Concat(warningsOfUsers(r), warningsOfTimeouts(r), warningsOfExchange(r.Config))
}

// howToInstall says where a program comes from.
func howToInstall(missing string) string {
	switch program, _, _ := strings.Cut(missing, " "); program {
	case "node", "npx", "npm":
		return "install Node.js, which brings it, or put its full path in `command`"
	case "uv", "uvx":
		return "install uv, which brings it, or put its full path in `command`"
	default:
		return "install it, or put its full path in `command`"
	}
}

// Check reports whether a file can be served, as `serve --check` does. Without a reading, it cannot even be read.
func Check(ctx context.Context, env *term.Environment, path string) (*load.Loaded, error) {
	c := &Command{Config: path, Check: true}
	r, err := c.read(env)
	if err != nil {
		return nil, load.ConfigError(err)
	}
	return r, c.check(ctx, env, r)
}

// check reports that the configuration can be served, and where each server would be.
func (c *Command) check(ctx context.Context, env *term.Environment, r *load.Loaded) error {
	cfg := r.Config
	file := c.Config
	if c.HostsFile != "" {
		file = c.HostsFile
	}
	term.Printf(env.Stdout, "%s: no mistakes\n", file)
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	var missing []string
	for _, s := range cfg.Servers {
		term.Printf(w, "  %s\t%s\tcontract %s", s.Name, reachedAt(s, scheme(cfg)+cfg.Listen), s.Contract)
		if s.Known != nil {
			term.Printf(w, ", profile %s (%s)", s.Known.Name, s.Known.Package())
		}
		if offered := s.Describe(); offered != "" {
			term.Printf(w, "\t%s", offered)
		}
		term.Printf(w, "\n")
		if len(s.Command) == 0 {
			continue
		}
		if _, err := exec.LookPath(s.Command[0]); err != nil && s.Cwd == "" {
			missing = append(missing, s.Command[0]+" (server "+s.Name+")")
		}
	}
	for _, e := range cfg.Endpoints {
		term.Printf(w, "  %s\t%s%s%s\tcontract %s, servers %s\n",
			e.Name, scheme(cfg), cfg.Listen, e.Path, e.Contract, strings.Join(serversOf(e), ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Left)) {
		term.Printf(w, "  %s\tleft to its host, since only the host knows %s\n", name, r.Left[name])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if cfg.TLS != nil {
		at, soon := cfg.TLS.Expires()
		term.Printf(env.Stdout, "  the certificate expires on %s\n", at.UTC().Format(time.DateOnly))
		if soon {
			env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: %s\n", expiry(at))
		}
	}
	for _, warning := range warnings(r) {
		env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: %s\n", warning)
	}
	for _, warning := range warningsOfOnce(cfg) {
		env.Painter(env.Stderr).Printf(term.Plain, "recourse: warning: %s\n", warning)
	}
	warnOfIssuers(ctx, env, cfg)
	warnOfRedis(ctx, env, cfg)
	err := checkStore(ctx, env, cfg)
	if len(missing) > 0 {
		err = errors.Join(err, term.Hint(
			fmt.Errorf("cannot find the program %s", strings.Join(missing, ", ")), howToInstall(missing[0]),
		))
	}
	return err
}
