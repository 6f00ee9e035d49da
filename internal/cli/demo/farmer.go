package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/fieldmcp"
)

// farmerConfiguration is for the gateway that keeps the farmer's account.
//
//go:embed farmer.yaml
var farmerConfiguration []byte

// farmers is the reference system whose callers have accounts at a provider.
const farmers = "fieldmcp"

// callEvery is how often the agent calls while a person tries things.
const callEvery = 2 * time.Second

// A ranch is a stand-in for John Deere, a server that calls it, a gateway that keeps the farmer's account there, and an
// agent.
type ranch struct {
	started

	deereURL   string
	key        string // the agent's API key
	call       systems.Scene
	gateway    string // its URL
	at         systems.Entrance
	consoleURL string
	client     *http.Client
	link       string // of the last failure
}

// farmer shows an agent's calls while a person connects an account, revokes the access, and connects it again. With
// Once the person is a scripted browser.
func (s *Show) farmer(ctx context.Context) error {
	r, err := startRanch(ctx)
	defer r.close()
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	printf(s.Out, "\nThe farmer's account. A gateway at %s keeps it, and hands the same server a token for each call.\n", r.gateway)
	if s.Once {
		return s.script(ctx, r)
	}
	printf(s.Out, `The agent calls %s every %s, and you are the farmer:

    open the link below, enter the agent's API key, which is   %s
    take the access back, or let it lapse, at                  %s
    see the calls and the account in the console at            %s

`, r.call.Tool, callEvery, r.key, r.deereURL, r.consoleURL)
	last := told{code: "nothing yet"}
	for {
		now, err := r.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case now.code != last.code || now.link != last.link:
			s.showTold(r, now)
			last = now
		}
		if !pause.For(ctx, callEvery) {
			return nil
		}
	}
}

// A told is what the agent gets from a call.
type told struct {
	text string
	code string // "": success
	link string
}

// ask makes the agent's call.
func (r *ranch) ask(ctx context.Context) (told, error) {
	text, err := visit(ctx, r.client, r.gateway, r.at, r.call)
	var said struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal([]byte(text), &said) // a success has none of the members
	_, link, _ := strings.Cut(said.Message, "Connect it at ")
	return told{text, said.Code, link}, err
}

// showTold prints what the agent gets, and what a person can do.
func (s *Show) showTold(r *ranch, what told) {
	mark, next := "✓", "Take the access back at "+r.deereURL
	if what.code != "" {
		mark, next = "✗", "Open "+cmp.Or(what.link, r.deereURL)
	}
	printf(s.Out, "    %s  %s %s %s\n%s",
		time.Now().Format(time.TimeOnly), mark, r.call.Tool, r.call.Arguments, block(s.Out, "sees", what.text))
	if !s.Once {
		printf(s.Out, "    %s\n", next)
	}
	printf(s.Out, "\n")
}

// startRanch starts a ranch. It must be closed even if starting fails.
func startRanch(ctx context.Context) (*ranch, error) {
	r := &ranch{
		key: "agent-" + strings.ToLower(rand.Text()[:10]), client: &http.Client{Transport: &http.Transport{}},
		call: systems.Scene{Tool: "deere_get_operation", Arguments: `{"operationId":"OP-1"}`},
	}
	r.later(r.client.CloseIdleConnections)
	r.at = systems.Entrance{Path: "/farm/mcp", Header: http.Header{"Authorization": {"Bearer " + r.key}}}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", freeListen)
	if err != nil {
		return r, err
	}
	r.later(func() { _ = ln.Close() }) // the gateway may have closed it
	r.gateway = "http://" + ln.Addr().String()
	secret := rand.Text()
	deere, err := fieldmcp.NewStandIn(fieldmcp.StandInOptions{Client: &fieldmcp.Application{
		ID: "recourse", Secret: secret, Title: "Recourse", RedirectURI: r.gateway + "/connect/callback",
	}})
	if err != nil {
		return r, err
	}
	if r.deereURL, err = r.serve(ctx, freeListen, deere); err != nil {
		return r, err
	}
	quietly := slog.New(slog.DiscardHandler) // the agent's calls are shown instead
	farm, err := fieldmcp.New(fieldmcp.Options{Provider: r.deereURL, Logger: quietly, Timeout: patient})
	if err != nil {
		return r, err
	}
	r.later(func() { _ = farm.Close() }) // it has no data to lose
	farmURL, err := r.serve(ctx, freeListen, farm.Handler())
	if err != nil {
		return r, err
	}
	err = r.serveGateway(ctx, ln, quietly, map[string]string{
		"LISTEN": ln.Addr().String(), "CONNECTION_KEY": rand.Text() + rand.Text(), "AGENT_HASH": auth.HashOf(r.key).String(),
		"DEERE_URL": r.deereURL, "DEERE_SECRET": secret, "FARM_URL": farmURL,
	})
	return r, err
}

// serveGateway serves the gateway, and its console.
func (r *ranch) serveGateway(ctx context.Context, ln net.Listener, log *slog.Logger, with map[string]string) error {
	set := contract.Builtin()
	cfg, err := config.Parse("farmer.yaml", farmerConfiguration, config.Options{
		KnownContracts: set.Names(), LookupEnv: func(name string) (string, bool) { value, ok := with[name]; return value, ok },
	})
	if err != nil {
		return fmt.Errorf("the demo's configuration: %w", err)
	}
	rows, err := r.store(ctx)
	if err != nil {
		return err
	}
	accounts := connection.NewManager(rows.Connections(), seal.New(cfg.ConnectionKeys[0]), connection.NewClient(), log)
	r.later(accounts.Close)
	g, err := gateway.NewReaching(gateway.Reach{Connections: accounts}, cfg, set, log)
	if err != nil {
		return err
	}
	if r.consoleURL, err = r.console(ctx, freeListen, g, rows, accounts, log); err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.Serve(serving, ln, time.Second) // it ends with stop
	}()
	r.later(g.Close)
	r.later(func() { stop(); <-ended })
	return nil
}

// script acts as the farmer, in a browser without a window.
func (s *Show) script(ctx context.Context, r *ranch) error {
	printf(s.Out, "\n")
	all := []string{"ag1", "ag2", "ag3"}
	for _, step := range []struct {
		title  string
		change string   // what the farmer does at John Deere
		agree  []string // to what the farmer agrees after the last link
		code   string   // of the agent's next call
	}{
		{title: "Nobody has connected an account.", code: "PROVIDER_NOT_CONNECTED"},
		{title: "The farmer opens the link, and allows all but operations (ag2).", agree: []string{"ag1", "ag3"}, code: "MISSING_SCOPE"},
		{title: "The farmer opens the new link, and allows operations as well.", agree: all},
		{title: "The farmer revokes the access at John Deere.", change: "revoke", code: "TOKEN_REVOKED"},
		{title: "The farmer connects the account again.", agree: all},
		{title: "The access lapses, since nobody has used it for 90 days.", change: "lapse", code: "TOKEN_EXPIRED"},
		{title: "The farmer connects the account once more.", agree: all},
	} {
		printf(s.Out, "    %s\n", step.title)
		b := newBrowser()
		if step.change != "" {
			if _, err := b.submit(ctx, r.deereURL+"/", url.Values{"change": {step.change}}); err != nil {
				return err
			}
		}
		if step.agree != nil {
			if err := b.connect(ctx, r, step.agree); err != nil {
				return err
			}
		}
		now, err := r.ask(ctx)
		if err != nil {
			return err
		}
		s.showTold(r, now)
		if now.code != step.code {
			return fmt.Errorf("the agent is told %q, and not %q", now.code, step.code)
		}
		r.link = now.link
	}
	return nil
}

var errNotConnected = errors.New("the account was not connected")
