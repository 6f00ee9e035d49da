package config

import "github.com/recoursehq/recourse/internal/yaml/strictyaml"

// console checks who could reach the pages, and whose keys open them and the journal's tools.
func (v *validator) console(c *Config, root *strictyaml.Node) {
	access, role := root.Get("console_access"), root.Get("console_role")
	v.shown(c.Console, access != nil, c, root, "console", "the console", localOrGuarded)
	switch {
	case access != nil && !c.Console && !c.JournalTools:
		v.doc.Reportf(root.Key("console_access"), "add `console: true`, or remove this",
			"`console_access` has no effect without `console` or `journal_tools`")
	case access != nil:
		v.consoleAccess(c, access)
	}
	switch {
	case role != nil && access == nil:
		v.doc.Reportf(root.Key("console_role"), "add `console_access`, or remove this",
			"`console_role` has no effect without `console_access`")
	case role != nil && c.ConsoleRole == "":
		v.doc.Reportf(role.Pos(), "write it as `operator`", "`console_role` is empty")
	}
}

// consoleAccess checks the entry whose keys let operators sign in.
func (v *validator) consoleAccess(c *Config, node *strictyaml.Node) {
	entry, ok := c.Access.Get(c.ConsoleAccess)
	switch {
	case !ok:
		v.doc.Reportf(node.Pos(), "add it there", "`console_access` names no entry of the top level's `access`")
	case entry.JWT != nil:
		v.doc.Reportf(node.Pos(), "name an entry with `keys` or `stored_keys: true`",
			"operators sign in with API keys, not with tokens")
	}
}
