// Command recourse puts a contract on the failures of MCP servers: see
// https://github.com/recoursehq/recourse.
package main

import (
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // for images and machines without certificates of their own

	"github.com/recoursehq/recourse/internal/cli"
)

func main() { os.Exit(cli.Main()) }
