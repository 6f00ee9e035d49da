package config

import (
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// admin checks the address of the listener for operations, which has no access control.
func (v *validator) admin(c *Config, root *strictyaml.Node) {
	node := root.Get("admin")
	v.console(c, root)
	v.shown(c.JournalTools, root.Get("console_access") != nil, c, root, "journal_tools", "the journal's tools", localOrGuarded)
	v.shown(c.Profiles, false, c, root, "profiles", "the profiles", "use 127.0.0.1 for `admin`")
	if c.JournalTools && root.Get("store") == nil {
		v.doc.Reportf(root.Key("journal_tools"), "add `store: sqlite:recourse.db`, or remove this",
			"`journal_tools` has no effect without `store`")
	}
	switch {
	case node == nil:
		if remote := root.Get("admin_remote"); remote != nil {
			v.doc.Reportf(root.Key("admin_remote"), "add `admin: 0.0.0.0:9464`, or remove this",
				"`admin_remote` has no effect without `admin`")
		}
	case !IsListenAddress(c.Admin):
		v.doc.Reportf(node.Pos(), "write it as `127.0.0.1:9464`", "`admin` must be an address and a port")
	case !c.AdminRemote && !door.IsLoopback(c.Admin):
		v.doc.Reportf(node.Pos(), "use 127.0.0.1, or add `admin_remote: true` if the network is private",
			"other machines could reach `admin`, which has no access control")
	}
}

// localOrGuarded is the advice for pages that require API keys only if told to.
const localOrGuarded = "use 127.0.0.1 for `admin`, or name whose keys are asked for with `console_access`"

// shown checks who could reach what the listener shows besides figures; key is the setting that shows it.
// guarded says that callers have to identify themselves; mend is the advice if they do not.
func (v *validator) shown(asked, guarded bool, c *Config, root *strictyaml.Node, key, what, mend string) {
	switch {
	case !asked:
	case root.Get("admin") == nil:
		v.doc.Reportf(root.Key(key), "add `admin: 127.0.0.1:9464`, or remove this", "`%s` has no effect without `admin`", key)
	case !guarded && IsListenAddress(c.Admin) && !door.IsLoopback(c.Admin):
		v.doc.Reportf(root.Key(key), mend, "other machines could reach %s, and `admin` has no access control", what)
	}
}
