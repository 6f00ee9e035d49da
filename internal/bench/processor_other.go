//go:build !unix

package main

import "time"

// processorTime returns nothing where it is not known.
func processorTime() time.Duration { return 0 }
