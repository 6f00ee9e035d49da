package journal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// A handed is a file with two numbers: how many calls a process was given to keep, and how many of them it has written, or told as lost.
// They are written as it goes on, without waiting for a disk: a kill loses nothing of that. The process holds a lock on the file, which
// ends with it, and removes it at its end. What a file without a lock lacks was lost. A crash of the machine may lose the file, too.
type handed struct {
	file         *os.File
	name         string
	given, ended uint64
}

// sizeHanded is the size of the file.
const sizeHanded = 16

// CountKilled counts as lost what killed processes had not written, by the files that they have left, whose paths begin with prefix;
// and prepares for this process's own. It is called once, before the first call.
func (j *Journal) CountKilled(prefix string) error {
	if err := os.MkdirAll(filepath.Dir(prefix), 0o700); err != nil {
		return fmt.Errorf("count what a kill loses: %w", err)
	}
	found, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return fmt.Errorf("count what a kill loses: %w", err)
	}
	lost := uint64(0)
	for _, entry := range found {
		if strings.HasPrefix(entry.Name(), filepath.Base(prefix)) {
			lost += left(filepath.Join(filepath.Dir(prefix), entry.Name()))
		}
	}
	if lost > 0 {
		j.lost.Add(lost)
		j.teller.mu.Lock()
		j.teller.reported += lost
		j.teller.mu.Unlock()
		j.log.LogAttrs(j.life, slog.LevelWarn, "calls are missing from the journal: a process was killed before it had written them",
			slog.Uint64("lost", lost))
	}
	h, err := newHanded(prefix)
	if err != nil {
		return fmt.Errorf("count what a kill loses: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.handed = h
	return nil
}

// newHanded returns a file that other processes do not see before it is locked.
func newHanded(prefix string) (*handed, error) {
	name := prefix + rand.Text()
	unseen := filepath.Join(filepath.Dir(name), "new-"+filepath.Base(name))
	f, err := os.OpenFile(filepath.Clean(unseen), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt(make([]byte, sizeHanded), 0)
	if err == nil && lock(f) {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return &handed{file: f, name: name}, nil
}

// left returns how many calls the process that has left a file has lost, and removes it; 0 if the process still runs.
func left(name string) (lost uint64) {
	f, err := os.OpenFile(filepath.Clean(name), os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	if !lock(f) {
		return 0
	}
	var numbers [sizeHanded]byte
	if _, err := io.ReadFull(f, numbers[:]); err != nil || os.Remove(name) != nil {
		return 0 // it has only begun, or another process has counted it
	}
	given, ended := binary.LittleEndian.Uint64(numbers[:]), binary.LittleEndian.Uint64(numbers[sizeHanded/2:])
	if ended > given {
		return 0
	}
	return given - ended
}

// add notes that the process was given a call. The lock of the journal is held.
func (h *handed) add() {
	if h != nil {
		h.given++
		h.note(0, h.given)
	}
}

// less notes that a call is not to be written after all. The lock of the journal is held.
func (h *handed) less() {
	if h != nil {
		h.given--
		h.note(0, h.given)
	}
}

// settled notes that so many calls were written, or told as lost.
func (j *Journal) settled(n uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if h := j.handed; h != nil && n > 0 {
		h.ended += n
		h.note(sizeHanded/2, h.ended)
	}
}

// note writes a number. If that fails, the next one may succeed.
func (h *handed) note(at int64, n uint64) {
	_, _ = h.file.WriteAt(binary.LittleEndian.AppendUint64(nil, n), at)
}

// remove removes the file: the process has nothing left to write.
func (h *handed) remove() {
	if h != nil {
		_ = os.Remove(h.name)
		_ = h.file.Close()
	}
}
