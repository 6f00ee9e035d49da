package bridge

import (
	"slices"
	"testing"
	"time"
)

// What is kept is bounded in bytes as well: the oldest go first, unless they are in use.
func TestRecentIsBoundedInBytes(t *testing.T) {
	t.Parallel()

	r := newRecent[string, string](100, 1000, time.Hour)
	for _, key := range []string{"busy", "a", "b"} {
		r.put(key, key, 300)
	}
	if out := r.trim(1, func(v string) bool { return v == "busy" }); out != nil {
		t.Errorf("%q had to go", out)
	}
	r.grow("b", 500)
	if out := r.trim(0, func(v string) bool { return v == "busy" }); !slices.Equal(out, []string{"a", "b"}) || r.taken != 300 {
		t.Errorf("%q had to go, and %d bytes are left", out, r.taken)
	}
	r.grow("b", 1) // which is gone
	r.remove("busy")
	if r.taken != 0 || r.len() != 0 {
		t.Errorf("%d bytes are left, of %d", r.taken, r.len())
	}
}
