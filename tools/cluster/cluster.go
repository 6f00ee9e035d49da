//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A cluster is all that runs.
type cluster struct {
	dir, program string
	limit        int64 // calls of a caller in an hour
	server       *server
	slow         string // what tc does to a link that is slow

	gateways, redis, sentinels []*node
	postgres, haproxy          *node
	clock                      string // the file that says how far Redis's clock is off; "": it cannot be
	faults                     int
}

//go:embed clock/clock.c
var clockSource []byte

const (
	gatewayConfiguration = `listen: 0.0.0.0:8787
admin: 0.0.0.0:9464
admin_remote: true
hosts: [10.77.0.2]
shutdown_delay: 2s
log: json
log_level: warn
session_keys: [a secret that all the replicas know]
store: postgres://postgres@10.77.0.41/postgres
journal: {successes: 1}
redis: redis://10.77.0.31:26379/0?addr=10.77.0.32:26379&addr=10.77.0.33:26379&master_name=counts
servers:
  shop:
    url: http://10.77.0.1:9000/mcp
    tools:
      order_create:
        once: {key: /reference, grace: 10s}
        verify: {tool: order_get, from: {reference: /reference}, landed: {path: /reference, exists: true}}
  metered:
    url: http://10.77.0.1:9000/mcp
    forward: [authorization]
    limits: {hour: {calls: %d/1h}}
`
	sentinelConfiguration = `port 26379
protected-mode no
sentinel monitor counts 10.77.0.21 6379 2
sentinel down-after-milliseconds counts 1000
sentinel failover-timeout counts 3000
`
	haproxyConfiguration = `global
  maxconn 4096
defaults
  mode http
  timeout connect 1s
  timeout client 2m
  timeout server 2m
  option redispatch
  option httpchk GET /readyz
  http-check send hdr Host localhost
  default-server check port 9464 inter 300ms fall 2
listen gateways
  bind 0.0.0.0:8787
  server g1 10.77.0.11:8787
  server g2 10.77.0.12:8787
  server g3 10.77.0.13:8787
`
)

// start starts everything, and waits until it works.
func (c *cluster) start(ctx context.Context) error {
	err := doAll(ctx,
		"mount --make-rprivate /", "mount -t proc none /proc", "mount -t tmpfs none /run",
		"ip link set lo up", "ip link add hub type bridge", "ip addr add "+hub+"/24 dev hub", "ip link set hub up",
	)
	if err != nil {
		return err
	}
	c.slow = "netem delay 40ms 20ms"
	if do(ctx, "tc qdisc add dev hub root netem delay 0ms") != nil { // the kernel does not have it
		c.slow = "tbf rate 4mbit burst 16kb latency 60ms"
	}
	_ = do(ctx, "tc qdisc del dev hub root") // there may be none
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", hub+":9000")
	if err != nil {
		return err
	}
	c.server = newServer()
	go func() { _ = http.Serve(ln, c.server) }() // it ends with the process
	for _, start := range []func(context.Context) error{c.startPostgres, c.startRedis, c.startGateways} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startPostgres runs it on a small disk.
func (c *cluster) startPostgres(ctx context.Context) error {
	who, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is good
	if len(found) == 0 {
		initdb, err := exec.LookPath("initdb")
		if err != nil {
			return err
		}
		found = []string{filepath.Dir(initdb)}
	}
	bin, data := found[len(found)-1], filepath.Join(c.dir, "pg")
	as := "setpriv --reuid=postgres --regid=postgres --clear-groups "
	err = doAll(ctx, "mkdir "+data, "mount -t tmpfs -o size=2g,mode=700,uid="+who.Uid+" none "+data,
		as+bin+"/initdb -D "+data+"/d -U postgres -A trust -E UTF8 --locale=C --no-sync")
	if err != nil {
		return err
	}
	hba := filepath.Join(data, "d", "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local\tall\tpostgres\ttrust\nhost\tall\tpostgres\t10.77.0.0/24\ttrust\n"), 0o600); err != nil {
		return err
	}
	command := as + bin + "/postgres -D " + data + "/d -k " + data +
		" -c listen_addresses=* -c max_connections=200 -c shared_buffers=64MB -c max_wal_size=128MB"
	c.postgres = &node{name: "pg", ip: "10.77.0.41", command: strings.Fields(command)}
	if err := startNode(ctx, c.dir, c.postgres); err != nil {
		return err
	}
	return c.until(ctx, "PostgreSQL", func() bool { _, err := c.sql(ctx, "SELECT 1"); return err == nil })
}

// startRedis runs two, the second of which is a replica, and three Sentinels.
func (c *cluster) startRedis(ctx context.Context) error {
	env := c.wrongClock(ctx)
	for i, more := range []string{"", " --replicaof 10.77.0.21 6379"} {
		command := append([]string{"redis-server", "--save", ""},
			strings.Fields("--protected-mode no --appendonly no --repl-diskless-sync-delay 0 --rdb-del-sync-files yes"+more)...)
		c.redis = append(c.redis, &node{name: fmt.Sprintf("r%d", i+1), ip: fmt.Sprintf("10.77.0.2%d", i+1), command: command, env: env})
	}
	for i := range 3 {
		name := fmt.Sprintf("s%d", i+1)
		file := filepath.Join(c.dir, name+".conf")
		if err := os.WriteFile(file, []byte(sentinelConfiguration), 0o600); err != nil {
			return err
		}
		s := &node{name: name, ip: fmt.Sprintf("10.77.0.3%d", i+1), command: []string{"redis-server", file, "--sentinel"}}
		c.sentinels = append(c.sentinels, s)
	}
	for _, n := range append(c.redis, c.sentinels...) {
		if err := startNode(ctx, c.dir, n); err != nil {
			return err
		}
	}
	return c.until(ctx, "Sentinel", func() bool {
		for _, s := range c.sentinels {
			words := strings.Join(s.sentinel(ctx, "master"), " ")
			if !strings.Contains(words, "num-slaves 1 ") || !strings.Contains(words, "num-other-sentinels 2 ") {
				return false
			}
		}
		return true
	})
}

// wrongClock returns the variables of a program whose clock can jump, which takes a C compiler; none without one.
func (c *cluster) wrongClock(ctx context.Context) []string {
	source, library, file := filepath.Join(c.dir, "clock.c"), filepath.Join(c.dir, "clock.so"), filepath.Join(c.dir, "clock")
	err := errors.Join(os.WriteFile(source, clockSource, 0o600), do(ctx, "cc -shared -fPIC -o "+library+" "+source),
		os.WriteFile(file, make([]byte, 8), 0o600))
	if err != nil {
		return nil
	}
	c.clock = file
	return []string{"LD_PRELOAD=" + library, "CLOCK=" + file}
}

func (c *cluster) startGateways(ctx context.Context) error {
	file, balancer := filepath.Join(c.dir, "recourse.yaml"), filepath.Join(c.dir, "haproxy.cfg")
	err := errors.Join(os.WriteFile(file, fmt.Appendf(nil, gatewayConfiguration, c.limit), 0o600),
		os.WriteFile(balancer, []byte(haproxyConfiguration), 0o600))
	if err != nil {
		return err
	}
	for i := range 3 {
		name := fmt.Sprintf("g%d", i+1)
		c.gateways = append(c.gateways, &node{
			name: name, ip: fmt.Sprintf("10.77.0.1%d", i+1), command: []string{c.program, "serve", "-c", file},
			env: []string{"XDG_CACHE_HOME=" + filepath.Join(c.dir, name)},
		})
	}
	c.haproxy = &node{name: "lb", ip: "10.77.0.2", command: []string{"haproxy", "-db", "-q", "-f", balancer}}
	for _, n := range append(c.gateways, c.haproxy) {
		if err := startNode(ctx, c.dir, n); err != nil {
			return err
		}
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	return c.until(ctx, "HAProxy", func() bool { return answers(ctx, "http://"+c.haproxy.ip+":8787/healthz") })
}

// ready waits until all gateways are.
func (c *cluster) ready(ctx context.Context) error {
	return c.until(ctx, "gateway", func() bool {
		return !slices.ContainsFunc(c.gateways, func(n *node) bool { return !answers(ctx, "http://"+n.ip+":9464/readyz") })
	})
}

// answers reports whether a gateway answers there, and does not say that it is not ready.
func answers(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode != http.StatusServiceUnavailable
}

func (c *cluster) until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			return fmt.Errorf("%s does not work: %w", what, ctx.Err())
		}
		pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// sql asks PostgreSQL, and returns a line for each row.
func (c *cluster) sql(ctx context.Context, query string) (rows []string, err error) {
	out, err := exec.CommandContext(ctx, "psql", "-h", filepath.Join(c.dir, "pg"), "-U", "postgres", "-At", "-c", query).Output()
	return strings.Fields(string(out)), err
}

// primary returns the Redis that Sentinel names, and the other one.
func (c *cluster) primary(ctx context.Context) (primary, other *node) {
	if slices.Contains(c.sentinels[0].sentinel(ctx, "get-master-addr-by-name"), c.redis[1].ip) {
		return c.redis[1], c.redis[0]
	}
	return c.redis[0], c.redis[1]
}

// sentinel asks a Sentinel about the primary, and returns the words of its answer; none if it does not answer.
func (n *node) sentinel(ctx context.Context, question string) []string {
	out, _ := exec.CommandContext(ctx, "redis-cli", "-h", n.ip, "-p", "26379", "sentinel", question, "counts").Output()
	return strings.Fields(string(out))
}
