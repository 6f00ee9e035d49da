package testkit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// said returns the result of a read or a write, in the same words for both kinds of connection.
func said(data string, err error) string {
	for _, known := range []error{
		io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED, syscall.EADDRINUSE,
	} {
		if errors.Is(err, known) {
			op := ""
			if e, ok := errors.AsType[*net.OpError](err); ok {
				op = e.Op + ": "
			}
			return data + "|" + op + known.Error()
		}
	}
	if err != nil {
		return data + "|" + err.Error()
	}
	return data
}

func readAll(c net.Conn) string {
	data, err := io.ReadAll(c)
	return said(string(data), err)
}

func write(c net.Conn, text string) string {
	_, err := io.WriteString(c, text)
	return said("written", err)
}

// conversations are the possible events between the ends of a connection.
func conversations() map[string]func(a, b net.Conn) []string {
	const long = 20 * time.Millisecond
	type socket interface {
		CloseWrite() error
		SetLinger(sec int) error
	}
	return map[string]func(a, b net.Conn) []string{
		"closed": func(a, b net.Conn) []string {
			return []string{write(a, "x"), said("", a.Close()), readAll(b), readAll(a), write(a, "y"), said("", a.Close())}
		},
		"half closed": func(a, b net.Conn) []string {
			half, _ := a.(socket)
			err := half.CloseWrite()
			first := []string{said("", err), readAll(b), write(b, "back"), write(a, "y")}
			return append(first, said("", b.Close()), readAll(a))
		},
		"reset": func(a, b net.Conn) []string {
			abrupt, _ := a.(socket)
			err := abrupt.SetLinger(0)
			return []string{said("", err), said("", a.Close()), readAll(b)}
		},
		"a read without a writer": func(a, b net.Conn) []string {
			err := b.SetReadDeadline(time.Now().Add(long))
			late := readAll(b)
			again := b.SetReadDeadline(time.Time{})
			return []string{said("", err), late, write(a, "x"), said("", a.Close()), said("", again), readAll(b)}
		},
		"a write without a reader": func(a, _ net.Conn) []string {
			err := a.SetWriteDeadline(time.Now().Add(long))
			return []string{said("", err), write(a, strings.Repeat("x", 64<<20)), write(a, "y")}
		},
		"a deadline during a read": func(_, b net.Conn) []string {
			time.AfterFunc(long, func() { _ = b.SetReadDeadline(time.Unix(1, 0)) })
			return []string{readAll(b)}
		},
		"a long message": func(a, b net.Conn) []string {
			go func() {
				_ = write(a, strings.Repeat("x", 3<<20))
				_ = a.Close()
			}()
			return []string{readAll(b)}
		},
		"closed during a read": func(_, b net.Conn) []string {
			time.AfterFunc(long, func() { _ = b.Close() })
			return []string{readAll(b)}
		},
	}
}

// pair returns both ends of a connection.
func pair(t *testing.T, listen func() (net.Listener, error)) (client, server net.Conn) {
	t.Helper()
	ln, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, _ := ln.Accept()
		accepted <- conn
	}()
	client, err = testkit.Dial(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client, server
}

func onLoopback() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// A connection in memory behaves like one over TCP.
func TestMemoryIsLikeTCP(t *testing.T) {
	t.Parallel()
	for name, talk := range conversations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := talk(pair(t, onLoopback))
			if got := talk(pair(t, testkit.ListenInMemory)); !slices.Equal(got, want) {
				t.Errorf("in memory:\n%.200q\nover TCP:\n%.200q", got, want)
			}
		})
	}
	for name, listen := range map[string]func() (net.Listener, error){"TCP": onLoopback, "memory": testkit.ListenInMemory} {
		ln, err := listen()
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		_, err = testkit.Dial(t.Context(), "tcp", ln.Addr().String())
		if got := said("", err); got != "|dial: connection refused" {
			t.Errorf("%s: dial after the listener was closed: %s", name, got)
		}
	}
}

// In a bubble, an idle hour takes no time, and every goroutine ends with the test.
func TestTimeInMemory(t *testing.T) {
	t.Parallel()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		srv.Next("get_field", faults.Hang(), faults.ResetBeforeAnswer(), faults.ResetAfterAnswer())
		client := testkit.NewClient(t, srv.URL(), testkit.Modern)
		inBubble := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if a, err := client.Call(ctx, testkit.GetField, `{"field_id":"F"}`); err == nil || time.Since(inBubble) != time.Hour {
			t.Errorf("after %v: %+v", time.Since(inBubble), a)
		}
		if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("reset before the answer: %v %+v", err, a)
		}
		for range 2 {
			if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); err != nil || a.Status != http.StatusOK {
				t.Errorf("a whole answer: %v", err)
			}
			time.Sleep(time.Second) // the reset follows
		}
		if err := srv.Restart(); err != nil {
			t.Fatal(err)
		}
		if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); err != nil || a.Status != http.StatusOK {
			t.Errorf("after a restart: %v", err)
		}
	})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the hour took %v", took)
	}
}

func TestUnreachableAddresses(t *testing.T) {
	t.Parallel()
	_, err := testkit.NewClient(t, testkit.RefusedURL(), testkit.Modern).ListTools(t.Context())
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("RefusedURL: %v, want %v", err, syscall.ECONNREFUSED)
	}
	_, err = testkit.NewClient(t, testkit.UnresolvableURL(), testkit.Modern).ListTools(t.Context())
	var unknown *net.DNSError
	if !errors.As(err, &unknown) || !unknown.IsNotFound {
		t.Errorf("UnresolvableURL: %v, want an unknown host", err)
	}
}
