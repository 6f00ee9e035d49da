package patterns

import (
	_ "embed"
	"regexp"
)

var (
	categories   = []string{"creational", "structural", "behavioral", "concurrency", "architectural"}
	difficulties = []string{"beginner", "intermediate", "advanced"}
)

// library is the backend's list of patterns.
//
//go:embed library.json
var library []byte

// analysisRules are the rules that the backend checks, line by line.
var analysisRules = []check{
	{
		ID: "long-parameter-list", Category: "size", Pattern: "builder", Summary: "more than five parameters are hard to get right",
		sign: regexp.MustCompile(`func\b[^(]*(\([^)]*\)\s*\w+)?\((?:[^,)]*,){5,}`),
	},
	{
		ID: "type-switch", Category: "coupling", Pattern: "strategy", Summary: "a switch over types has to be changed for each new one",
		sign: regexp.MustCompile(`switch .*\.\(type\)|instanceof`),
	},
	{
		ID: "global-state", Category: "state", Pattern: "singleton", Summary: "a global variable can be changed from anywhere",
		sign: regexp.MustCompile(`^(var|let) \w+\b|\bstatic mut\b|^\s*global `),
	},
	{
		ID: "call-chain", Category: "coupling", Pattern: "facade", Summary: "a chain of calls knows too much of others",
		sign: regexp.MustCompile(`(\.\w+\(\)){4,}`),
	},
}

// A skill is a guide to working with patterns.
type skill struct {
	Slug     string `json:"slug"`
	Title    string `json:"title"`
	Category string `json:"category"`
	Guide    string `json:"guide"`
}

// skills are the guides of the library.
var skills = []skill{
	{
		Slug: "add-undo", Title: "Add undo", Category: "behavioral",
		Guide: "1. Make each change a command.\n2. Let it keep a memento of what it changes.\n3. Undo in the opposite order.",
	},
	{
		Slug: "replace-type-switch", Title: "Replace a type switch", Category: "behavioral",
		Guide: "1. Name what the cases have in common.\n2. Give each type a strategy.\n3. Call it in place of the switch.",
	},
	{
		Slug: "survive-outages", Title: "Survive the outages of others", Category: "architectural",
		Guide: "1. Bound each call.\n2. Put a circuit breaker before it.\n3. Say what still works.",
	},
}
