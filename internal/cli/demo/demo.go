package demo

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
)

// configuration is the gateway's.
//
//go:embed recourse.yaml
var configuration []byte

// A scene is a call that goes wrong.
type scene struct {
	title string
	tool  string
	args  map[string]any
	// insists says that the client makes a call again by itself when the connection breaks, as that of some frameworks does.
	insists bool
}

var scenes = []scene{
	{title: "A call that works.", tool: getField, args: field("F-1")},
	{title: sceneInsists, tool: orderCreate, args: liters(orderBroken), insists: true},
	{title: sceneAsks, tool: orderGet, args: map[string]any{"reference": orderBroken}},
	{title: "Wrong arguments: one is missing, one has the wrong type.", tool: orderCreate, args: map[string]any{"amount": "lots"}},
	{title: "A tool that does not exist.", tool: "get_feild", args: field("F-1")},
	{title: "The server answers one 503; a moment later it would be well.", tool: getField, args: field(fieldFlaky)},
	{title: "The server limits requests and says for how long.", tool: getField, args: field(fieldBusy)},
	{title: "The tool raises an error full of secrets.", tool: getField, args: field(fieldBroken)},
	{title: "A proxy answers with a web page and HTTP 200.", tool: getField, args: field(fieldHTML)},
	{title: "The server was restarted and has lost its sessions.", tool: getField, args: field(fieldForgotten)},
	{title: "A write whose answer never comes. Was the order created?", tool: orderCreate, args: liters(orderSilent)},
	{title: "So the model asks, as it was told to.", tool: orderGet, args: map[string]any{"reference": orderSilent}},
}

// Titles of scenes that belong together.
const (
	sceneInsists = "The connection breaks during a write, and the client repeats it by itself."
	sceneAsks    = "Instead, the model asks, as it was told to."
)

func field(id string) map[string]any { return map[string]any{"field_id": id} }

func liters(reference string) map[string]any {
	return map[string]any{"reference": reference, "amount": 500}
}

// patience is how long the client waits without Recourse.
const patience = 5 * time.Second

// Addresses of what keeps serving: the usual ones, and any free one.
const (
	defaultListen  = "127.0.0.1:8787"
	defaultConsole = "127.0.0.1:9464"
	freeListen     = "127.0.0.1:0"
)

// shown is what an agent sees of a scene, without and with Recourse.
type shown struct {
	title, call   string
	without, with string
}

// A Show says how a demonstration is shown.
type Show struct {
	Out io.Writer
	// Log is silent until the calls are over, so that it does not come between them. Level is the level of its handler.
	Log   *slog.Logger
	Level *slog.LevelVar
	// Listen is the address of what keeps serving; "" means 127.0.0.1:8787, or a free one if that is taken.
	Listen string
	// Once says to stop after the calls.
	Once bool
	// With are the settings of the reference system.
	With Settings

	saw func(shown) // is told of each scene; may be nil
}

// quiet is a level above all records.
const quiet = slog.LevelError + 1

// Gateway starts a server that fails, and the gateway in front of it, makes the calls, prints what an agent sees, and
// keeps serving until ctx ends.
func (s *Show) Gateway(ctx context.Context) error {
	ln, err := s.listen(ctx)
	if err != nil {
		return err
	}
	return s.gateway(ctx, ln)
}

// listen opens the address before anything is shown. If none was chosen and the usual one is taken, it opens any free
// one.
func (s *Show) listen(ctx context.Context) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(s.Listen, defaultListen))
	if err != nil && s.Listen == "" {
		ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", freeListen)
	}
	if err != nil {
		return nil, term.Hint(err, "choose another address with --listen; port 0 takes a free one")
	}
	return ln, nil
}

// gateway shows the gateway, which serves on ln.
func (s *Show) gateway(ctx context.Context, ln net.Listener) error {
	defer ln.Close() // Serve may have closed it
	s.Level.Set(quiet)
	f := newFarm()
	defer f.close()
	farmURL, stopFarm, err := serveFarm(ctx, f)
	if err != nil {
		return err
	}
	defer stopFarm()

	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", configuration, config.Options{
		KnownContracts: set.Names(),
		LookupEnv:      func(name string) (string, bool) { return farmURL, name == "FARM_URL" },
	})
	if err != nil {
		return fmt.Errorf("the demo's configuration: %w", err)
	}
	cfg.Listen = ln.Addr().String()
	g, err := gateway.New(cfg, set, s.Log)
	if err != nil {
		return err
	}
	defer g.Close()
	var beside started
	defer beside.close()
	if !s.Once {
		if err := s.openConsole(ctx, &beside, g); err != nil {
			return err
		}
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- g.Serve(serving, ln, time.Second) }()

	if err := s.play(ctx, f, farmURL, "http://"+ln.Addr().String()+"/farm/mcp"); err != nil || s.Once {
		stop()
		return errors.Join(err, <-served)
	}
	nameSystems(s.Out)
	instructions(s.Out, ln.Addr().String())
	s.Level.Set(slog.LevelInfo)
	return <-served
}

// openConsole serves the console and prints its address.
func (s *Show) openConsole(ctx context.Context, beside *started, g *gateway.Gateway) error {
	rows, err := beside.store(ctx)
	if err != nil {
		return err
	}
	url, err := beside.console(ctx, defaultConsole, g, rows, nil, s.Log)
	if err == nil {
		printf(s.Out, "Open the console to see each call that fails: %s\n\n", url)
	}
	return err
}

func serveFarm(ctx context.Context, f *farm) (url string, stop func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	const headerTimeout = 5 * time.Second
	srv := &http.Server{Handler: f.handler, ReadHeaderTimeout: headerTimeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // it ends with stop
	}()
	return "http://" + ln.Addr().String() + "/mcp", func() {
		_ = srv.Close() // calls are still hanging on purpose
		<-done
	}, nil
}

// play makes every call twice and prints the results.
func (s *Show) play(ctx context.Context, f *farm, direct, through string) error {
	printf(s.Out, "A farm's MCP server (official Go SDK) at %s,\nthe gateway in front of it at %s,\n"+
		"and the official Go SDK's client, which makes each call to both.\nWhat the agent sees:\n", direct, through)
	for i, scene := range scenes {
		arguments, err := json.Marshal(scene.args)
		if err != nil {
			return fmt.Errorf("scene %d: %w", i+1, err)
		}
		this := shown{title: scene.title, call: scene.tool + " " + string(arguments)}
		printf(s.Out, "\n%2d. %s\n    %s\n", i+1, this.title, this.call)
		for _, side := range []struct {
			name, url string
			saw       *string
		}{{"without", direct, &this.without}, {"with", through, &this.with}} {
			if side.name == "without" && scene.tool == orderGet {
				continue // without Recourse nothing tells the model to ask
			}
			if scene.tool == orderCreate {
				f.forgetOrders()
			}
			if *side.saw, err = scene.see(ctx, f, side.url); err != nil {
				return err
			}
			printf(s.Out, "%s", block(s.Out, side.name, *side.saw))
		}
		if s.saw != nil {
			s.saw(this)
		}
	}
	return nil
}

// exception begins what an agent sees if the client threw.
const exception = "exception"

// see makes the call, twice if the client insists on an answer, and returns what an agent sees.
func (s scene) see(ctx context.Context, f *farm, url string) (string, error) {
	saw, err := call(ctx, url, s)
	if err != nil || !s.insists {
		return saw, err
	}
	if strings.HasPrefix(saw, exception) {
		if saw, err = call(ctx, url, s); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s\nOrders that the farm now has: %d", saw, f.ordersOf(orderBroken)), nil
}

// call makes one call in its own session, and returns what an agent sees.
func call(ctx context.Context, url string, s scene) (string, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", url, err)
	}
	defer session.Close()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	result, err := session.CallTool(waiting, &mcp.CallToolParams{Name: s.tool, Arguments: s.args})
	took := time.Since(start).Round(time.Second)
	at := fmt.Sprintf("Post %q: ", url) // the port is another one each time
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && took == 0:
		return exception + ": " + strings.ReplaceAll(err.Error(), at, ""), nil
	case err != nil:
		return fmt.Sprintf("%s after %s: %s", exception, took, err), nil
	case len(result.Content) == 0:
		return "(an empty result)", nil
	}
	content, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Sprintf("(%T)", result.Content[0]), nil
	}
	return content.Text, nil
}

// block formats a text as a column for w: of 80 columns with those before it, or of fewer if w is a terminal that has fewer.
func block(w io.Writer, name, text string) string {
	const most, least = 64, 24
	var b strings.Builder
	label := fmt.Sprintf("    %-9s", name)
	width := most
	if columns := term.Width(w); columns > 0 {
		width = min(most, max(least, columns-len(label)-len("| ")))
	}
	for line := range strings.Lines(text) {
		for _, part := range wrap(strings.TrimRight(line, "\n"), width) {
			b.WriteString(label + "│ " + part + "\n")
			label = strings.Repeat(" ", len(label))
		}
	}
	return b.String()
}

// wrap breaks a line after spaces and commas or, if there are none, anywhere. All parts get the indentation of the
// line.
func wrap(line string, width int) []string {
	line = strings.ReplaceAll(line, "\t", "  ")
	rest := strings.TrimLeft(line, " ")
	indent := strings.Repeat(" ", min(len(line)-len(rest), width/2))
	rest = strings.Join(strings.Fields(rest), " ")
	width -= len(indent)
	var parts []string
	for len(rest) > width {
		end := strings.LastIndexAny(rest[:width], " ,") + 1
		if end == 0 {
			for end = width; end > 1 && !utf8.RuneStart(rest[end]); {
				end--
			}
		}
		parts = append(parts, indent+strings.TrimSuffix(rest[:end], " "))
		rest = rest[end:]
	}
	return append(parts, indent+rest)
}

func instructions(w io.Writer, addr string) {
	printf(w, `
The gateway keeps serving. Try it in another terminal:

    recourse call get_field field_id=F-busy --server http://%[1]s/farm/mcp
    recourse call order_create reference=A-17 amount=500 --server http://%[1]s/farm/mcp
    recourse check http://%[1]s/farm/mcp

or connect a host to it, for example:

    claude mcp add --transport http farm http://%[1]s/farm/mcp

Every failure is one line of the log below. Ctrl-C ends it.

`, addr)
}

func printf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // a terminal that is gone needs no answer
}
