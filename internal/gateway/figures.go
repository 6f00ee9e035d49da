package gateway

import (
	"net/url"
	"path/filepath"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/upstream"
)

// Figures are counts of what a gateway holds at the moment.
type Figures struct {
	Requests     int64     // in progress, and the streams that clients hold open
	RequestBytes int64     // held by the requests in progress
	Expires      time.Time // of the certificate; zero: there is none
	Servers      []ServerFigures
}

// ServerFigures are the figures of one server.
type ServerFigures struct {
	Server    string
	Title     string
	Contract  string              // the contract in which failures reach the client
	Target    string              // what is behind it, without secrets
	Limits    []*config.Limit     // of its callers
	Sessions  int                 // of clients of the legacy era
	Budget    float64             // repetitions available at once
	Processes *upstream.Processes // its process; nil: none
}

// Figures returns the figures of the gateway, and of its servers in the file's order.
func (g *Gateway) Figures() Figures {
	t := g.table.Load()
	f := Figures{Requests: g.inFlight.requests.Load(), RequestBytes: g.inFlight.bytes.Load()}
	if t.config.TLS != nil {
		f.Expires, _ = t.config.TLS.Expires()
	}
	for _, entry := range t.config.Servers {
		b := t.named[entry.Name].target.backend
		sessions, _ := b.sessions.Kept()
		s := ServerFigures{
			Server: entry.Name, Title: entry.Title, Contract: entry.Contract, Target: whereabouts(entry), Limits: entry.Limits,
			Sessions: sessions, Budget: b.budget.Left(),
		}
		if program, ok := b.direct.(*upstream.Stdio); ok {
			processes := program.Processes()
			s.Processes = &processes
		}
		f.Servers = append(f.Servers, s)
	}
	return f
}

// whereabouts describes what is behind a server: an address without possible secrets, or a program without
// its arguments.
func whereabouts(entry *config.Server) string {
	if entry.API != nil {
		return entry.Describe()
	}
	if len(entry.Command) > 0 {
		return filepath.Base(entry.Command[0])
	}
	at, err := url.Parse(entry.URL)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String()
}

// Config returns the configuration in use. It must not be changed.
func (g *Gateway) Config() *config.Config { return g.table.Load().config }

// Contracts returns the contracts of that configuration. Nothing may be added to them.
func (g *Gateway) Contracts() *contract.Set { return g.table.Load().contracts }
