package admin

import "sync"

// Limits on the values of a label: a server may list any number of tools, and the values are kept forever.
const (
	maxTools   = 200 // per server
	maxReasons = 50
	// other replaces all values beyond the limit.
	other = "other"
)

// A bounded label has a limited number of values, the first to come.
type bounded struct {
	most int

	mu    sync.RWMutex
	known map[string]bool
}

func newBounded(most int) *bounded { return &bounded{most: most, known: map[string]bool{"": true}} }

// value returns the text if it is one of the values, and other if it is not.
func (b *bounded) value(text string) string {
	b.mu.RLock()
	known := b.known[text]
	b.mu.RUnlock()
	if known {
		return text
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known[text] {
		if len(b.known) > b.most {
			return other
		}
		b.known[text] = true
	}
	return text
}

// bounds are the labels of one kind by server. Servers' names come from the configuration.
type bounds struct {
	most int

	mu       sync.Mutex
	byServer map[string]*bounded
}

func (b *bounds) of(server string) *bounded {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.byServer[server]
	if one == nil {
		one = newBounded(b.most)
		b.byServer[server] = one
	}
	return one
}
