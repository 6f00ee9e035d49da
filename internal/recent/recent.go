// Package recent holds what is of interest for a while: values while they are used, in a [Map] that limits their number, their bytes
// and the time since their last use; and calls while they count, in a [Series].
package recent

import (
	"cmp"
	"container/list"
	"math"
	"time"
)

// Bounds limit a [Map]; 0 means no limit.
type Bounds struct {
	Most  int           // values
	Bytes int           // that they take together
	Idle  time.Duration // since the last use of a value
}

// Map holds values by key, as many as its bounds allow. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	bounds Bounds
	taken  int // bytes
	byKey  map[K]*list.Element
	byUse  *list.List // of *cached[K, V], the one used last in front
}

type cached[K comparable, V any] struct {
	key  K
	used time.Time
	size int
	v    V
}

// New returns a map that holds nothing yet.
func New[K comparable, V any](bounds Bounds) *Map[K, V] {
	bounds = Bounds{
		Most: cmp.Or(bounds.Most, math.MaxInt), Bytes: cmp.Or(bounds.Bytes, math.MaxInt), Idle: cmp.Or(bounds.Idle, math.MaxInt64),
	}
	return &Map[K, V]{bounds: bounds, byKey: map[K]*list.Element{}, byUse: list.New()}
}

// Get returns the value for the key, and counts as its use.
func (m *Map[K, V]) Get(key K) (v V, ok bool) { return m.GetAt(key, time.Now()) }

// GetAt is Get for those who know the time.
func (m *Map[K, V]) GetAt(key K, now time.Time) (v V, ok bool) {
	at := m.byKey[key]
	if at == nil {
		return v, false
	}
	e, _ := at.Value.(*cached[K, V])
	e.used = now
	m.byUse.MoveToFront(at)
	return e.v, true
}

// Peek returns the value for the key, and does not count as a use.
func (m *Map[K, V]) Peek(key K) (v V, ok bool) {
	at := m.byKey[key]
	if at == nil {
		return v, false
	}
	e, _ := at.Value.(*cached[K, V])
	return e.v, true
}

// Put adds a value under a new key that takes size bytes.
func (m *Map[K, V]) Put(key K, v V, size int) {
	m.byKey[key] = m.byUse.PushFront(&cached[K, V]{key: key, used: time.Now(), v: v, size: size})
	m.taken += size
}

// Keep stores a value under a key, replacing any other, and removes what has to make room for it.
func (m *Map[K, V]) Keep(key K, v V, size int) {
	m.Remove(key)
	m.Trim(1, nil)
	m.Put(key, v, size)
}

// Grow adds bytes to the size of the value for the key.
func (m *Map[K, V]) Grow(key K, bytes int) {
	if at := m.byKey[key]; at != nil {
		e, _ := at.Value.(*cached[K, V])
		e.size += bytes
		m.taken += bytes
	}
}

// Remove takes a value out.
func (m *Map[K, V]) Remove(key K) {
	if at := m.byKey[key]; at != nil {
		e, _ := at.Value.(*cached[K, V])
		m.taken -= e.size
		m.byUse.Remove(at)
		delete(m.byKey, key)
	}
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int { return len(m.byKey) }

// Bytes returns what they take.
func (m *Map[K, V]) Bytes() int { return m.taken }

// Trim takes out the values that have been idle too long, and as many as have to go
// for room for some more, but none that is busy; nil: none is.
func (m *Map[K, V]) Trim(room int, busy func(V) bool) (out []V) {
	now := time.Now()
	for at := m.byUse.Back(); at != nil; {
		e, _ := at.Value.(*cached[K, V])
		if now.Sub(e.used) <= m.bounds.Idle && len(m.byKey)+room <= m.bounds.Most && m.taken <= m.bounds.Bytes {
			return out
		}
		before := at.Prev()
		if busy == nil || !busy(e.v) {
			m.Remove(e.key)
			out = append(out, e.v)
		}
		at = before
	}
	return out
}

// All returns all values.
func (m *Map[K, V]) All() []V {
	values := make([]V, 0, len(m.byKey))
	for at := m.byUse.Front(); at != nil; at = at.Next() {
		e, _ := at.Value.(*cached[K, V])
		values = append(values, e.v)
	}
	return values
}
