package record

import "bytes"

// Lines records the lines of a stream that are written to it.
type Lines struct {
	say  func(line []byte, size int)
	line []byte // its first maxMessage bytes
	size int
}

// FromClient returns where to write what the client says to a program on stdio.
func (r *Recorder) FromClient() *Lines { return r.lines(client) }

// FromServer returns where to write what that program says.
func (r *Recorder) FromServer() *Lines { return r.lines(server) }

func (r *Recorder) lines(from string) *Lines {
	return &Lines{say: func(line []byte, size int) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e := &fileEntry{In: r.in, From: from}
			e.say(line, size)
			r.write(e)
		}
	}}
}

// Fine is how a program ends that nothing is wrong with.
const Fine = "exit status 0"

// Ended records how the program ended.
func (r *Recorder) Ended(how string) { r.write(&fileEntry{In: r.in, From: server, End: how}) }

// Left records that the client has closed its end.
func (r *Recorder) Left() { r.write(&fileEntry{In: r.in, From: client, End: "closed"}) }

// Write implements [io.Writer]. It never fails.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		piece, rest, ended := bytes.Cut(p, []byte{'\n'})
		l.size += len(piece)
		l.line = append(l.line, piece[:min(len(piece), max(0, maxMessage-len(l.line)))]...)
		if !ended {
			return n, nil
		}
		l.next()
		p = rest
	}
}

// End records a line that has no end.
func (l *Lines) End() {
	if l.size > 0 {
		l.next()
	}
}

func (l *Lines) next() {
	l.say(l.line, l.size)
	l.size, l.line = 0, l.line[:0]
	if cap(l.line) > 1<<16 {
		l.line = nil
	}
}
