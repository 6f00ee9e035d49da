package wire_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A part is the reader's once it has been sent, with what it was when it was sent.
func TestPipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sent := wire.NewPipe(), 0
		go func() {
			text := []byte(reply)
			for _, part := range []wire.Part{
				{Event: wire.Event{Data: text, Raw: text[:5], ID: text[:2], First: true, Complete: true, Signs: scanned(text)}},
				{Event: wire.Event{Data: text[:9], First: true}},
			} {
				if err := p.Send(&part); err != nil {
					t.Error(err)
				}
				clear(text[:2])
				sent++
			}
			p.End(nil)
			p.End(errors.New("too late"))
		}()
		synctest.Wait()
		if sent != 0 {
			t.Error("a part was taken before anybody read it")
		}
		part, err := p.Next()
		synctest.Wait()
		if err != nil || string(part.Data) != reply || string(part.Raw) != reply[:5] || string(part.ID) != reply[:2] ||
			string(part.Signs.ID) != "1" || sent != 1 {
			t.Errorf("got %+v, %v, and %d sent", part, err, sent)
		}
		if part, err = p.Next(); err != nil || part.Complete || part.Signs != nil || part.Raw != nil || len(part.Data) != 9 {
			t.Errorf("got %+v, %v", part, err)
		}
		if _, err = p.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v at the end", err)
		}
		if err := p.Send(part); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("sending after the end: got %v", err)
		}
	})
}

// Whoever waits at one end is told when the other end closes.
func TestPipeEnds(t *testing.T) {
	t.Parallel()
	failed := errors.New("gone")
	for name, test := range map[string]struct {
		end        func(*wire.Pipe)
		sent, read error
	}{
		"the reader closes": {func(p *wire.Pipe) { _ = p.Close() }, io.ErrClosedPipe, io.ErrClosedPipe},
		"it ends":           {func(p *wire.Pipe) { p.End(failed) }, io.ErrClosedPipe, failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent, read error
				one, two := wire.NewPipe(), wire.NewPipe()
				go func() { sent = one.Send(&wire.Part{}) }()
				go func() { _, read = two.Next() }()
				synctest.Wait()
				test.end(one)
				test.end(two)
				synctest.Wait()
				if !errors.Is(sent, test.sent) || !errors.Is(read, test.read) {
					t.Errorf("got %v, %v", sent, read)
				}
			})
		})
	}
}
