// Package spool holds texts that wait for their readers: in memory up to a bound, and beyond
// it in temporary files.
package spool

import (
	"cmp"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

const (
	// Memory is how much of a text is held in memory; the rest goes to its file.
	Memory = 4 << 20
	// RoomMemory limits what all texts in a room hold in memory, unless the room says otherwise.
	RoomMemory = 32 << 20
	// RoomFiles limits what they hold in files.
	RoomFiles = 1 << 30
	// kept is how much memory a text keeps when it is dropped.
	kept = 64 << 10
)

// ErrRoom says that there was no room for a text.
var ErrRoom = errors.New("the buffers for unread answers are full")

// A Room counts what its texts hold, in bytes. It is safe for concurrent use.
type Room struct {
	Memory, Files int64 // limits; 0 means RoomMemory and RoomFiles

	memory, files atomic.Int64
}

// Held returns how much the texts hold.
func (r *Room) Held() (memory, files int64) { return r.memory.Load(), r.files.Load() }

// claim increases have to need and total by the difference, unless total would exceed most.
func claim(total *atomic.Int64, have *int64, need, most int64) bool {
	more := need - *have
	if more <= 0 {
		return true
	}
	if total.Add(more) > most {
		total.Add(-more)
		return false
	}
	*have = need
	return true
}

// A Text is written at its end and read from its beginning. It is not safe for concurrent
// use.
type Text struct {
	room   *Room
	memory []byte // what was written first; memory[:at] has been read
	at     int
	file   *os.File // what was written after it, from read up to write
	read   int64
	write  int64

	inMemory, inFile int64 // as counted in room
}

// NewText returns an empty text.
func NewText(room *Room) *Text { return &Text{room: room} }

// Write implements [io.Writer]. The error is [ErrRoom], or that of the file.
func (t *Text) Write(p []byte) (int, error) {
	if t.read == t.write && len(t.memory)-t.at+len(p) <= Memory &&
		claim(&t.room.memory, &t.inMemory, int64(len(t.memory)+len(p)), cmp.Or(t.room.Memory, RoomMemory)) {
		if t.at > 0 && len(t.memory)+len(p) > cap(t.memory) {
			t.memory = t.memory[:copy(t.memory, t.memory[t.at:])]
			t.at = 0
		}
		t.memory = append(t.memory, p...)
		return len(p), nil
	}
	if t.file == nil {
		file, err := os.CreateTemp("", "recourse-*")
		if err != nil {
			return 0, err
		}
		_ = os.Remove(file.Name()) // where an open file cannot be removed, Drop does it
		t.file = file
	}
	if t.read == t.write {
		t.read, t.write = 0, 0
	}
	if !claim(&t.room.files, &t.inFile, t.write+int64(len(p)), cmp.Or(t.room.Files, RoomFiles)) {
		return 0, ErrRoom
	}
	n, err := t.file.WriteAt(p, t.write)
	t.write += int64(n)
	return n, err
}

// Read implements [io.Reader]: io.EOF means that everything written so far has been read.
func (t *Text) Read(p []byte) (int, error) {
	if t.at < len(t.memory) {
		n := copy(p, t.memory[t.at:])
		if t.at += n; t.at == len(t.memory) {
			t.memory, t.at = t.memory[:0], 0
		}
		return n, nil
	}
	if t.read == t.write {
		return 0, io.EOF
	}
	n, err := t.file.ReadAt(p[:min(int64(len(p)), t.write-t.read)], t.read)
	t.read += int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Bytes returns the unread text that is in memory, and whether that is all of it. It is valid until the next call.
func (t *Text) Bytes() (text []byte, all bool) { return t.memory[t.at:], t.read == t.write }

// Drop empties the text, and frees all that it holds except a little memory.
func (t *Text) Drop() {
	if t.file != nil {
		_ = t.file.Close()
		_ = os.Remove(t.file.Name())
	}
	t.room.memory.Add(-t.inMemory)
	t.room.files.Add(-t.inFile)
	memory := t.memory[:0]
	if cap(memory) > kept {
		memory = nil
	}
	*t = Text{room: t.room, memory: memory}
}
