package toolcall

import "github.com/recoursehq/recourse/retry"

// Claims is what is known about a tool, and from whom.
type Claims struct {
	// ReadOnly and Idempotent are set by the user of the tool: in the server's entry in the configuration, or
	// by the author's option.
	ReadOnly, Idempotent *bool
	// Verified says that the same user names the call that settles whether a call took effect.
	Verified bool
	// Reads says that the contract declares the tool to be read-only.
	Reads bool
	// Annotated has the tool's annotations; nil if nobody trusts them, or knows any.
	Annotated *Entry
}

// Assumed reports whether nobody says what the tool does, so that it is only assumed to write. That a tool's annotations deny that it
// reads says nothing: some SDKs write that of every tool whose author says nothing.
func (s Claims) Assumed() bool {
	return s.ReadOnly == nil && s.Idempotent == nil && !s.Verified && !s.Reads &&
		(s.Annotated == nil || !s.Annotated.ReadOnly && !s.Annotated.Idempotent)
}

// Nature returns what the tool does to the world. The first source that says something decides.
func (s Claims) Nature() retry.Nature {
	reads, idempotent := s.Reads, false
	if s.Annotated != nil && !reads {
		reads, idempotent = s.Annotated.ReadOnly, s.Annotated.Idempotent
	}
	switch {
	case s.ReadOnly != nil:
		reads = *s.ReadOnly
	case s.Verified: // only a write needs verification
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
