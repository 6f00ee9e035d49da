package testkit

import (
	"context"
	"errors"
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

var givenPorts sync.Map

var errNoPort = errors.New("no port is free")

// FreeAddress returns an address on loopback for a process that has to be told where to listen. Nobody else gets the port
// meanwhile: not another test of this process, and, since no system gives it to whoever asks for any port, no listener and no
// connection of another one.
func FreeAddress() (string, error) {
	for range lastPort - firstPort {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
		if err != nil { // somebody has it
			continue
		}
		return address, ln.Close()
	}
	return "", errNoPort
}
