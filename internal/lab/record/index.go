package record

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Limits on a recording that is played.
const (
	maxLine     = 32 << 20 // bytes, of which a message can take a few when its characters are escaped
	maxMessages = 1_000_000
)

// A Recording is the index of a file: what a client said, and where in the file the answers are.
type Recording struct {
	// Cut says how many lines are not whole, because their recorder was killed.
	Cut int

	file    *os.File
	http    bool
	n       int
	prelude cue // what came before a client had said anything
	cues    []*cue
	exactly map[cueKey][]*cue // by what was said
	loosely map[cueKey][]*cue // by method and name
	spare   map[cueKey][]*cue // by what was said, what was not answered well: for a client that says the same, word for word
}

// cueKey is a hash of what a cue is found by.
type cueKey [16]byte

// cue is something that a client said, and what belongs to it.
type cue struct {
	words    cueKey // of all that was said, the id included
	session  int32  // in which
	lines    []location
	last     float64 // when it or the last of its lines was said
	asks     bool    // it is a request
	calls    bool    // of a tool
	answered bool
	refused  bool // by a status of HTTP
	silent   bool // its client did not wait for the answer
}

// location is where an entry stands in the file.
type location struct {
	at   int64
	size int32
	gap  time.Duration // since the one before
}

// Open reads a recording.
func Open(name string) (*Recording, error) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	r := &Recording{file: file, exactly: map[cueKey][]*cue{}, loosely: map[cueKey][]*cue{}, spare: map[cueKey][]*cue{}}
	if err := r.index(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return r, nil
}

// Close closes the file.
func (r *Recording) Close() error { return r.file.Close() }

// readFirst reads the line with which a session begins.
func readFirst(text []byte) (first, error) {
	var f first
	switch err := json.UnmarshalLenient(text, &f); {
	case err != nil || f.Format != format:
		return f, errors.New("is no recording: its first line does not say that it is one")
	case f.Version > version:
		return f, fmt.Errorf("was recorded by a later version of recourse (format %d, known here: %d)", f.Version, version)
	}
	return f, nil
}

// index reads the file line by line.
func (r *Recording) index() error {
	x := indexer{r: r, open: map[string]*dialogue{}, numbers: map[string]int32{}}
	lines := bufio.NewReaderSize(r.file, 1<<16)
	offset, cut := int64(0), false
	for n := 1; ; n++ {
		text, err := nextLine(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		begins, err := x.line(text, offset, n == 1)
		switch {
		case cut && !begins:
			return fmt.Errorf("line %d: %w", n-1, errLine)
		case errors.Is(err, errLine):
			r.Cut++
		case err != nil:
			return fmt.Errorf("it %w", err)
		}
		cut = err != nil // only the last line of a session may be
		offset += int64(len(text))
		if r.n > maxMessages {
			return fmt.Errorf("it has more than %d messages", maxMessages)
		}
	}
	if offset == 0 {
		return errors.New("it is empty")
	}
	r.setAside(r.exactly, r.spare)
	r.setAside(r.loosely, map[cueKey][]*cue{})
	return nil
}

// setAside takes requests out that are no calls and have no usable answer, where others have one: a client that gave up on a list, or
// tried another version, is not every client. What became of calls comes in its order.
func (*Recording) setAside(of, spare map[cueKey][]*cue) {
	for k, all := range of {
		good := slices.DeleteFunc(slices.Clone(all), func(c *cue) bool { return c.asks && !c.calls && (!c.answered || c.refused) })
		if len(good) > 0 && len(good) < len(all) {
			of[k], spare[k] = good, all
		}
	}
}

// nextLine returns the next line with its end, which the last one may lack.
func nextLine(lines *bufio.Reader) (text []byte, err error) {
	for {
		piece, err := lines.ReadSlice('\n')
		text = append(text, piece...)
		switch {
		case len(text) > maxLine:
			return nil, fmt.Errorf("it is longer than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		default:
			return text, err
		}
	}
}

// entry reads a line.
func (r *Recording) entry(l location) (e fileEntry, err error) {
	text := make([]byte, l.size)
	if _, err = r.file.ReadAt(text, l.at); err == nil {
		err = json.UnmarshalLenient(text, &e)
	}
	return e, err
}

// keyOf returns a key.
func keyOf(parts ...string) (k cueKey) {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	copy(k[:], sum[:])
	return k
}

// keys returns what a cue is found by. What a client says of itself makes no difference, but to the words.
func keys(method string, s *spoken) (words, exactly, loosely cueKey) {
	name := nameOf(s.Params)
	words, loosely = keyOf(method, string(s.ID), string(json.Canonical(orEmpty(s.Params)))), keyOf(method, name)
	if s.ID == nil || method == wire.MethodInitialize {
		return words, loosely, loosely
	}
	version := json.Text(s.Params, json.Pointer("/_meta/"+strings.ReplaceAll(wire.MetaProtocolVersion, "/", "~1")))
	return words, keyOf(method, name, version, string(json.Canonical(json.Without(orEmpty(s.Params), "_meta")))), loosely
}

// nameOf returns what a request is about: a tool or prompt.
func nameOf(params json.Value) string { return json.Text(params, "/name") }

func orEmpty(object json.Value) json.Value {
	if object == nil {
		return json.Value("{}")
	}
	return object
}
