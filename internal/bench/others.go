package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An other is a proxy that people run in front of servers, for comparison. It is measured if it is installed.
type other struct {
	name   role
	config string   // %[1]s is its own address, %[2]s that of the server, %[3]s a directory
	args   []string // %s is the file with config
}

var others = []other{
	{
		name: "haproxy",
		config: `global
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 2m
  timeout server 2m
  http-reuse always
frontend in
  bind %[1]s
  default_backend out
backend out
  server s %[2]s maxconn 512
`,
		args: []string{"-db", "-f", "%s"},
	},
	{
		name: "nginx",
		config: `daemon off;
master_process off;
pid %[3]s/nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path %[3]s;
  proxy_temp_path %[3]s;
  fastcgi_temp_path %[3]s;
  uwsgi_temp_path %[3]s;
  scgi_temp_path %[3]s;
  keepalive_requests 1000000000;
  upstream out { server %[2]s; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen %[1]s;
    location / {
      proxy_pass http://out;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }
  }
}
`,
		args: []string{"-p", "%[2]s", "-c", "%[1]s"},
	},
}

// startOthers starts those that are installed, in front of the server at address. It returns what it has started even
// with an error.
func startOthers(ctx context.Context, dir, address string) ([]*process, error) {
	var started []*process
	for _, o := range others {
		program, err := exec.LookPath(string(o.name))
		if err != nil {
			continue // it is not installed
		}
		p, err := o.start(ctx, dir, program, address)
		if p != nil {
			started = append(started, p)
		}
		if err != nil {
			return started, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return started, nil
}

func (o other) start(ctx context.Context, dir, program, server string) (*process, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, string(o.name)+".conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, o.config, address, server, dir), 0o600); err != nil {
		return nil, err
	}
	args := make([]string, len(o.args))
	for i, arg := range o.args {
		args[i] = strings.NewReplacer("%s", file, "%[1]s", file, "%[2]s", dir).Replace(arg)
	}
	p, err := launch(ctx, dir, o.name, program, args...)
	if err != nil {
		return nil, err
	}
	p.foreign, p.address = true, address
	return p, awaitListener(ctx, address)
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// awaitListener waits until something listens at address.
func awaitListener(ctx context.Context, address string) error {
	const wait, pause = 5 * time.Second, 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

func stopAll(all []*process) (err error) {
	for _, p := range all {
		err = errors.Join(err, p.stop())
	}
	return err
}

// kill ends a process that does not end with its standard input.
func (p *process) kill() error {
	err := p.command.Process.Kill()
	_ = p.command.Wait() // it was killed
	return err
}

// foreignUsage returns what Linux knows about a process.
func foreignUsage(pid int) usage {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	const user, system, tick = 11, 12, 10 * time.Millisecond // of proc(5), after the name
	if len(fields) <= system {
		return usage{}
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, _ := strconv.ParseInt(field, 10, 64) // always a number
		ticks += n
	}
	return usage{Processor: ticks * int64(tick)}
}
