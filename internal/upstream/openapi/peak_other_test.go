//go:build !unix

package openapi_test

import "os"

// peakOf returns 0: it is unknown on this system.
func peakOf(*os.ProcessState) int { return 0 }
