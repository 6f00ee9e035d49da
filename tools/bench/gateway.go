package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A feature is what a configuration can have besides its servers: its own lines, and keys of a server.
type feature struct{ lines, keys string }

// apiKey is sent to the gateway that requires one.
var apiKey = strings.Repeat("bench", 8)

// mostFeatures are those that cost little each: metrics, API keys, limits, breaker, bulkhead, journal. %s is a directory.
var mostFeatures = feature{
	lines: "admin: 127.0.0.1:0\nstore: 'sqlite:%s/most.db'\n" +
		fmt.Sprintf("access: {team: {keys: [{name: bench, hash: 'sha256:%x'}]}}", sha256.Sum256([]byte(apiKey))),
	keys: ", breaker: {}, concurrency: {max: 64}, access: [team]" +
		", limits: {minute: {calls: 100000000/1m}, month: {calls: 1000000000/30d}}",
}

// configuration is the gateway's: the defaults. A server is named for its path.
func (f feature) configuration(o *options, address, server string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "listen: %s\nlog: json\n%s\nservers:\n", address, strings.ReplaceAll(f.lines, "%s", filepath.ToSlash(o.dir)))
	for _, path := range []string{pathJSON, pathEvents, pathLarge, pathHung} {
		name := strings.Split(path, "/")[1]
		fmt.Fprintf(&b, "  %s: {url: 'http://%s%s', tools: {echo: {read_only: true}}%s}\n", name, server, path, f.keys)
	}
	fmt.Fprintf(&b, "  child: {command: [%q, %q], tools: {echo: {read_only: true}}}\n", o.self, roleChild)
	return b.String()
}

// gateway starts the gateway of a build of this program in front of the server.
func (all *processes) gateway(ctx context.Context, o *options, name, program string, server *process, f feature) (*process, error) {
	address := freeAddress(ctx)
	file := filepath.Join(o.dir, fmt.Sprintf("gateway%d.yaml", len(*all)))
	if err := os.WriteFile(file, []byte(f.configuration(o, address, server.address)), 0o600); err != nil {
		return nil, err
	}
	return all.listen(ctx, o, name, address, program, roleGateway, address, file)
}
