package bridge

import (
	"container/list"
	"time"
)

// recent holds values by key, up to a number of them and of the bytes that they take,
// and for some time after their last use. It is not safe for concurrent use.
type recent[K comparable, V any] struct {
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

func newRecent[K comparable, V any](most, bytes int, idle time.Duration) *recent[K, V] {
	return &recent[K, V]{most: most, bytes: bytes, idle: idle, byKey: map[K]*list.Element{}, byUse: list.New()}
}

// get returns the value for the key, and counts as its use.
func (r *recent[K, V]) get(key K) (v V, ok bool) {
	at := r.byKey[key]
	if at == nil {
		return v, false
	}
	e, _ := at.Value.(*entry[K, V])
	e.used = time.Now()
	r.byUse.MoveToFront(at)
	return e.v, true
}

// put adds a value under a new key that takes size bytes.
func (r *recent[K, V]) put(key K, v V, size int) {
	r.byKey[key] = r.byUse.PushFront(&entry[K, V]{key: key, used: time.Now(), v: v, size: size})
	r.taken += size
}

// grow notes that the value for the key takes so many bytes more.
func (r *recent[K, V]) grow(key K, bytes int) {
	if at := r.byKey[key]; at != nil {
		e, _ := at.Value.(*entry[K, V])
		e.size += bytes
		r.taken += bytes
	}
}

// remove takes a value out.
func (r *recent[K, V]) remove(key K) {
	if at := r.byKey[key]; at != nil {
		e, _ := at.Value.(*entry[K, V])
		r.taken -= e.size
		r.byUse.Remove(at)
		delete(r.byKey, key)
	}
}

// len returns the number of values.
func (r *recent[K, V]) len() int { return len(r.byKey) }

// trim takes out the values that have been idle too long, and as many as have to go
// for room for some more, but none that is busy.
func (r *recent[K, V]) trim(room int, busy func(V) bool) (out []V) {
	now := time.Now()
	for at := r.byUse.Back(); at != nil; {
		e, _ := at.Value.(*entry[K, V])
		if now.Sub(e.used) <= r.idle && len(r.byKey)+room <= r.most && r.taken <= r.bytes {
			return out
		}
		before := at.Prev()
		if !busy(e.v) {
			r.remove(e.key)
			out = append(out, e.v)
		}
		at = before
	}
	return out
}

// all returns all values.
func (r *recent[K, V]) all() []V {
	values := make([]V, 0, len(r.byKey))
	for at := r.byUse.Front(); at != nil; at = at.Next() {
		e, _ := at.Value.(*entry[K, V])
		values = append(values, e.v)
	}
	return values
}
