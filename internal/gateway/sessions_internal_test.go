package gateway

import (
	"strconv"
	"testing"
	"time"
)

// Sessions are bounded in bytes altogether: those that have been idle longest go first.
func TestSessionsHaveRoom(t *testing.T) {
	t.Parallel()

	all := newSessions()
	for i := range 100 {
		s := &session{id: strconv.Itoa(i), bytes: 1 << 20, lastUsed: time.Now()}
		all.byID[s.id] = all.byUse.PushFront(s)
		all.bytes += s.bytes
	}
	all.trim(time.Now())
	if all.bytes > maxSessionBytes || len(all.byID) != maxSessionBytes>>20 || all.byID["99"] == nil || all.byID["0"] != nil {
		t.Errorf("%d sessions with %d bytes", len(all.byID), all.bytes)
	}
	for _, at := range all.byID {
		s, _ := at.Value.(*session)
		all.remove(s)
	}
	if all.bytes != 0 {
		t.Errorf("%d bytes are left", all.bytes)
	}
}
