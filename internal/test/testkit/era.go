package testkit

import (
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// An Era is one of the two families of the protocol.
type Era int

const (
	// Legacy is 2025-11-25 and before: initialize, then a session.
	Legacy Era = iota
	// Modern is 2026-07-28: stateless, every request names its sender.
	Modern
)

// Eras are both.
var Eras = []Era{Legacy, Modern}

// An EraPair is a client's era and a server's.
type EraPair struct{ Client, Server Era }

// String returns the pair in words.
func (p EraPair) String() string { return p.Client.String() + " to " + p.Server.String() }

// EraPairs are all pairs.
var EraPairs = []EraPair{{Legacy, Legacy}, {Modern, Modern}, {Modern, Legacy}, {Legacy, Modern}}

// Version returns the newest protocol version of the era.
func (e Era) Version() string {
	if e == Modern {
		return protocol.Version20260728
	}
	return protocol.Version20251125
}

// String returns "legacy era" or "modern era".
func (e Era) String() string {
	if e == Modern {
		return "modern era"
	}
	return "legacy era"
}
