package recent

import (
	"slices"
	"testing"
	"time"
)

// The size in bytes is limited, too: the oldest values are dropped first, unless they are in use.
func TestBoundedInBytes(t *testing.T) {
	t.Parallel()

	r := New[string, string](Bounds{Most: 100, Bytes: 1000, Idle: time.Hour})
	for _, key := range []string{"busy", "a", "b"} {
		r.Put(key, key, 300)
	}
	if out := r.Trim(1, func(v string) bool { return v == "busy" }); out != nil {
		t.Errorf("dropped %q", out)
	}
	r.Grow("b", 500)
	if out := r.Trim(0, func(v string) bool { return v == "busy" }); !slices.Equal(out, []string{"a", "b"}) || r.taken != 300 {
		t.Errorf("dropped %q, left %d bytes", out, r.taken)
	}
	r.Grow("b", 1) // dropped before
	r.Remove("busy")
	if r.taken != 0 || r.Len() != 0 {
		t.Errorf("%d bytes left in %d values", r.taken, r.Len())
	}
}

// A new value replaces the one with its key, and displaces the one used longest ago.
func TestKeep(t *testing.T) {
	t.Parallel()

	r := New[string, int](Bounds{Most: 2})
	for i, key := range []string{"a", "b", "b", "c"} {
		r.Keep(key, i, 10)
	}
	b, _ := r.Peek("b")
	c, _ := r.Peek("c")
	if r.Len() != 2 || len(r.All()) != 2 || r.Bytes() != 20 || b != 2 || c != 3 {
		t.Errorf("got %d values, %v, of %d bytes", r.Len(), r.All(), r.Bytes())
	}
}
