package server

import "sync"

// ledger knows which ids have been sent and answered, and keeps the strays.
type ledger struct {
	mu       sync.Mutex
	waiting  map[string]chan []byte
	answered map[string]bool
	strays   []Stray
}

func newLedger() *ledger {
	return &ledger{waiting: map[string]chan []byte{}, answered: map[string]bool{}}
}

// expect returns the channel on which the answer with that id comes.
func (l *ledger) expect(id string) <-chan []byte {
	c := make(chan []byte, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[id] = c
	return c
}

// take files what a server says, and returns what has to be said to it in turn, if anything.
func (l *ledger) take(text []byte) (reply []byte) {
	e, ok := read(text)
	switch {
	case !ok:
		l.stray(Garbage, text)
	case e.answers():
		l.answer(string(e.ID), text)
	case e.Method != "" && e.ID != nil:
		l.stray(Asked, text)
		return refusal(e.ID)
	}
	return nil
}

// answer hands an answer to whoever waits for it.
func (l *ledger) answer(id string, text []byte) {
	l.mu.Lock()
	c, waited := l.waiting[id]
	again := l.answered[id]
	if waited {
		delete(l.waiting, id)
		l.answered[id] = true
	}
	l.mu.Unlock()
	switch {
	case waited:
		c <- text
	case again:
		l.stray(Second, text)
	case id != "" && id != "null": // an error without an id is the answer to a text that could not be read
		l.stray(Foreign, text)
	}
}

// tooLong tells whoever waits for an answer that one has come which is too long to be read.
func (l *ledger) tooLong() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.waiting {
		l.answered[id] = true
		c <- nil
	}
	clear(l.waiting)
}

func (l *ledger) stray(what Sort, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strays) < maxStrays {
		l.strays = append(l.strays, Stray{what, string(text[:min(len(text), maxStray)])})
	}
}

// Strays returns them.
func (l *ledger) Strays() []Stray {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Stray(nil), l.strays...)
}
