// Command recourse puts a contract on the failures of MCP servers: see
// https://github.com/recoursehq/recourse.
package main

import (
	"os"

	"github.com/recoursehq/recourse/internal/cli"
)

func main() { os.Exit(cli.Main()) }
