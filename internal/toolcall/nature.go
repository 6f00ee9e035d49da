package toolcall

import "github.com/recoursehq/recourse/retry"

// Said is what is said of a tool.
type Said struct {
	// ReadOnly and Idempotent are the word of whoever puts the tool to use: the server's
	// entry in the configuration, or the author's option.
	ReadOnly, Idempotent *bool
	// Verified says that they name the call that settles whether a call took effect.
	Verified bool
	// Reads is the contract's word that the tool only reads.
	Reads bool
	// Annotated has the tool's annotations; nil where nobody trusts them, or knows any.
	Annotated *Tool
}

// Nature returns what the tool does to the world, by the first that speaks.
func (s Said) Nature() retry.Nature {
	reads, idempotent := s.Reads, false
	if s.Annotated != nil && !reads {
		reads, idempotent = s.Annotated.ReadOnly, s.Annotated.Idempotent
	}
	switch {
	case s.ReadOnly != nil:
		reads = *s.ReadOnly
	case s.Verified: // there is something to verify only where something is written
		reads = false
	}
	if s.Idempotent != nil {
		idempotent = *s.Idempotent
	}
	switch {
	case reads:
		return retry.Reads
	case idempotent:
		return retry.Idempotent
	default:
		return retry.Writes
	}
}
