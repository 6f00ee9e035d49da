package record

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Recorder writes a session to a file, each message with one write, so that of a program that is killed at most the last line
// is lost. It is safe for concurrent use.
type Recorder struct {
	in      string
	started time.Time
	most    int64
	mask    *mask
	warn    func(string)

	mu      sync.Mutex
	file    *os.File
	size    int64
	stopped bool
}

// Options are what a [Recorder] is told.
type Options struct {
	Transport string   // stdio or http
	Server    string   // its command or URL
	Secrets   []string // that must not be written, besides what is recognised
	Max       int64    // how large the file may become
	Warn      func(string)
}

// Create begins a session in a recording, which is made if there is none.
func Create(name string, o Options) (*Recorder, error) {
	file, err := os.OpenFile(filepath.Clean(name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		in: rand.Text()[:8], started: time.Now(), most: o.Max, mask: newMask(o.Secrets), warn: o.Warn, file: file,
	}
	if err := r.begin(o); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// begin writes the first line.
func (r *Recorder) begin(o Options) error {
	end := make([]byte, 1)
	stat, err := r.file.Stat()
	if err != nil {
		return err
	}
	if r.size = stat.Size(); r.size > 0 {
		line, err := wire.NewLineReader(io.NewSectionReader(r.file, 0, r.size), maxLine).Next()
		if err != nil {
			return fmt.Errorf("read %s: %w", r.file.Name(), err)
		}
		if _, err := readFirst(line.Text); err != nil {
			return fmt.Errorf("%s is there already, and %w", r.file.Name(), err)
		}
		_, _ = r.file.ReadAt(end, r.size-1) // if it fails, writing does as well
	}
	line, err := json.Marshal(first{
		Format: format, Version: version, In: r.in, Transport: o.Transport, Server: r.mask.text(o.Server),
		Started: r.started.UTC().Truncate(time.Second), Masked: []string{"[credential]", "[connection string]", "[session]"},
	})
	if err != nil {
		return err
	}
	if r.size > 0 && end[0] != '\n' { // its last writer was killed
		line = append([]byte{'\n'}, line...)
	}
	return r.append(line)
}

// append writes a line.
func (r *Recorder) append(line []byte) error {
	n, err := r.file.Write(append(line, '\n'))
	r.size += int64(n)
	return err
}

// write writes an entry, masked. A session goes on when its recording cannot.
func (r *Recorder) write(e *fileEntry) {
	if e.Message != nil {
		if e.Message = r.mask.message(e.Message, e.From); e.Message == nil {
			e.Text = "[not readable]"
		}
	}
	e.Text, e.End = r.mask.text(e.Text), r.mask.text(e.End)
	for name, value := range e.Headers {
		scheme, rest, _ := strings.Cut(value, " ") // a word after Bearer would be taken for its token
		e.Headers[name] = strings.TrimSuffix(r.mask.text(scheme)+" "+r.mask.text(rest), " ")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	e.At = math.Round(time.Since(r.started).Seconds()*1e6) / 1e6
	line, err := json.Marshal(e)
	switch {
	case err != nil:
		r.stop(err.Error())
		return
	case r.size+int64(len(line)) >= r.most:
		r.stop("it is as large as --max allows")
		return
	}
	if err := r.append(line); err != nil {
		r.stop(err.Error())
	}
}

// stop ends the recording, not the session.
func (r *Recorder) stop(why string) {
	r.stopped = true
	r.warn("the recording ends here: " + r.mask.text(why))
}

// Close ends the recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	return r.file.Close()
}
