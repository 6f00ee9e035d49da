package cli

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/lab/record"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// recordCommand keeps a session.
type recordCommand struct {
	URL    string `arg:"" optional:"" help:"${check_url}"`
	Output string `short:"o" required:"" placeholder:"FILE" help:"The recording. One that is there is continued."`
	Listen string `default:"127.0.0.1:8788" placeholder:"ADDR" help:"${record_listen}"`
	Max    string `default:"64MiB" placeholder:"SIZE" help:"How large the recording may become (64MiB)."`
}

// Help shows examples.
func (*recordCommand) Help() string {
	return `Stands between a client and an MCP server, passes everything on, and keeps the session: one message a line, without ` +
		`credentials. docs/record.md explains the file; recourse replay plays it.

Example:

    recourse record -o session.jsonl -- farmd
    recourse record -o session.jsonl http://127.0.0.1:9101/mcp`
}

// Run records until the program ends or ctx does.
func (c *recordCommand) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	most, ok := strictyaml.ParseSize(c.Max)
	switch {
	case (c.URL == "") == (len(command) == 0):
		return term.Usage(errors.New("name exactly one server: its URL, or its command after --"))
	case c.URL != "" && load.HostOf(c.URL) == "":
		return term.Usage(errors.New("this is not the URL of an MCP server: write it as http://127.0.0.1:9101/mcp"))
	case !ok:
		return term.Usage(errors.New("--max is not a size: write it as 64MiB"))
	}
	o := record.Options{
		Transport: "stdio", Server: strings.Join(command, " "), Secrets: redact.Command(command), Max: int64(most),
		Warn: func(text string) { term.Printf(env.Stderr, "recourse: %s\n", text) },
	}
	o.Secrets = append(o.Secrets, redact.Environ(env.Environ)...)
	if c.URL != "" {
		o.Transport, o.Server, o.Secrets = "http", c.URL, append(o.Secrets, redact.URL(c.URL)...)
	}
	r, err := record.Create(c.Output, o)
	if err != nil {
		return term.Hint(err, "choose another file with -o")
	}
	if c.URL != "" {
		err = c.serve(ctx, env, r)
	} else {
		err = recordProgram(ctx, env, command, r)
	}
	return errors.Join(err, r.Close())
}

// serve stands in front of a server over HTTP.
func (c *recordCommand) serve(ctx context.Context, env *term.Environment, r *record.Recorder) error {
	target, err := url.Parse(c.URL)
	if err != nil {
		return term.Usage(errors.New("this is not a URL"))
	}
	at, stop, err := listenAt(ctx, c.Listen, inject.Pass(record.NewTransport(r, direct()), target))
	if err != nil {
		return err
	}
	defer stop()
	term.Printf(env.Stderr, "recourse: http://%s%s is recorded in %s\n", at, target.Path, c.Output)
	<-ctx.Done()
	return nil
}

// recordProgram stands between a host and a program.
func recordProgram(ctx context.Context, env *term.Environment, command term.ServerCommand, r *record.Recorder) error {
	fromServer := r.FromServer()
	err := relay(ctx, env, command, func(p pipes) error {
		go func() {
			fromClient := r.FromClient()
			_, _ = io.Copy(io.MultiWriter(fromClient, p.in), env.Stdin) // the server sees how it ends
			fromClient.End()
			r.Left()
			_ = p.in.Close() // it may have ended already
		}()
		_, err := io.Copy(io.MultiWriter(fromServer, env.Stdout), p.out)
		return err
	})
	fromServer.End()
	if ctx.Err() != nil {
		r.Left()
	}
	how := record.Fine
	if err != nil {
		how = err.Error()
	}
	r.Ended(how)
	return err
}

// replayCommand plays a recording.
type replayCommand struct {
	File   string    `arg:"" help:"The recording."`
	Listen string    `placeholder:"ADDR" help:"${replay_listen}"`
	By     record.By `enum:"arguments,order" default:"arguments" help:"${replay_by}"`
	Speed  float64   `default:"0" placeholder:"TIMES" help:"${replay_speed}"`
}

// Help shows examples.
func (*replayCommand) Help() string {
	return `Plays the server's side of a session that recourse record has kept, as an MCP server on standard input and output or over ` +
		`HTTP. A call that is not in the recording fails, and makes the exit code 1.

Example:

    recourse replay session.jsonl
    recourse call echo message=hello -- recourse replay session.jsonl`
}

// Run plays until the client is gone or ctx ends.
func (c *replayCommand) Run(ctx context.Context, env *term.Environment) error {
	if c.Speed < 0 {
		return term.Usage(errors.New("--speed must not be negative"))
	}
	recording, err := record.Open(c.File)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return term.Usage(err)
	case err != nil:
		return err
	}
	defer recording.Close()
	if recording.Cut > 0 {
		term.Printf(env.Stderr, "recourse: %d of the lines in %s are cut off, and left out\n", recording.Cut, c.File)
	}
	p := &record.Player{Recording: recording, By: c.By, Speed: c.Speed, Secrets: redact.Environ(env.Environ)}
	if c.Listen == "" {
		return p.Stdio(ctx, env.Stdin, env.Stdout)
	}
	at, stop, err := listenAt(ctx, c.Listen, p.Handler())
	if err != nil {
		return err
	}
	term.Printf(env.Stderr, "recourse: %s is replayed at http://%s/mcp\n", c.File, at)
	<-ctx.Done()
	stop()
	return p.Missing()
}
