package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/policy/glob"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Limits are those of a [Server], in the order of the file.
type Limits []*Limit

// Limit limits how often tools are called, or how many calls are in progress at once.
type Limit struct {
	// Name is the key in the file.
	Name string `yaml:",key"`

	// How many calls are allowed in a window of time, such as `100/1m` or `17000/30d`. The window slides: no
	// period of that length has more calls, whenever it begins. A limit has either this or `at_once`.
	Calls Rate `yaml:"calls" default:"(none)"`
	// How many calls may be in progress at once, in each process of the gateway.
	AtOnce int `yaml:"at_once" default:"(none)"`
	// With `at_once`: how many more calls may wait for their turn. Any beyond that are refused at once.
	Queue int `yaml:"queue" default:"(as many as at_once)"`
	// With `at_once`: how long a call waits for its turn before it is refused. The wait does not count as
	// time without a sign of life, but it does count for `max_timeout`.
	Wait time.Duration `yaml:"wait" default:"(2s)"`
	// Which calls are counted together: those with the same `caller`, `address`, `org` or `tool`, or the same
	// combination of those listed. With `[server]`, all calls of the server.
	By []LimitKey `yaml:"by" default:"([caller])"`
	// Tools whose calls count, by name or pattern; `*` stands for any characters and `?` for any single one.
	Tools []string `yaml:"tools" default:"(all)"`
}

// A Rate is a number of calls in a stretch of time. Nothing is the zero value.
type Rate struct {
	Calls  int64
	Window time.Duration
}

// LimitKey is a property shared by calls that are counted together.
type LimitKey string

// The properties that calls can share.
const (
	LimitByCaller  LimitKey = "caller"
	LimitByAddress LimitKey = "address"
	LimitByOrg     LimitKey = "org"
	LimitByTool    LimitKey = "tool"
	LimitByServer  LimitKey = "server"
)

// OnRedisFailure says what happens to calls that cannot be counted in Redis.
type OnRedisFailure string

// The values of OnRedisFailure.
const (
	RedisFailureOpen   OnRedisFailure = "open"
	RedisFailureClosed OnRedisFailure = "closed"
)

var _ strictyaml.Unmarshaler = (*Rate)(nil)

// Words returns all of them.
func (LimitKey) Words() []string {
	return []string{string(LimitByCaller), string(LimitByAddress), string(LimitByOrg), string(LimitByTool), string(LimitByServer)}
}

// Words returns all of them.
func (OnRedisFailure) Words() []string {
	return []string{string(RedisFailureOpen), string(RedisFailureClosed)}
}

// queueWait is the default of [Limit.Wait].
const queueWait = 2 * time.Second

var rateForm = regexp.MustCompile(`^([1-9]\d{0,11})/([1-9]\d{0,5})(ms|s|m|h|d)$`)

const day = 24 * time.Hour

// units are those of a rate.
var units = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": day}

// UnmarshalYAML reads 100/1m.
func (r *Rate) UnmarshalYAML(n *strictyaml.Node) error {
	parts := rateForm.FindStringSubmatch(n.Text())
	if parts == nil {
		return n.Expected("a number of calls in a time", "write it as `100/1m`, `20/1s` or `17000/30d`")
	}
	calls, _ := strconv.ParseInt(parts[1], 10, 64) // at most 12 digits
	length, _ := strconv.ParseInt(parts[2], 10, 64)
	*r = Rate{Calls: calls, Window: time.Duration(length) * units[parts[3]]}
	return nil
}

// Forms describes a rate to the schema.
func (Rate) Forms() []any { return []any{"string"} }

// String returns the rate as it is written.
func (r Rate) String() string { return strconv.FormatInt(r.Calls, 10) + "/" + WrittenDays(r.Window) }

// WrittenDays formats a duration as people write it: 30d, not 720h0m0s.
func WrittenDays(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return written(d)
}

// Counts reports whether the limit counts calls of a tool.
func (l *Limit) Counts(tool string) bool {
	return len(l.Tools) == 0 || slices.ContainsFunc(l.Tools, func(pattern string) bool { return glob.Match(pattern, tool) })
}

// Has reports whether calls that are counted together share the key.
func (l *Limit) Has(key LimitKey) bool { return slices.Contains(l.By, key) }

const (
	// maxWindow is the longest window: the longest wait that a record can state.
	maxWindow = 31 * day
	// minWindow is the shortest.
	minWindow = 100 * time.Millisecond
)

var limitName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// limits checks the limits of a server.
func (v *validator) limits(limits Limits, node *strictyaml.Node) {
	for i, limit := range limits {
		if limit.By == nil {
			limit.By = []LimitKey{LimitByCaller}
		}
		at, keys := node.Key(limit.Name), node.Get(limit.Name)
		if !limitName.MatchString(limit.Name) {
			v.doc.Reportf(at, "use a-z, 0-9, - and _, a letter or digit first", "this is not a valid name for a limit")
		}
		v.limitBounds(limit, at, keys)
		v.limitKeys(limit, keys)
		for j, tool := range limit.Tools {
			v.toolPattern(tool, keys.Get("tools").Item(j).Pos())
		}
		for _, before := range limits[:i] {
			v.contradiction(before, limit, keys)
		}
	}
}

// limitBounds checks what a limit allows.
func (v *validator) limitBounds(limit *Limit, at strictyaml.Pos, keys *strictyaml.Node) {
	calls, atOnce := keys.Get("calls"), keys.Get("at_once")
	switch {
	case calls == nil && atOnce == nil:
		v.doc.Reportf(at, "add `calls: 100/1m` or `at_once: 4`", "the limit has neither `calls` nor `at_once`")
	case calls != nil && atOnce != nil:
		v.doc.Reportf(keys.Key("at_once"), "make them two limits", "the limit has both `calls` and `at_once`")
	case calls != nil && limit.Calls.Window > maxWindow:
		v.doc.Reportf(calls.Pos(), "use `30d` or less", "the window is longer than 31 days")
	case calls != nil && limit.Calls.Window < minWindow:
		v.doc.Reportf(calls.Pos(), "use `1s`", "the window is shorter than 100 ms")
	case atOnce != nil && limit.AtOnce < 1:
		v.doc.Reportf(atOnce.Pos(), "", "`at_once` must be at least 1")
	}
	for _, key := range []string{"queue", "wait"} {
		if keys.Get(key) != nil && atOnce == nil {
			v.doc.Reportf(keys.Key(key), "remove it", "`%s` belongs to a limit with `at_once`", key)
		}
	}
	if atOnce == nil {
		return
	}
	switch queue := keys.Get("queue"); {
	case queue == nil:
		limit.Queue = limit.AtOnce
	case limit.Queue < 0:
		v.doc.Reportf(queue.Pos(), "", "`queue` must be 0 or more")
	}
	v.duration(keys, "wait", limit.Wait)
	if keys.Get("wait") == nil {
		limit.Wait = queueWait
	}
}

// limitKeys checks what calls are counted by.
func (v *validator) limitKeys(limit *Limit, keys *strictyaml.Node) {
	by := keys.Get("by")
	if by == nil {
		return
	}
	if len(limit.By) == 0 {
		v.doc.Reportf(by.Pos(), "write `by: [server]` to count all calls of the server together", "`by` is empty")
	}
	for i, key := range limit.By {
		switch {
		case slices.Contains(limit.By[:i], key):
			v.doc.Reportf(by.Item(i).Pos(), "remove it", "`%s` is already in the list", key)
		case key == LimitByServer && slices.ContainsFunc(limit.By, func(k LimitKey) bool { return k != LimitByServer && k != LimitByTool }):
			v.doc.Reportf(by.Item(i).Pos(), "remove it",
				"`server` counts all calls together, so it cannot be combined with the others")
		}
	}
}

// organisations reports limits by organisation if no caller has one. access holds the names of the entries
// that let callers in.
func (v *validator) organisations(c *Config, limits Limits, access []string, node *strictyaml.Node) {
	if slices.ContainsFunc(access, func(name string) bool { a, ok := c.Access.Get(name); return ok && a.knowsOrgs() }) {
		return
	}
	for _, limit := range limits {
		if i := slices.Index(limit.By, LimitByOrg); i >= 0 && node.Get(limit.Name).Get("by") != nil {
			v.doc.Reportf(node.Get(limit.Name).Get("by").Item(i).Pos(),
				"name an entry of `access` whose keys have an `org`, or whose tokens do; or count by `caller`",
				"no caller has an organisation here")
		}
	}
}

// contradiction reports a limit that can never be reached, because another one allows fewer calls in at least
// the same time.
func (v *validator) contradiction(a, b *Limit, keys *strictyaml.Node) {
	at := keys.Get("calls").Pos()
	switch {
	case a.Calls.Window == 0 || b.Calls.Window == 0:
	case a.Calls.Window == b.Calls.Window && a.covers(b) && b.covers(a):
		v.doc.Reportf(at, "remove one of them", "the limit `%s` already bounds the same calls in the same time", a.Name)
	case a.hides(b):
		v.unreachable(at, b, a)
	case b.hides(a):
		v.unreachable(at, a, b)
	}
}

func (v *validator) unreachable(at strictyaml.Pos, higher, lower *Limit) {
	than := ""
	if lower.Calls.Window > higher.Calls.Window {
		than = " in a longer time"
	}
	v.doc.Reportf(at, "raise `"+lower.Name+"` or lower `"+higher.Name+"`",
		"`%s` (%s) can never be reached, because `%s` (%s) allows less%s", higher.Name, higher.Calls, lower.Name, lower.Calls, than)
}

// hides reports whether other can never be reached because of l.
func (l *Limit) hides(other *Limit) bool {
	return l.covers(other) && l.Calls.Window >= other.Calls.Window && l.Calls.Calls < other.Calls.Calls
}

// covers reports whether l counts together all calls that other counts together.
func (l *Limit) covers(other *Limit) bool {
	for _, key := range l.By {
		ofCaller := key == LimitByOrg && other.Has(LimitByCaller) // who belongs to one organisation
		if key != LimitByServer && !other.Has(key) && !ofCaller {
			return false
		}
	}
	return len(l.Tools) == 0 || slices.Equal(sorted(l.Tools), sorted(other.Tools))
}

func sorted[T ~string](list []T) []T { return slices.Sorted(slices.Values(list)) }

// redis checks the URL of a Redis. Messages do not repeat it: it may contain a password.
func (v *validator) redis(text string, node *strictyaml.Node) {
	if node == nil {
		return
	}
	const hint = "write it as `redis://127.0.0.1:6379/0`, or `rediss://` for TLS"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		v.doc.Reportf(node.Pos(), hint, "`redis` is not a URL")
	case u.Scheme == "unix" && u.Path == "", (u.Scheme == "redis" || u.Scheme == "rediss") && u.Hostname() == "":
		v.doc.Reportf(node.Pos(), hint, "`redis` does not say where Redis is")
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		v.doc.Reportf(node.Pos(), hint, "`redis` must be a redis, rediss or unix URL")
	case u.Query().Has("master_name") && (u.Query().Get("master_name") == "" || u.Scheme == "unix"):
		const hint = "write it as `redis://SENTINEL:26379/0?master_name=NAME`"
		v.doc.Reportf(node.Pos(), hint, "`redis` has a `master_name` that does not name a primary at a Sentinel")
	case u.Scheme != "unix" && strings.Trim(u.Path, "/0123456789") != "":
		v.doc.Reportf(node.Pos(), hint, "the path of `redis` must be the number of a database")
	}
}
