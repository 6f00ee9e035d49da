// Command recourse puts a contract on the failures of MCP servers: see
// https://github.com/recoursehq/recourse.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/recoursehq/recourse/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := cli.Run(ctx, cli.Environment{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv,
	})
	stop()
	os.Exit(code)
}
