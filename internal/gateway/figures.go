package gateway

import (
	"net/url"
	"path/filepath"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/upstream"
)

// Figures are how much there is of what a gateway holds now.
type Figures struct {
	Requests     int64     // under way, and the streams that clients hold open
	RequestBytes int64     // that the requests under way hold
	Expires      time.Time // of the certificate; zero: there is none
	Servers      []ServerFigures
}

// ServerFigures are those of one server.
type ServerFigures struct {
	Server    string
	Title     string
	Contract  string              // in which failures reach the client
	Target    string              // what is behind it, without secrets
	Limits    []*config.Limit     // of its callers
	Sessions  int                 // of clients of the legacy era
	Budget    float64             // repetitions that may be made at once
	Processes *upstream.Processes // of its program; nil: it has none
}

// Figures returns the figures of the gateway, and of its servers in the order of the file.
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

// whereabouts says what is behind a server: an address without what may be secret of it, or a program without its arguments.
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

// Config returns the configuration by which the gateway serves now. Nobody changes it.
func (g *Gateway) Config() *config.Config { return g.table.Load().config }

// Contracts returns those of the configuration, to which nothing is added.
func (g *Gateway) Contracts() *contract.Set { return g.table.Load().contracts }
