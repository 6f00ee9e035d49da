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
	// Profile counts where none of these says anything, except for what the annotations deny.
	Profile Profile
}

// Profile is what the profile of the server says about a tool: that of the package by whose name it is started.
type Profile struct{ ReadOnly, Idempotent, Verified bool }

// Assumed reports whether nobody says what the tool does, so that it is only assumed to write. That a tool's annotations deny that it
// reads says nothing: some SDKs write that of every tool whose author says nothing.
func (s Claims) Assumed() bool { return s.silent() && s.profiled() == (Profile{}) }

// Profiled reports whether what the tool does is only known from the server's profile.
func (s Claims) Profiled() bool { return s.silent() && s.profiled() != (Profile{}) }

// silent reports whether neither the user nor the tool itself says what it does.
func (s Claims) silent() bool {
	return s.ReadOnly == nil && s.Idempotent == nil && !s.Verified && !s.Reads &&
		(s.Annotated == nil || !s.Annotated.ReadOnly && !s.Annotated.Idempotent)
}

// profiled returns what the profile says, without what the tool's annotations deny.
func (s Claims) profiled() Profile {
	said := s.Profile
	if s.Annotated != nil {
		said.ReadOnly = said.ReadOnly && !s.Annotated.DeniesReading
		said.Idempotent = said.Idempotent && !s.Annotated.DeniesIdempotent
	}
	return said
}

// Nature returns what the tool does to the world. The first source that says something decides.
func (s Claims) Nature() retry.Nature {
	reads, idempotent := s.Reads, false
	switch {
	case s.silent():
		said := s.profiled()
		reads, idempotent = said.ReadOnly, said.Idempotent
	case s.Annotated != nil && !reads:
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
