package peer

import (
	"container/list"
	"time"
)

// Recent holds values by key, up to a number of them and of the bytes that they take,
// and for some time after their last use. It is not safe for concurrent use.
type Recent[K comparable, V any] struct {
	most  int
	bytes int // that they may take
	idle  time.Duration
	taken int // bytes
	byKey map[K]*list.Element
	byUse *list.List // of *entry[K, V], the one used last in front
}

type entry[K comparable, V any] struct {
	key  K
	used time.Time
	size int
	v    V
}

// NewRecent returns one that holds nothing yet.
func NewRecent[K comparable, V any](most, bytes int, idle time.Duration) *Recent[K, V] {
	return &Recent[K, V]{most: most, bytes: bytes, idle: idle, byKey: map[K]*list.Element{}, byUse: list.New()}
}

// Get returns the value for the key, and counts as its use.
func (r *Recent[K, V]) Get(key K) (v V, ok bool) {
	at := r.byKey[key]
	if at == nil {
		return v, false
	}
	e, _ := at.Value.(*entry[K, V])
	e.used = time.Now()
	r.byUse.MoveToFront(at)
	return e.v, true
}

// Put adds a value under a new key that takes size bytes.
func (r *Recent[K, V]) Put(key K, v V, size int) {
	r.byKey[key] = r.byUse.PushFront(&entry[K, V]{key: key, used: time.Now(), v: v, size: size})
	r.taken += size
}

// Grow notes that the value for the key takes so many bytes more.
func (r *Recent[K, V]) Grow(key K, bytes int) {
	if at := r.byKey[key]; at != nil {
		e, _ := at.Value.(*entry[K, V])
		e.size += bytes
		r.taken += bytes
	}
}

// Remove takes a value out.
func (r *Recent[K, V]) Remove(key K) {
	if at := r.byKey[key]; at != nil {
		e, _ := at.Value.(*entry[K, V])
		r.taken -= e.size
		r.byUse.Remove(at)
		delete(r.byKey, key)
	}
}

// Len returns the number of values.
func (r *Recent[K, V]) Len() int { return len(r.byKey) }

// Trim takes out the values that have been idle too long, and as many as have to go
// for room for some more, but none that is busy.
func (r *Recent[K, V]) Trim(room int, busy func(V) bool) (out []V) {
	now := time.Now()
	for at := r.byUse.Back(); at != nil; {
		e, _ := at.Value.(*entry[K, V])
		if now.Sub(e.used) <= r.idle && len(r.byKey)+room <= r.most && r.taken <= r.bytes {
			return out
		}
		before := at.Prev()
		if !busy(e.v) {
			r.Remove(e.key)
			out = append(out, e.v)
		}
		at = before
	}
	return out
}

// All returns all values.
func (r *Recent[K, V]) All() []V {
	values := make([]V, 0, len(r.byKey))
	for at := r.byUse.Front(); at != nil; at = at.Next() {
		e, _ := at.Value.(*entry[K, V])
		values = append(values, e.v)
	}
	return values
}
