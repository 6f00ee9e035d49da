package limit_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// A cluster counts like a single Redis.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	server := service.NewRedis(t, "--cluster-enabled", "yes", "--databases", "1")
	admin := client(t, server.URL)
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	if !testkit.Until(func() bool { return strings.Contains(admin.ClusterInfo(t.Context()).Val(), "cluster_state:ok") }) {
		t.Fatal(admin.ClusterInfo(t.Context()))
	}
	address := strings.TrimSuffix(server.URL, "/0")
	r := open(t, address+"?addr="+strings.TrimPrefix(address, "redis://"), patient)
	charges := []limit.Charge{
		{Window: &limit.Window{ID: "{farm}:minute", Calls: 1, Length: time.Minute}},
		{Window: &limit.Window{ID: "{farm}:hour", Calls: 9, Length: time.Hour}},
	}
	for _, want := range []bool{true, false} {
		if ok, err := r.Take(t.Context(), time.Now(), charges); err != nil || ok != want {
			t.Errorf("%t, %v, want %t", ok, err, want)
		}
	}
}

// If a URL names only one node of a cluster, the first count on another node leads to an error with advice.
func TestNodeOfCluster(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			refuse(conn)
		}
	}()
	defer func() { <-done }()
	defer ln.Close()
	r := open(t, "redis://"+ln.Addr().String(), patient)
	defer r.Close() // before waiting for the listener's end
	_, err = r.Take(t.Context(), time.Now(), []limit.Charge{{Window: testWindow(1, time.Hour)}})
	if err == nil || !strings.Contains(err.Error(), "?addr=HOST:PORT") {
		t.Errorf("got %v", err)
	}
}

// refuse answers a connection like a node that refers to another one.
func refuse(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		answer := ""
		switch strings.ToUpper(lines.Text()) {
		case "HELLO":
			answer = "-ERR unknown command\r\n"
		case "EVALSHA":
			answer = "-MOVED 866 127.0.0.1:1\r\n"
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}
