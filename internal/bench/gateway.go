package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// configuration is the gateway's: the defaults. A server is named for its path; stopped is separate, since it is going
// to be stopped.
const configuration = `listen: 127.0.0.1:0
log: json
servers:
  json: {url: "http://%[1]s/json/mcp", tools: {echo: {read_only: true}}}
  events: {url: "http://%[1]s/events/mcp", tools: {echo: {read_only: true}}}
  large: {url: "http://%[1]s/large/mcp", tools: {echo: {read_only: true}}}
  large-events: {url: "http://%[1]s/large-events/mcp", tools: {echo: {read_only: true}}}
  unavailable: {url: "http://%[1]s/unavailable/mcp", tools: {echo: {read_only: true}}}
  stopped: {url: "http://%[2]s/stopped/mcp", tools: {echo: {read_only: true}}}
  child: {command: [%[3]q], env: {%[4]s: child}, tools: {echo: {read_only: true}}}
  waiting: {command: [%[3]q], env: {%[4]s: waiting}, tools: {echo: {read_only: true}}}
`

// startGateway starts a gateway in front of the two servers. If profiles names a directory, its profiles are written
// there.
func startGateway(ctx context.Context, dir, profiles string, server, stopped *process) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "recourse.yaml")
	text := fmt.Appendf(nil, configuration, server.address, stopped.address, self, envRole)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return start(ctx, dir, roleGateway, profiles, file)
}

// serveGateway runs `recourse serve` with a configuration file until standard input ends. If profiles names a
// directory, the profiles of the process are written there in the end.
func serveGateway(profiles, file string) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	answered := make(chan error, 1)
	go func() {
		answered <- answerQuestions(os.Stdin, os.Stdout, none)
		end()
	}()
	serve := func() error {
		environment := cli.Environment{
			Args: []string{"serve", "-c", file}, Stdin: os.Stdin, Stdout: os.Stdout,
			Stderr: &announcer{log: os.Stderr, out: os.Stdout}, LookupEnv: os.LookupEnv,
		}
		if code := cli.Run(ctx, environment); code != cli.ExitOK {
			return fmt.Errorf("recourse serve: exit code %d", code)
		}
		return <-answered
	}
	if profiles == "" {
		return serve()
	}
	return profiled(profiles, serve)
}

// An announcer passes a log on, and writes the address in the first line with a url to out.
type announcer struct {
	log, out  io.Writer
	announced bool
}

// Write takes one line: slog's handlers write each line with one call, and no two at the same time.
func (a *announcer) Write(line []byte) (int, error) {
	if a.announced {
		return a.log.Write(line)
	}
	var entry struct {
		URL string `json:"url"`
	}
	if json.UnmarshalLenient(line, &entry) == nil && entry.URL != "" {
		served, err := url.Parse(entry.URL)
		if err != nil {
			return 0, err
		}
		if _, err := fmt.Fprintln(a.out, served.Host); err != nil {
			return 0, err
		}
		a.announced = true
	}
	return a.log.Write(line)
}

// profiled runs f and writes its CPU profile and the process's allocations to dir.
func profiled(dir string, f func() error) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	cpu, err := root.Create("cpu.pprof")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cpu.Close()) }()
	allocs, err := root.Create("allocs.pprof")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, allocs.Close()) }()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(allocs, 0))
}
