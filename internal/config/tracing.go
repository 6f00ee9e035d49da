package config

import "github.com/recoursehq/recourse/internal/yaml/strictyaml"

// Tracing is how calls become part of distributed traces.
type Tracing struct {
	// URL of a collector that takes OpenTelemetry's OTLP over HTTP, such as `http://127.0.0.1:4318`; the path
	// `/v1/traces` is added to it. Changes need a restart.
	Endpoint string `yaml:"endpoint,required" default:"(none)"`
	// Fraction of the traces that are sampled, from `0` to `1`, if the trace begins at the gateway. For a
	// trace that the client has started, the client decides.
	Sample float64 `yaml:"sample" default:"1"`
	// Headers sent to the collector, such as `Authorization`. Their values are never shown. Changes need a
	// restart.
	Headers map[string]string `yaml:"headers,secret" default:"(none)"`
}

func (v *validator) tracing(t *Tracing, node *strictyaml.Node) {
	if t == nil {
		return
	}
	if endpoint := node.Get("endpoint"); endpoint != nil {
		v.url(endpoint, "endpoint", t.Endpoint)
	}
	if t.Sample < 0 || t.Sample > 1 {
		v.doc.Reportf(node.Get("sample").Pos(), "write 0.1 for a tenth of the traces", "`sample` must be from 0 to 1")
	}
	v.setHeaders(t.Headers, node.Get("headers"))
}
