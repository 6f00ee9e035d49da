package many

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// fileVersion is the version of the file's format; a file with another version counts as empty.
const fileVersion = 1

const (
	// writeAfter is how long a change waits for more changes before the file is written.
	writeAfter = 200 * time.Millisecond
	// maxFile limits how much of a file is read.
	maxFile = 128 << 20
)

// A file keeps, across restarts, the lists that are the same for everybody. Losing it only costs the
// tools of servers that are away. Servers that are no longer configured are dropped when it is written.
type file struct {
	path string
	note func(text string)

	mu     sync.Mutex
	said   content
	timer  *time.Timer // until it is written; nil: nothing to write
	closed bool
}

type content struct {
	Version int         `json:"v"`
	Lists   []savedList `json:"lists"`
}

type savedList struct {
	Server string `json:"server"`
	Place  string `json:"place"`
	Method string `json:"method"`
	List   *list  `json:"list"`
}

// openFile reads the file if it exists. Problems with it are reported through note.
func openFile(path string, note func(text string)) *file {
	f := &file{path: path, note: note}
	switch text, err := readFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		note(fmt.Sprintf("the last lists cannot be read: %v", err))
	case json.Unmarshal(text, &f.said) != nil, f.said.Version != fileVersion:
		note("the file of the last lists is of another form and is not used: " + path)
		f.said = content{}
	}
	f.said.Version = fileVersion
	return f
}

func readFile(path string) ([]byte, error) {
	about, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case about.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return os.ReadFile(filepath.Clean(path))
}

// read returns the lists that were in the file.
func (f *file) read() map[listKey]*list {
	f.mu.Lock()
	defer f.mu.Unlock()
	lists := map[listKey]*list{}
	for _, e := range f.said.Lists {
		if e.List != nil {
			lists[listKey{server: e.Server, place: e.Place, method: e.Method}] = e.List
		}
	}
	return lists
}

// put schedules a list to be written.
func (f *file) put(at listKey, l *list) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lists := make([]savedList, 0, len(f.said.Lists)+1)
	for _, e := range f.said.Lists {
		if e.Server != at.server || e.Method != at.method { // otherwise it is this list, or one of another place
			lists = append(lists, e)
		}
	}
	lists = append(lists, savedList{at.server, at.place, at.method, l})
	f.said.Lists = lists
	if f.timer == nil && !f.closed {
		f.timer = time.AfterFunc(writeAfter, f.write)
	}
}

// write writes the file anew.
func (f *file) write() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil {
		return // written already
	}
	f.timer = nil
	if err := f.replace(); err != nil {
		f.note(fmt.Sprintf("the last lists cannot be kept across a restart: %v", err))
	}
}

func (f *file) replace() error {
	text, err := json.Marshal(f.said)
	if err != nil {
		return err
	}
	folder := filepath.Dir(f.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(folder, filepath.Base(f.path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // of no use any more
	}
	return err
}

// close writes what is not written yet.
func (f *file) close() {
	f.write()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}
