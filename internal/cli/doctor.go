package cli

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/serve"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/backend"
	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// doctorCommand looks for what will go wrong with a configuration.
type doctorCommand struct {
	Config string `arg:"" optional:"" default:"recourse.yaml" help:"Configuration file (default: recourse.yaml)."`
}

// Help shows an example.
func (*doctorCommand) Help() string {
	return `Does what "serve --check" does, and then tries what that leaves alone: it starts or reaches each server and says what that ` +
		`tells of itself, which profile fits, and which tools say nothing; it looks whether the addresses are free, the store can be ` +
		`written and has room, the clocks agree, and no key ends soon. It changes nothing, and leaves nothing running.

Example:

    recourse doctor recourse.yaml`
}

// Run prints what it finds.
func (c *doctorCommand) Run(ctx context.Context, env *term.Environment) error {
	r, err := serve.Check(ctx, env, c.Config)
	if r == nil {
		return err
	}
	d := &doctor{env: env}
	if err != nil {
		d.problemf("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	d.listeners(ctx, r.Config)
	d.store(r.Config)
	d.keys(ctx, r.Config)
	d.servers(ctx, r.Config.Servers)
	if d.problems > 0 {
		return fmt.Errorf("%d of these %s", d.problems, map[bool]string{true: "is a problem", false: "are problems"}[d.problems == 1])
	}
	return ctx.Err()
}

// A doctor counts the problems that it reports.
type doctor struct {
	env      *term.Environment
	problems int
}

func (d *doctor) problemf(format string, args ...any) {
	d.problems++
	d.env.Painter(d.env.Stderr).Printf(term.Red, "recourse: problem: %s\n", fmt.Sprintf(format, args...))
}

func (d *doctor) warnf(format string, args ...any) {
	d.env.Painter(d.env.Stderr).Printf(term.Plain, "recourse: warning: %s\n", fmt.Sprintf(format, args...))
}

// servers looks at each server, and prints what it says in the order of the file.
func (d *doctor) servers(ctx context.Context, servers config.Servers) {
	visits, errs := make([]*client.Visit, len(servers)), make([]error, len(servers))
	var all client.Visits
	for i, s := range servers {
		if notTried(s) == "" {
			all.Go(func() { visits[i], errs[i] = placeOf(s).Visit(ctx) })
		}
	}
	all.Wait()
	for i, s := range servers {
		term.Printf(d.env.Stdout, "%s\n", s.Name)
		if why := notTried(s); why != "" {
			term.Printf(d.env.Stdout, "  not tried: %s\n", why)
			continue
		}
		for _, line := range aboutVisit(visits[i], s) {
			term.Printf(d.env.Stdout, "  %s\n", line)
		}
		if errs[i] != nil {
			d.problemf("server %s: %s", s.Name, why(errs[i]))
		}
		d.clock(s.Name, visits[i].Ahead)
	}
}

// why returns the reason of a failed visit, with what to do about it.
func why(err error) string {
	e := recourse.From(err)
	if e.Kind == recourse.KindInternal { // not a failure of the server that has a kind
		return strings.ReplaceAll(strings.TrimSuffix(err.Error(), "."), "\n", "; ")
	}
	return strings.Join(append([]string{strings.TrimSuffix(e.Sentence(), ".")}, e.Hints...), ": ")
}

// notTried says why a server cannot be looked at without its clients; "": it can.
func notTried(s *config.Server) string {
	_, err := exec.LookPath(append(s.Command, "")[0])
	switch {
	case s.API != nil:
		return "it is an HTTP API, which lists no tools of its own"
	case s.Connection != "":
		return "it needs the account of a caller"
	case s.UserPlace != "":
		return "its address depends on the user"
	case len(s.Forward) > 0:
		return "it needs the headers of a client (`forward`)"
	case len(s.Command) > 0 && s.Cwd == "" && err != nil:
		return "its program is not there" // which the check has said
	}
	return ""
}

// placeOf returns where a server is, with what the gateway gives it.
func placeOf(s *config.Server) *client.Location {
	place := &client.Location{Command: s.Command, Cwd: s.Cwd, URL: s.URL, Headers: http.Header{}}
	if len(s.Command) > 0 {
		place.Env = backend.Environ(s)
	}
	for name, value := range s.Headers {
		place.Headers.Set(name, value)
	}
	return place
}

// mostAhead is by how much two clocks may differ before tokens are judged wrongly: half the usual leeway.
const mostAhead = 30 * time.Second

func (d *doctor) clock(server string, ahead time.Duration) {
	if ahead.Abs() > mostAhead {
		d.warnf("server %s: its clock and that of this machine differ by %s: tokens will be refused, or held valid too long",
			server, recourse.FormatWait(ahead.Abs()))
	}
}

// maxNamed is how many tools are named in a line.
const maxNamed = 12

// aboutVisit says what a server has said of itself, and what is known of its tools.
func aboutVisit(v *client.Visit, s *config.Server) (lines []string) {
	if v.Server == nil {
		return nil
	}
	name := oneLine(v.Server.Name + " " + v.Server.Version)
	var silent, gone []string
	annotated := 0
	for _, tool := range v.Tools {
		switch {
		case saysWhat(tool):
			annotated++
		case !toolKnown(s, tool.Name):
			silent = append(silent, tool.Name)
		}
	}
	lines = append(lines, fmt.Sprintf("it is %s, with %d tools, of which %d say what they do", name, len(v.Tools), annotated))
	if s.Known != nil {
		for _, known := range s.Known.Tools {
			if !slices.ContainsFunc(v.Tools, func(t *mcp.Tool) bool { return t.Name == known.Key }) {
				gone = append(gone, known.Key)
			}
		}
		lines = append(lines, fmt.Sprintf("its profile is %s, of %s", s.Known.Name, s.Known.Package()))
	}
	if len(gone) > 0 {
		lines = append(lines, "it does not have these tools of the profile, which may be of another version: "+named(gone))
	}
	if len(silent) > 0 {
		lines = append(lines, "nobody says what these tools do, so that they are taken to write: "+named(silent))
	}
	return lines
}

// saysWhat reports whether a tool's annotations say that it reads, or may be repeated.
func saysWhat(t *mcp.Tool) bool {
	return t.Annotations != nil && (t.Annotations.ReadOnlyHint || t.Annotations.IdempotentHint)
}

// toolKnown reports whether the entry or the profile says what a tool does.
func toolKnown(s *config.Server, name string) bool {
	t := s.Tool(name)
	return t.ReadOnly != nil || t.Idempotent != nil || t.Verify != nil || t.Known != nil
}

// named returns names, not all of them if they are many.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", oneLine(strings.Join(names[:maxNamed], ", ")), more)
	}
	return oneLine(strings.Join(names, ", "))
}

// oneLine returns a server's words so that they stay within a line, as in a comment.
func oneLine(words string) string { return strings.Join(strings.Fields(visible.Escape(words)), " ") }
