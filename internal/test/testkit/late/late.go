// Package late makes answers come late.
package late

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A Proxy stands in front of a server that answers one request of a connection at a time, such as Redis.
type Proxy struct {
	Address string

	ln      net.Listener
	to      string
	every   int64
	by      time.Duration
	answers atomic.Int64
}

// New starts a proxy for the server at an address. One answer in every is late by that much, or never comes if the
// client has closed the connection by then.
func New(to string, every int, by time.Duration) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Address: ln.Addr().String(), ln: ln, to: to, every: int64(every), by: by}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p, nil
}

// Answers returns how many answers there were.
func (p *Proxy) Answers() int64 { return p.answers.Load() }

// Close ends the proxy. Its connections end with their clients or servers.
func (p *Proxy) Close() error { return p.ln.Close() }

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(server, client) // its end is the client's
		_ = server.Close()
	}()
	defer func() { _ = client.Close(); <-gone }()
	for buf := make([]byte, 64<<10); ; {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.answers.Add(1)%p.every == 0 {
			late := time.NewTimer(p.by)
			select {
			case <-gone:
			case <-late.C:
			}
			late.Stop()
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
