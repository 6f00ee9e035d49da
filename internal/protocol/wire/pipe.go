package wire

import (
	"bytes"
	"io"
	"sync"
)

// A Pipe hands parts from a goroutine that sends them to one that reads them. Neither runs ahead of the other.
type Pipe struct {
	parts  chan *Part
	copied chan struct{} // the part that was sent is the reader's now
	ended  chan struct{}
	gone   chan struct{} // the reader has
	end    sync.Once
	leave  sync.Once
	err    error // why it has ended

	// The reader's own:
	part      Part
	signs     Signs
	data, raw []byte
}

var _ Parts = (*Pipe)(nil)

// NewPipe returns a pipe.
func NewPipe() *Pipe {
	return &Pipe{
		parts: make(chan *Part), copied: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}),
	}
}

// Send waits until the reader has taken the part, which can be used again then. The error is io.ErrClosedPipe if nobody
// reads any more, or the pipe has ended.
func (p *Pipe) Send(part *Part) error {
	select {
	case <-p.gone:
		return io.ErrClosedPipe
	case <-p.ended:
		return io.ErrClosedPipe
	default:
	}
	select {
	case p.parts <- part:
		<-p.copied
		return nil
	case <-p.gone:
	case <-p.ended:
	}
	return io.ErrClosedPipe
}

// End ends the pipe: its reader gets err, or io.EOF if that is nil. Only the first call counts.
func (p *Pipe) End(err error) {
	p.end.Do(func() {
		if p.err = err; err == nil {
			p.err = io.EOF
		}
		close(p.ended)
	})
}

// Next implements [Parts].
func (p *Pipe) Next() (*Part, error) {
	select {
	case part := <-p.parts:
		p.take(part)
		p.copied <- struct{}{}
		return &p.part, nil
	case <-p.ended:
		return nil, p.err
	case <-p.gone:
		return nil, io.ErrClosedPipe
	}
}

// take copies a part.
func (p *Pipe) take(part *Part) {
	p.part = *part
	p.data = append(p.data[:0], part.Data...)
	p.part.Data = p.data
	if part.Raw != nil {
		p.raw = append(p.raw[:0], part.Raw...)
		p.part.Raw = p.raw
	}
	p.part.ID, p.part.Type = bytes.Clone(part.ID), bytes.Clone(part.Type)
	if part.Signs != nil {
		p.signs = part.Signs.Edited()
		p.part.Signs = &p.signs
	}
}

// Close implements [io.Closer] for the reader.
func (p *Pipe) Close() error {
	p.leave.Do(func() { close(p.gone) })
	return nil
}
