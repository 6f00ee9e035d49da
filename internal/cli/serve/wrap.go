package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/config/hosts"
	"github.com/recoursehq/recourse/internal/gateway"
)

// WrapCommand runs between a host and a server on stdio.
type WrapCommand struct {
	Name      string           `placeholder:"NAME" help:"Display name of the server (default: its command without the folder)."`
	Contract  string           `placeholder:"NAME" help:"Contract in which failures reach the host (default: recourse)."`
	Config    string           `short:"c" placeholder:"FILE" help:"Configuration file with an entry for the server."`
	HostsFile string           `placeholder:"FILE" help:"File in which a host lists its MCP servers, one of which to run."`
	URL       string           `name:"url" placeholder:"URL" help:"Endpoint of a server over HTTP, instead of a command."`
	Journal   bool             `help:"Keep what becomes of calls, where recourse failures finds it without a flag."`
	Server    string           `placeholder:"NAME" help:"${wrap_server}"`
	Log       config.LogFormat `enum:",auto,text,json" default:"" placeholder:"FORMAT" help:"${log_format}"`
	LogLevel  config.LogLevel  `enum:",debug,info,warn,error" default:"" placeholder:"LEVEL" help:"debug, info, warn or error."`
	Command   []string         `arg:"" optional:"" passthrough:"" help:"Command and arguments of the server, after --."`
}

// Help shows an example.
func (*WrapCommand) Help() string {
	return `Speaks MCP on standard input and output, as the server itself would, so that a desktop host can start it instead of the ` +
		`server. The server is started with the first message and again after a crash, and gets the environment of this program. ` +
		`The log goes to standard error. It ends when standard input does, with up to 30 seconds for calls under way, and at once ` +
		`on SIGTERM or Ctrl-C.

Example:

    recourse wrap --name farm -- farmd
    recourse wrap --url https://mcp.example.com/mcp`
}

// Run serves the host until it is gone.
func (c *WrapCommand) Run(ctx context.Context, env *term.Environment) error {
	r, err := c.configuration(env)
	if err != nil {
		return err
	}
	cfg := r.Config
	if c.Log != "" {
		cfg.Log = c.Log
	}
	if c.LogLevel != "" {
		cfg.LogLevel = c.LogLevel
	}
	log := newLogger(env.Stderr, cfg.Log, levelOf(cfg.LogLevel))
	slog.SetDefault(log) // only messages may go to standard output
	// When the host is gone, a write fails, and then the children are stopped gracefully.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	if c.Journal && cfg.Store == "" {
		address, err := load.MakeUserStore()
		if err != nil {
			return err
		}
		cfg.KeepIn(address)
	}
	kept, err := openStorage(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer kept.close(ctx, log)
	g, err := gateway.NewReaching(gateway.Reach{Once: kept.once(), Pins: kept.pins()}, cfg, r.Contracts, log)
	if err != nil {
		return err
	}
	defer g.Close()
	kept.observe(g)
	var reading sync.WaitGroup
	reading.Go(func() { contract.Families() }) // while the server starts, so that no failure has to wait for it
	defer reading.Wait()
	return g.ServeStdio(ctx, cfg.Servers[0].Path, env.Stdin, env.Stdout)
}

// configuration returns the configuration with the single server.
func (c *WrapCommand) configuration(env *term.Environment) (*load.Loaded, error) {
	switch {
	case len(c.Command) > 0 && c.Command[0] == "--":
		c.Command = c.Command[1:]
	case len(c.Command) > 0 && strings.HasPrefix(c.Command[0], "-"): // the first word that is not a flag begins the command
		return nil, term.Usage(fmt.Errorf("unknown flag %s", c.Command[0]))
	}
	r, err := c.read(env)
	if err != nil {
		return nil, err
	}
	s, err := c.choose(r.Config.Servers)
	if err != nil {
		return nil, err
	}
	if c.Contract != "" {
		if _, ok := r.Contracts.Get(c.Contract); !ok {
			return nil, term.Usage(term.Hint(
				fmt.Errorf("there is no contract %q", c.Contract), "known here: "+strings.Join(r.Contracts.Names(), ", "),
			))
		}
		s.Contract = c.Contract
	}
	if c.Name != "" {
		s.Title = c.Name
	}
	if len(s.Command) > 0 {
		s.Local = true
		s.Share = config.ShareClient // there is one client, and the server's questions are for it
		s.Env = env.Variables(s.Env)
	}
	r.Config.Servers = config.Servers{s}
	return r, nil
}

// read returns the configuration that the flags select.
func (c *WrapCommand) read(env *term.Environment) (*load.Loaded, error) {
	switch {
	case c.HostsFile != "" && (len(c.Command) > 0 || c.Config != ""):
		return nil, term.Usage(errors.New("--hosts-file names the server's command: leave out -c and COMMAND"))
	case c.URL != "" && (len(c.Command) > 0 || c.Config != "" || c.HostsFile != ""):
		return nil, term.Usage(errors.New("--url names the server: leave out -c, --hosts-file and COMMAND"))
	case c.HostsFile != "":
		return loaded(c.readHosts(env))
	case c.URL != "":
		return loaded(c.ofURL())
	case c.Config != "":
		r, err := load.Config(c.Config, env.LookupEnv)
		return r, load.ConfigError(err)
	case len(c.Command) == 0 || c.Command[0] == "":
		return nil, term.Usage(term.Hint(
			errors.New("no server given"), "write its command after --: recourse wrap -- npx -y PACKAGE",
		))
	default:
		title := cmp.Or(c.Name, filepath.Base(c.Command[0]))
		return loaded(config.Of(&config.Server{Name: load.ServerName(title), Title: title, Command: c.Command}))
	}
}

// loaded returns a configuration that is in no file.
func loaded(cfg *config.Config, err error) (*load.Loaded, error) {
	return &load.Loaded{Config: cfg, Contracts: contract.Builtin()}, err
}

// ofURL returns the configuration of a server over HTTP.
func (c *WrapCommand) ofURL() (*config.Config, error) {
	host := load.HostOf(c.URL)
	if host == "" {
		return nil, term.Usage(term.Hint(errors.New("--url is not the URL of an MCP server"), "write it as https://mcp.example.com/mcp"))
	}
	title := cmp.Or(c.Name, host)
	return config.Of(&config.Server{Name: load.ServerName(title), Title: title, URL: c.URL})
}

// readHosts returns the configuration with the selected server of the hosts file. Mistakes in other
// entries are ignored here: they are reported when those servers are started.
func (c *WrapCommand) readHosts(env *term.Environment) (*config.Config, error) {
	file, err := load.Hosts(c.HostsFile, hosts.Load)
	if err != nil {
		return nil, err
	}
	if err := load.OnlyStarted(c.HostsFile, file); err != nil {
		return nil, err
	}
	var all config.Servers
	for _, entry := range file.Servers {
		all = append(all, load.Server(entry))
	}
	chosen, err := c.choose(all)
	if err != nil {
		return nil, err
	}
	file.Servers = slices.DeleteFunc(file.Servers, func(s *hosts.Target) bool { return s.Name != chosen.Title })
	servers, err := load.Servers(file, env.LookupEnv)
	if err != nil {
		return nil, err
	}
	return config.Of(servers...)
}

// choose returns the selected server, with the command from the command line.
func (c *WrapCommand) choose(servers config.Servers) (*config.Server, error) {
	var names []string
	var chosen *config.Server
	for _, s := range servers {
		names = append(names, s.Name)
		if c.Server == s.Name || c.Server == s.Title || c.Server == "" && len(servers) == 1 {
			chosen = s
		}
	}
	switch {
	case chosen == nil && c.Server == "":
		return nil, term.Usage(term.Hint(
			errors.New("the file has several servers"), "choose with --server: "+strings.Join(names, ", "),
		))
	case chosen == nil:
		return nil, term.Usage(term.Hint(fmt.Errorf("there is no server %q", c.Server), "there are: "+strings.Join(names, ", ")))
	case len(c.Command) > 0 && chosen.URL != "":
		return nil, term.Usage(fmt.Errorf("the server %s has a `url`: leave out COMMAND", chosen.Name))
	case len(c.Command) > 0:
		chosen.Start(c.Command)
	}
	return chosen, nil
}
