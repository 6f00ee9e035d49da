package testkit

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports below those that systems give to whoever asks for any: Linux begins at 32768, others later.
const (
	firstPort = 20000
	lastPort  = 32767
)

// reserved keeps what reserves the addresses that were given: closing it would end that.
var reserved sync.Map

var errNoPort = errors.New("no port is free")

// FreeAddress returns an address on loopback for a process that has to be told where to listen. Nobody else gets the port until
// this process ends.
func FreeAddress() (string, error) {
	address, reservation, err := reserve()
	reserved.Store(address, reservation)
	return address, err
}

// reserve returns an address on loopback whose port nobody else gets until the reservation is closed, whether somebody listens
// there or not: no test of this process or another one, since its UDP port is taken, which is asked for first; and, since no
// system gives it to whoever asks for any port, no other listener and no connection.
func reserve() (string, io.Closer, error) {
	var config net.ListenConfig
	for range lastPort - firstPort {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort+1)))
		reservation, err := config.ListenPacket(context.Background(), "udp", address)
		if err != nil { // reserved
			continue
		}
		ln, err := config.Listen(context.Background(), "tcp", address)
		if err != nil { // somebody has it
			_ = reservation.Close()
			continue
		}
		return address, reservation, ln.Close()
	}
	return "", nil, errNoPort
}
