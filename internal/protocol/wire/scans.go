package wire

import "sync/atomic"

var scans atomic.Int64

// Scans returns how many texts have been read as messages in this process. A message is read once on each side that it
// enters, to which tests hold the gateway.
func Scans() int64 { return scans.Load() }
