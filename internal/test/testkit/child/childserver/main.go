// Command childserver is [child.Main] as a program of its own.
package main

import (
	"os"

	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

func main() { os.Exit(child.Main(os.Args[1:])) }
