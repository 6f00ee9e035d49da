package config

import (
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Journal says what the store keeps of calls.
type Journal struct {
	// Whether calls that fail, and those that had to be retried, are kept: all of them, or none.
	Failures bool `yaml:"failures" default:"true"`
	// Share of the other calls that is kept, chosen at random: `0` for none, `1` for all.
	Successes float64 `yaml:"successes" default:"0.01"`
	// How long a call is kept.
	Keep time.Duration `yaml:"keep" default:"30d"`
	// Approximate maximum size of the journal; beyond it, the oldest calls are removed. At least 1MiB.
	MaxSize strictyaml.Size `yaml:"max_size" default:"1GiB"`
	// What is kept of a call's arguments. `masked`: the values that the contract may show, without secrets;
	// for a contract that never shows values, such as `commerce`, only the names. `names`: names and types.
	// `off`: nothing.
	Arguments Arguments `yaml:"arguments" default:"masked"`
}

// Arguments says what the journal keeps of arguments.
type Arguments string

// What the journal keeps of arguments.
const (
	ArgumentsMasked Arguments = "masked"
	ArgumentsNames  Arguments = "names"
	ArgumentsOff    Arguments = "off"
)

// Words returns all of them.
func (Arguments) Words() []string {
	return []string{string(ArgumentsMasked), string(ArgumentsNames), string(ArgumentsOff)}
}

const (
	storeHint = "write it as `sqlite:recourse.db` or `postgres://user:${PASSWORD}@host/database`"
	// minJournal is the approximate size of a hundred failures.
	minJournal = 1 << 20
)

// store checks where the store is, and what it keeps.
func (v *validator) store(c *Config, root *strictyaml.Node) {
	v.pin(c, nil, root.Get("pin"))
	if node := root.Get("store"); node != nil {
		v.address(c, node)
	}
	node := root.Get("journal")
	switch {
	case c.Journal == nil && c.Store != "":
		c.KeepIn(c.Store)
	case c.Journal == nil:
	case root.Get("store") == nil:
		v.doc.Reportf(node.Pos(), "add `store: sqlite:recourse.db`", "a journal needs a `store`")
	default:
		v.journal(c.Journal, node)
	}
}

// pin checks a server's pins, or with a nil server those of all.
func (v *validator) pin(c *Config, s *Server, node *strictyaml.Node) {
	if node == nil || s == nil && !c.Pin || s != nil && (s.Pin == nil || !*s.Pin) {
		return
	}
	if c.Store == "" {
		v.doc.Reportf(node.Pos(), "add `store: sqlite:recourse.db` at the top level", "`pin` needs a `store`")
	}
	if s != nil && s.Mode == ModeObserve {
		v.doc.Reportf(node.Pos(), "remove it, or `mode: observe`", "`pin` does nothing where failures are only observed")
	}
}

// statusTool checks that there is something that the gateway's own tool can say.
func (v *validator) statusTool(s *Server, node *strictyaml.Node) {
	switch {
	case !s.StatusTool:
	case s.Mode == ModeObserve:
		v.doc.Reportf(node.Pos(), "remove it, or `mode: observe`", "`status_tool` does nothing where failures are only observed")
	case s.Connection == "" && len(s.Limits) == 0:
		v.doc.Reportf(node.Pos(), "remove it, or add one of them", "`status_tool` tells of `connection` and `limits`, and there is neither")
	}
}

// Pins reports whether the server's tools are pinned.
func (s *Server) Pins() bool { return s.Pin != nil && *s.Pin && s.Mode != ModeObserve }

// address checks the address of the store. A path is relative to the file.
func (v *validator) address(c *Config, node *strictyaml.Node) {
	scheme, rest, _ := strings.Cut(c.Store, ":")
	switch scheme {
	case "sqlite":
		switch {
		case rest == "", rest == ":memory:", strings.HasSuffix(rest, "/"):
			v.doc.Reportf(node.Pos(), "write it as `sqlite:recourse.db`", "the store needs the name of a file")
		case !filepath.IsAbs(rest):
			c.Store = "sqlite:" + filepath.Join(v.dir, rest)
		}
	case "postgres", "postgresql":
		if u, err := url.Parse(c.Store); err != nil || !strings.HasPrefix(rest, "//") || strings.Trim(u.Path, "/") == "" {
			v.doc.Reportf(node.Pos(), storeHint, "the store must be the URL of a database")
		}
	default:
		v.doc.Reportf(node.Pos(), storeHint, "the store must be a file of SQLite or a database of PostgreSQL")
	}
}

// KeepIn has the journal kept in a store, with its defaults.
func (c *Config) KeepIn(store string) {
	c.Store, c.Journal = store, new(Journal)
	_ = strictyaml.Decode("", []byte("{}"), c.Journal) // an empty mapping is valid: it is all defaults
}

func (v *validator) journal(j *Journal, node *strictyaml.Node) {
	v.givenf(node, "successes", j.Successes < 0 || j.Successes > 1,
		"write it as `0.01` for one call in a hundred", "`successes` must be between 0 and 1")
	v.duration(node, "keep", j.Keep)
	v.givenf(node, "max_size", j.MaxSize < minJournal, "write it as `1GiB`", "`max_size` must be at least 1MiB")
}
