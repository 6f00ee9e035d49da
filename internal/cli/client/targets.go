package client

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/upstream/many"
)

// A target is what a gateway's list says about one of the servers behind its endpoint.
type target struct {
	Outcome    string   `json:"outcome"`
	Message    string   `json:"message"`
	AsOf       string   `json:"asOf"`
	Truncated  bool     `json:"truncated"`
	Collisions []string `json:"collisions"`
}

// tellTargets reports for which servers behind an endpoint a list is incomplete, and why.
func tellTargets(env *term.Environment, about mcp.Meta) {
	raw, err := json.Marshal(about[many.MetaTargets])
	if err != nil {
		return
	}
	var targets map[string]target
	_ = json.Unmarshal(raw, &targets) // anything in another form is not from a gateway
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		for _, line := range targets[name].lines() {
			term.Printf(env.Stderr, "recourse: %s: %s\n", name, line)
		}
	}
}

func (t target) lines() (lines []string) {
	switch {
	case t.Outcome == "late":
		lines = append(lines, "it has not answered in time; "+t.source())
	case t.Outcome != "ok":
		lines = append(lines, t.Message+" "+capital(t.source()))
	}
	if t.Truncated {
		lines = append(lines, "it has more tools than an endpoint lists")
	}
	if len(t.Collisions) > 0 {
		lines = append(lines,
			"another server has tools of these names, so that none of them is offered: "+strings.Join(t.Collisions, ", "))
	}
	return lines
}

// source says where the tools of a server come from if it has not listed them now.
func (t target) source() string {
	if t.AsOf == "" {
		return "no list of its tools is known"
	}
	return "its tools are those of " + t.AsOf
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
