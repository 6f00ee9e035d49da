package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// A feature is what a configuration can have besides its servers: its own lines, and keys of a server. %s is the
// address of a collector, %i that of an issuer of tokens, and %d a directory.
type feature struct{ name, lines, keys string }

// apiKey is sent to every gateway, and checked by those that require one.
var apiKey = strings.Repeat("bench", 8)

// Parts of features.
var (
	access = fmt.Sprintf("access: {team: {keys: [{name: bench, hash: 'sha256:%x'}]}}", sha256.Sum256([]byte(apiKey)))
	limits = ", limits: {minute: {calls: 100000000/1m}, month: {calls: 1000000000/30d}}"
	guards = ", breaker: {}, concurrency: {max: 64}"
)

// features are compared with a gateway without any; the last one is all of them.
var features = []feature{
	{name: "nothing"},
	{name: "metrics", lines: "admin: 127.0.0.1:0"},
	{name: "access log", lines: "access_log: true"},
	{name: "traces, a tenth", lines: "tracing: {endpoint: 'http://%s', sample: 0.1}"},
	{name: "traces, all", lines: "tracing: {endpoint: 'http://%s'}"},
	{name: "breaker, bulkhead", keys: guards},
	{name: "API keys", lines: access, keys: ", access: [team]"},
	{
		name:  jwtFeature,
		lines: "access: {staff: {jwt: {issuer: '" + issuerURL + "', jwks: 'http://%i', audience: [bench]}}}",
		keys:  ", access: [staff]",
	},
	{name: "limits", keys: limits},
	{name: "journal", lines: "store: 'sqlite:%d/journal.db'"},
	{
		name:  mostFeatures,
		lines: "admin: 127.0.0.1:0\nstore: 'sqlite:%d/most.db'\n" + access,
		keys:  guards + limits + ", access: [team]",
	},
	{
		name: "all of these, a tenth of the traces",
		lines: "admin: 127.0.0.1:0\naccess_log: true\ntracing: {endpoint: 'http://%s', sample: 0.1}\n" +
			"store: 'sqlite:%d/all.db'\n" + access,
		keys: guards + limits + ", access: [team]",
	},
}

// jwtFeature makes callers send a token instead of the API key.
const jwtFeature = "JWT"

// mostFeatures are those for which the budgets hold.
const mostFeatures = "metrics, API keys, limits, breaker, bulkhead, journal"

// featureSetting is the setting in which they are measured.
var featureSetting = setting{pathJSON, 1000, 32}

// compareFeatures measures a gateway with each of the features, and a ReverseProxy for comparison.
func (r *results) compareFeatures(ctx context.Context, o *options, dir string, server *process) (err error) {
	if !o.wants("features") {
		return nil
	}
	collector, err := start(ctx, dir, roleCollector)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, collector.stop()) }()
	issuer, err := startIssuer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, issuer.stop()) }()
	proxy, err := start(ctx, dir, rolePooled, server.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.stop()) }()
	all := []variant{direct: {name: "direct", process: server}, bare: {name: "ReverseProxy with BufferPool", process: proxy}}
	var gateways []*process
	defer func() { err = errors.Join(err, stopAll(gateways)) }()
	for _, f := range features {
		gateway, err := f.start(ctx, dir, server, collector, issuer)
		if err != nil {
			return err
		}
		gateways = append(gateways, gateway)
		credentials := apiKey
		if f.name == jwtFeature {
			credentials = issuer.token
		}
		all = append(all, variant{name: f.name, process: gateway, fields: []string{"Authorization: Bearer " + credentials}})
	}
	r.features, err = compare(ctx, o, dir, featureSetting, all)
	return err
}

// start starts a gateway with the feature.
func (f feature) start(ctx context.Context, dir string, server, collector *process, tokens *issuer) (*process, error) {
	file := filepath.Join(dir, strings.ReplaceAll(f.name, " ", "-")+".yaml")
	lines := strings.NewReplacer("%s", collector.address, "%i", tokens.address, "%d", filepath.ToSlash(dir)).Replace(f.lines)
	text := fmt.Appendf(nil, "listen: 127.0.0.1:0\nlog: json\n%s\n"+
		"servers: {json: {url: 'http://%s/json/mcp', tools: {echo: {read_only: true}}%s}}\n",
		lines, server.address, f.keys)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return start(ctx, dir, roleGateway, "", file)
}

// discard accepts what it is sent, as a collector does.
func discard(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the gateway is measured, not this
}

// printFeatures prints what each feature costs.
func printFeatures(out io.Writer, c *comparison) error {
	if c == nil {
		return nil
	}
	fmt.Fprintf(out, "what is off by default, with the echo of %d B and %d callers\n", c.size, c.callers)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "turned on\tcalls/s\tx nothing\tx ReverseProxy\tadded p50\tgarbage/call\tprocessor/call\t\n")
	for v := range c.names {
		if v == direct {
			continue
		}
		fmt.Fprintf(table, "%s\t%.0f\t%.2f\t%.2f\t%s\t%.1f KB\t%s\t\n", c.names[v], c.of(v, func(s slice) float64 { return s.rate }),
			c.throughput(v, bare+1), c.throughput(v, bare), micros(c.added(v)), c.garbage(v)/kilobyte, micros(c.processor(v)))
	}
	fmt.Fprintln(table)
	return table.Flush()
}
