package cli

import (
	"cmp"
	"strings"

	"github.com/alecthomas/kong"
)

// helpTexts are what the help says of flags, where the tag would be longer than a line.
var helpTexts = map[string]string{
	"actions_since":            "Only what was done since then: 30m, 12h, 7d, or a time such as 2026-11-23T10:00:00Z.",
	"call_id":                  "Id of the call or its beginning, as once ls shows it, or that of the request.",
	"call_reads":               "Contract that the server follows, and families of failures: weak signs count.",
	"call_recover":             "Wait, repeat and verify as the contract of --reads asks of a client, and report it on standard error.",
	"call_timeout":             "How long the call may take (1m; with --recover 5m: three retries fit).",
	"check_fail_on":            "Least harm for exit code 1 (hides).",
	"check_files_entry":        "Write the server's entry for recourse.yaml, as far as it is known.",
	"check_files_junit":        "Write a test result for each rule, as JUnit does.",
	"check_files_traceability": "Write what was tested of the specification, in SEP-2484's form.",
	"check_read_only":          "Tools that only read although they do not say so; * stands for any letters.",
	"check_url":                "Endpoint of an MCP server. For one on stdio, give its command after -- instead.",
	"commands_call":            "Call a tool of an MCP server, with an exit code for each sort of failure.",
	"config_file":              "Configuration file (default: recourse.yaml).",
	"contract_gen_lang":        "ts (TypeScript), python, or json: for clients in both.",
	"contract_lint_files":      "Contract or family files, which may extend earlier ones, or built-in names. After --, a server's command.",
	"demo_listen":              "Address to serve at (default: 127.0.0.1:8787, or a free port if that one is taken).",
	"demo_with":                "Change the system: NAME or NAME=VALUE, listed below. Can be repeated.",
	"explain_args":             "Arguments of the call: what stands in them is not masked in what clients are told.",
	"explain_file":             "File with the answer, - for standard input, or the id of a request that is in a gateway's journal.",
	"explain_reads":            "Contract that the server follows, and families of failures: their weak signs count.",
	"explain_trusted":          "The server's word on the effect and on what to do next counts, as with trusted: true in its entry.",
	"explain_writes":           "The tool that failed is known to write; the default is that nobody says what it does.",
	"failures_since":           "Only calls that ended since then: 30m, 12h, 7d, or a time such as 2026-11-23T10:00:00Z.",
	"served_hosts":             "Serve the MCP servers that a host lists in this file, without a configuration.",
	"import_openapi":           "Draft a configuration and a contract for an HTTP API from its OpenAPI description.",
	"import_openapi_name":      "Name of the server and its contract (default: from the description's title).",
	"import_openapi_output":    "File to write, with the contract beside it.",
	"init_output":              "File to write (default: recourse.yaml).",
	"init_url":                 "Endpoint of the MCP server. For a stdio server, give its command after -- instead.",
	"inject_flags_effect":      "before or after: whether the server gets the call.",
	"install_file":             "File in which a host lists its MCP servers, such as .mcp.json or config.toml.",
	"key_revoke_id":            "Id of the key: what stands between rk_ and the next _. key ls lists them.",
	"log_format":               "text, json, or auto: text on a terminal.",
	"once_settle_not_landed":   "It has certainly not happened, and will not: the next repetition is made.",
	"record_listen":            "Address to listen on, for a URL (127.0.0.1:8788).",
	"replay_by":                "How a call is found: by its arguments (default), or in order.",
	"replay_listen":            "Serve it over HTTP at this address, instead of standard input and output.",
	"replay_speed":             "1 keeps the recorded pauses, 2 halves them, 0 skips them (default).",
	"server_flags_server":      "Endpoint of an MCP server over HTTP. For a stdio server, give its command after -- instead.",
	"store_flags_config":       "File that names the store (default: recourse.yaml).",
	"store_flags_store":        "The store itself, instead of a configuration file: sqlite:FILE or postgres://...",
	"wrap_server":              "Which server of the configuration or hosts file; required if there are several.",
}

// putHelpTexts puts them in place. As kong's variables, all of them would be read for each flag, which takes a fifth of a command's time.
func putHelpTexts(k *kong.Kong) error {
	textOf := func(help string) string {
		return cmp.Or(helpTexts[strings.TrimSuffix(strings.TrimPrefix(help, "${"), "}")], help)
	}
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		switch node := node.(type) {
		case *kong.Node:
			node.Help = textOf(node.Help)
		case *kong.Value:
			node.Help = textOf(node.Help)
		}
		return next(nil)
	})
}
