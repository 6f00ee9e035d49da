package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/patterns"
	"github.com/recoursehq/recourse/systems/studies"
	"github.com/recoursehq/recourse/systems/terra"
)

// A reference is a reference system.
type reference struct {
	name     string
	about    string
	settings []setting
	start    func(log *slog.Logger, with Settings) (systems.System, error)
}

const (
	// patient is how long a backend may take in a demonstration.
	patient = 2 * time.Second
	// pollEvery is how often a call that waits for something asks about it.
	pollEvery = 200 * time.Millisecond
)

// references are the reference systems, by name.
var references = []reference{
	{
		"commerce", "an order server that works through an adapter",
		[]setting{
			within,
			{"limit", "N", "how many calls there may be in a minute; the next one is 3001"},
			{"unsupported", "", "an adapter that supports no tool: every call is 5001"},
		},
		func(log *slog.Logger, with Settings) (systems.System, error) {
			o := commerce.Options{Logger: log, Timeout: with.timeout(), PerMinute: with.number("limit")}
			if with.has("unsupported") {
				o.Adapter = commerce.Unsupported{}
			}
			return commerce.New(o)
		},
	},
	{
		farmers, "a gateway in front of a provider of data on fields",
		[]setting{
			within,
			{"as", "ORGANISATION", "who calls: lapsed, revoked, narrow, new and suspended cannot do what willow can"},
			{"minute", "N", "how many calls there may be in a minute; the next one is HTTP 429, on stdio RATE_LIMIT_ORG"},
			{"month", "N", "how many calls there may be in a month"},
			{"now", "TIME", "what time it is once the accounts have been connected, such as 2027-01-31T23:59:30Z, " +
				"where a month ends, or 2160h from now, when they lapse"},
		},
		startFieldmcp,
	},
	{
		"patterns", "a server of design patterns that asks back",
		[]setting{
			within,
			{"limit", "N", "how many calls there may be in a minute; the next one is CLIENT_ERROR with status 429"},
			{"library-key", "KEY", "the key for the server's library, which refuses any other than pk_local_library"},
			{"key", "KEY", "the bearer token that clients must send; without it they get HTTP 401"},
		},
		func(log *slog.Logger, with Settings) (systems.System, error) {
			return patterns.New(patterns.Options{
				Logger: log, Timeout: with.timeout(), PerMinute: with.number("limit"), Key: with["key"], LibraryKey: with["library-key"],
			})
		},
	},
	{
		"studies", "simulated studies of people, some of which take long",
		[]setting{
			within,
			{"token", "TOKEN", "the token for the service: one that begins with staging_ is for another environment, " +
				"prod_rui is another user's, others have expired"},
			{"hosted", "", "a server for many users: each brings a token, and there are no tunnels"},
			{"tunnel", "PROGRAM", "the program that makes tunnels instead of cloudflared: " +
				"try one that does not exist, or one that ends at once, such as false"},
		},
		func(log *slog.Logger, with Settings) (systems.System, error) {
			return studies.New(studies.Options{
				Logger: log, Timeout: with.timeout(), PollEvery: pollEvery, Token: with["token"],
				Hosted: with.has("hosted"), Tunnel: with["tunnel"],
			})
		},
	},
	{
		"terra", "the health data of an application's users, by queries",
		[]setting{
			within,
			{"nobody", "", "on stdio nobody knows who calls: request context is unavailable"},
			{"user", "ID", "whose data is read on stdio; over HTTP the path names the user"},
			{"key", "KEY", "the API key of who calls on stdio; over HTTP a header has it"},
		},
		func(log *slog.Logger, with Settings) (systems.System, error) {
			o := terra.Options{Logger: log, Timeout: with.timeout(), Client: terra.DemoClient()}
			o.Client.User, o.Client.APIKey = cmp.Or(with["user"], o.Client.User), cmp.Or(with["key"], o.Client.APIKey)
			if with.has("nobody") {
				o.Client = nil
			}
			return terra.New(o)
		},
	},
}

// startFieldmcp starts fieldmcp.
func startFieldmcp(log *slog.Logger, with Settings) (systems.System, error) {
	var shift time.Duration
	o := fieldmcp.Options{
		Logger: log, Timeout: with.timeout(), Organisation: with["as"], Now: func() time.Time { return time.Now().Add(shift) },
	}
	if with.has("minute") || with.has("month") {
		o.Quotas = fieldmcp.Quotas(with.number("minute"), with.number("month"))
	}
	s, err := fieldmcp.New(o)
	shift = with.shift() // nobody has asked for the time yet but New
	return s, err
}

// All names every reference system.
const All = "all"

// Systems returns the names of the reference systems.
func Systems() []string {
	names := make([]string, len(references))
	for i, r := range references {
		names[i] = r.name
	}
	return names
}

// find returns the reference system of a name, which is one of Systems.
func find(name string) (reference, error) {
	i := slices.IndexFunc(references, func(r reference) bool { return r.name == name })
	if i < 0 {
		return reference{}, fmt.Errorf("there is no reference system %q", name)
	}
	return references[i], nil
}

// Stdio runs the reference system of a name on a pair of streams until in or ctx ends.
func (s *Show) Stdio(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	r, err := find(name)
	if err != nil {
		return err
	}
	system, err := r.start(s.Log, s.With)
	if err != nil {
		return err
	}
	err = system.MCPServer().Run(ctx, mcptool.Stdio(io.NopCloser(in), out))
	if ctx.Err() != nil || errors.Is(err, io.EOF) { // the intended end
		err = nil
	}
	return errors.Join(err, system.Close())
}

// short is how many calls of each system are made when all of them are shown.
const short = 5

// All shows the reference systems in short, and then the gateway.
func (s *Show) All(ctx context.Context) error {
	ln, err := s.listen(ctx)
	if err != nil {
		return err
	}
	for _, r := range references {
		brief := &Show{Out: s.Out, Log: s.Log, Level: s.Level, Listen: freeListen, Once: true}
		if err := brief.system(ctx, r, short); err != nil {
			return errors.Join(err, ln.Close())
		}
		printf(s.Out, "\nMore of it: recourse demo %s\n\n", r.name)
	}
	return s.gateway(ctx, ln)
}

// nameSystems says what else there is to see.
func nameSystems(w io.Writer) {
	printf(w, "\nFive reference systems fail in all the ways of their contracts:\n\n")
	for _, r := range references {
		printf(w, "    recourse demo %-9s %s\n", r.name, r.about)
	}
}

// System starts the reference system of a name, makes its calls, prints what a client sees, and keeps serving until ctx
// ends.
func (s *Show) System(ctx context.Context, name string) error {
	r, err := find(name)
	if err != nil {
		return err
	}
	return s.system(ctx, r, 0)
}

// system shows a reference system by its first calls; 0 means all.
func (s *Show) system(ctx context.Context, r reference, most int) (err error) {
	ln, err := s.listen(ctx)
	if err != nil {
		return err
	}
	defer ln.Close() // its server may have closed it
	s.Level.Set(quiet)
	system, err := r.start(s.Log, s.With)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, system.Close()) }()
	const headerTimeout = 5 * time.Second
	srv := &http.Server{Handler: system.Handler(), ReadHeaderTimeout: headerTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(ln) // it ends with Close
	}()
	defer func() {
		_ = srv.Close() // calls that are still under way are those of people who try it
		<-ended
	}()
	base := "http://" + ln.Addr().String()
	scenes := system.Scenes()
	if most > 0 {
		scenes = scenes[:min(most, len(scenes))]
	}
	printf(s.Out, "%s: %s, at %s. What a client sees:\n", r.name, r.about, base+system.Entrance().Path)
	if err := perform(ctx, s.Out, base, system.Entrance(), scenes); err != nil {
		return err
	}
	if !s.Once {
		connect(s.Out, r.name, base, system.Entrance())
		s.Level.Set(slog.LevelInfo)
	}
	if r.name == farmers && most == 0 && len(s.With) == 0 {
		return s.farmer(ctx)
	}
	if !s.Once {
		<-ctx.Done()
	}
	return nil
}

// perform makes the calls and prints what comes back.
func perform(ctx context.Context, w io.Writer, base string, entrance systems.Entrance, scenes []systems.Scene) error {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i, scene := range scenes {
		at := entrance
		if scene.Entrance != nil {
			at = *scene.Entrance
		}
		printf(w, "\n%2d. %s\n    %s %s\n", i+1, scene.Title, scene.Tool, scene.Arguments)
		if at.Path != entrance.Path {
			printf(w, "    at %s\n", at.Path)
		}
		saw, err := visit(ctx, client, base, at, scene)
		if err != nil {
			return err
		}
		printf(w, "%s", block(w, "sees", saw))
	}
	return nil
}

// visit makes a call as a client of the modern era, and returns what it sees of the answer: of HTTP only what is
// unusual, of a result its texts.
func visit(ctx context.Context, client *http.Client, base string, at systems.Entrance, scene systems.Scene) (string, error) {
	const request = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"demo","version":"1.0.0"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	body := fmt.Appendf(nil, request, scene.Tool, scene.Arguments, wire.Version20260728)
	var message wire.Message
	if err := wire.Parse(body, &message); err != nil {
		return "", fmt.Errorf("the call of %s: %w", scene.Tool, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+at.Path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if at.Header != nil {
		req.Header = at.Header.Clone()
	}
	req.Header.Set("Content-Type", wire.TypeJSON)
	req.Header.Set("Accept", wire.TypeJSON+", text/event-stream")
	wire.SetHeaders(req.Header, wire.Version20260728, &message)
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	const most = 1 << 20
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return "", err
	}
	return sees(resp, answer), nil
}

// sees returns what a client sees of an answer.
func sees(resp *http.Response, body []byte) string {
	var answer struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &answer) // anything but a message is shown as it is
	var lines []string
	if resp.StatusCode != http.StatusOK {
		lines = append(lines, "HTTP "+resp.Status)
		if wait := resp.Header.Get("Retry-After"); wait != "" {
			lines = append(lines, "Retry-After: "+wait)
		}
		lines = append(lines, cmp.Or(string(body), "(an empty body)"))
		return strings.Join(lines, "\n")
	}
	if answer.Error != nil {
		lines = append(lines, "JSON-RPC error: "+string(answer.Error))
	}
	for _, content := range answer.Result.Content {
		lines = append(lines, content.Text)
	}
	return strings.Join(lines, "\n")
}

// connect says how to connect to a system that keeps serving.
func connect(w io.Writer, name, base string, entrance systems.Entrance) {
	printf(w, "\nIt keeps serving. Connect a host to it, for example:\n\n    claude mcp add --transport http %s %s",
		name, base+entrance.Path)
	for _, header := range slices.Sorted(maps.Keys(entrance.Header)) {
		printf(w, " \\\n      --header %q", header+": "+entrance.Header.Get(header))
	}
	printf(w, "\n\nor let a host start it: recourse demo %[1]s --stdio. How else it fails: go doc ./systems/%[1]s\n"+
		"Every failure is one line of the log below. Ctrl-C ends it.\n\n", name)
}
