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
	server, _ := clusterNode(t)
	admin := client(t, server.URL)
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	if !testkit.Until(func() bool { return strings.Contains(admin.ClusterInfo(t.Context()).Val(), "cluster_state:ok") }) {
		t.Fatal(admin.ClusterInfo(t.Context()))
	}
	r := open(t, "redis://"+server.RedisAddress()+"?addr="+server.RedisAddress(), patient)
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

// A call finds the node that has its count, whichever is asked, and another one if that is away.
func TestRedisClusterOfTwo(t *testing.T) {
	t.Parallel()
	var nodes [2]*service.Process
	var buses [2]string
	for i := range nodes {
		nodes[i], buses[i] = clusterNode(t)
	}
	first, second := client(t, nodes[0].URL), client(t, nodes[1].URL)
	host, port, _ := strings.Cut(nodes[1].RedisAddress(), ":")
	for _, err := range []error{
		first.ClusterAddSlotsRange(t.Context(), 0, 8191).Err(), second.ClusterAddSlotsRange(t.Context(), 8192, 16383).Err(),
		second.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", 2).Err(), first.Do(t.Context(), "CLUSTER", "MEET", host, port, buses[1]).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "a cluster", func() bool {
		return strings.Contains(first.ClusterInfo(t.Context()).Val(), "cluster_state:ok") &&
			strings.Contains(second.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	r := open(t, "redis://127.0.0.1:1?addr="+nodes[0].RedisAddress()+"&addr=127.0.0.1:1", patient)
	for _, want := range []bool{true, false} {
		for farm := range strings.SplitSeq("abcdefgh", "") {
			charges := []limit.Charge{{Window: &limit.Window{ID: "{" + farm + "}:hour", Calls: 1, Length: time.Hour}}}
			if ok, err := r.Take(t.Context(), time.Now(), charges); err != nil || ok != want {
				t.Errorf("%s: %t, %v, want %t", farm, ok, err, want)
			}
		}
	}
	if held := first.DBSize(t.Context()).Val(); held == 0 || held == 8 {
		t.Errorf("one node has %d of 8 counts", held)
	}
}

// clusterNode starts a node of a cluster, and returns the port at which the others find it.
func clusterNode(t *testing.T) (node *service.Process, bus string) {
	t.Helper()
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, bus, _ = strings.Cut(address, ":")
	return service.NewRedis(t, "--cluster-enabled", "yes", "--databases", "1", "--cluster-port", bus), bus
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
		case "PING":
			answer = "+PONG\r\n"
		case "EVALSHA":
			answer = "-MOVED 866 127.0.0.1:1\r\n"
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}
