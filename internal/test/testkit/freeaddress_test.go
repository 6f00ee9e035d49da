package testkit_test

import (
	"net"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Each address is given once, and can be listened on.
func TestFreeAddress(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 50 {
		address, err := testkit.FreeAddress()
		if err != nil || given[address] {
			t.Fatalf("%s, given before: %t, %v", address, given[address], err)
		}
		given[address] = true
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
	}
}

// Nobody gets the port of a stopped server: no system gives it to whoever asks for any, and no test reserves it again.
func TestStoppedServerKeepsItsPort(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	again, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", srv.Addr())
	if err == nil {
		_ = again.Close()
	}
	if err == nil || srv.Addr() >= "127.0.0.1:32768" {
		t.Errorf("%s, reserved again: %v", srv.Addr(), err)
	}
}
