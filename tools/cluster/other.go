//go:build !linux

// Command cluster needs Linux: its network namespaces.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "cluster: it needs Linux, for network namespaces: nothing was run")
	os.Exit(1)
}
