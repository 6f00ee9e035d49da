package recent

import (
	"slices"
	"testing"
	"time"
)

// What is kept is bounded in bytes as well: the oldest go first, unless they are in use.
func TestBoundedInBytes(t *testing.T) {
	t.Parallel()

	r := New[string, string](Bounds{Most: 100, Bytes: 1000, Idle: time.Hour})
	for _, key := range []string{"busy", "a", "b"} {
		r.Put(key, key, 300)
	}
	if out := r.Trim(1, func(v string) bool { return v == "busy" }); out != nil {
		t.Errorf("%q had to go", out)
	}
	r.Grow("b", 500)
	if out := r.Trim(0, func(v string) bool { return v == "busy" }); !slices.Equal(out, []string{"a", "b"}) || r.taken != 300 {
		t.Errorf("%q had to go, and %d bytes are left", out, r.taken)
	}
	r.Grow("b", 1) // which is gone
	r.Remove("busy")
	if r.taken != 0 || r.Len() != 0 {
		t.Errorf("%d bytes are left, of %d", r.taken, r.Len())
	}
}

// A value takes the place of the one before it, and of the one used longest ago.
func TestKeep(t *testing.T) {
	t.Parallel()

	r := New[string, int](Bounds{Most: 2})
	for i, key := range []string{"a", "b", "b", "c"} {
		r.Keep(key, i, 10)
	}
	b, _ := r.Peek("b")
	c, _ := r.Peek("c")
	if r.Len() != 2 || len(r.All()) != 2 || r.Bytes() != 20 || b != 2 || c != 3 {
		t.Errorf("there are %d values, %v, of %d bytes", r.Len(), r.All(), r.Bytes())
	}
}
