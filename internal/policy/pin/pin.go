// Package pin keeps the definitions of a server's tools as they were first seen. What the server changes after that is held back
// until somebody accepts it.
//
//	tools/list of the server
//	  |  Offer     compares each tool with its pin; what is new is noted in the store, and told once
//	  v
//	the pinned definitions of those tools, for the client
//
// Replicas share the pins: each change carries the revision that it is based on, and is made again if there is another by then.
package pin

import (
	"context"
	"errors"
	"maps"
	"time"
)

// A Pin is what is kept of a tool. It does not change.
type Pin struct {
	Name    string
	Pinned  string // the definition that clients get, as JSON; "": the tool is not offered
	Waiting string // the server's own, if it is another one
	Gone    bool   // the server no longer lists the tool
	Changed time.Time
}

// What may wait to be accepted.
const (
	Changed = "changed"
	New     = "new"
	Removed = "removed"
)

// Change says what waits to be accepted; "": nothing does.
func (t *Pin) Change() string {
	switch {
	case t.Gone:
		return Removed
	case t.Waiting == "":
		return ""
	case t.Pinned == "":
		return New
	default:
		return Changed
	}
}

// A Record is all that is kept of a server.
type Record struct {
	Revision int64 // 0: nothing is
	Whole    bool  // a whole list has been seen
	Tools    map[string]*Pin
}

// offersSame reports whether clients get the same definitions by two records.
func (r *Record) offersSame(other *Record) bool { return maps.Equal(r.pinned(), other.pinned()) }

// pinned returns the definitions that clients get, by name.
func (r *Record) pinned() map[string]string {
	all := map[string]string{}
	for name, t := range r.Tools {
		if t.Pinned != "" {
			all[name] = t.Pinned
		}
	}
	return all
}

// Changes are made to the record of a revision.
type Changes struct {
	Since   int64 // the revision
	Whole   bool
	Tools   []*Pin
	Dropped []string
}

// Records keep pins.
type Records interface {
	// Revision returns the revision of a server's record; 0: there is none.
	Revision(ctx context.Context, server string) (int64, error)
	// Revisions returns those of all servers that have a record.
	Revisions(ctx context.Context) (map[string]int64, error)
	// Load returns a server's record.
	Load(ctx context.Context, server string) (*Record, error)
	// Save makes changes, and adds 1 to the revision. It reports false if the record's is another one by now.
	Save(ctx context.Context, server string, c *Changes) (saved bool, err error)
}

// attempts is how often changes are made again that another process has overtaken.
const attempts = 5

var (
	errOvertaken = errors.New("other processes go on changing the pins of this server")

	// ErrChanged says that what waits is no longer what somebody has seen.
	ErrChanged = errors.New("the server has changed its tools again")
)

// AcceptSeen does what [Accept] does, unless the pins have changed since the revision that somebody has seen: the error is [ErrChanged].
func AcceptSeen(ctx context.Context, s Records, server, tool string, revision int64) (accepted []string, err error) {
	return Accept(ctx, revised{s, revision}, server, tool)
}

// revised is a store of which somebody has seen a revision.
type revised struct {
	Records

	revision int64
}

// Load implements [Records].
func (s revised) Load(ctx context.Context, server string) (*Record, error) {
	r, err := s.Records.Load(ctx, server)
	if err == nil && r.Revision != s.revision {
		return nil, ErrChanged
	}
	return r, err
}

// Accept pins what waits at a server, or only at one tool of it, and returns the names of these tools. A tool that is gone is forgotten.
func Accept(ctx context.Context, s Records, server, tool string) (accepted []string, err error) {
	for range attempts {
		r, err := s.Load(ctx, server)
		if err != nil {
			return nil, err
		}
		c := &Changes{Since: r.Revision, Whole: r.Whole}
		accepted = nil
		for name, t := range r.Tools {
			if tool != "" && tool != name || t.Change() == "" {
				continue
			}
			accepted = append(accepted, name)
			if t.Gone {
				c.Dropped = append(c.Dropped, name)
				continue
			}
			c.Tools = append(c.Tools, &Pin{Name: name, Pinned: t.Waiting, Changed: time.Now()})
		}
		if len(accepted) == 0 {
			return nil, nil
		}
		if saved, err := s.Save(ctx, server, c); saved || err != nil {
			return accepted, err
		}
	}
	return nil, errOvertaken
}
