package archtest_test

import (
	"fmt"
	"strings"
	"testing"
)

// layer is a group of packages that import neither each other nor anything of a later layer. A package's subpackages
// belong to it.
type layer struct {
	packages []string
	up       string // why nothing above is imported
	beside   string // why nothing of the same layer is imported
}

var layers = []layer{
	{
		packages: []string{"internal/config/launch", "internal/yaml/nearest", "profiles"},
		up:       "it knows words, or holds them",
	},
	{
		packages: []string{
			"internal/pause", "internal/policy/breaker", "internal/policy/glob", "internal/privacy/seal",
			"internal/privacy/secret", "internal/privacy/visible", "internal/protocol/http1", "internal/protocol/json",
			"internal/protocol/lexer", "internal/protocol/tracecontext", "internal/protocol/uri", "internal/recent", "internal/spool",
			"internal/test/promises", "internal/test/testkit", "internal/work", "internal/yaml/strictyaml",
		},
		up:     "it knows syntax, names or the protocol and no record, so that every package can use it or be tested with it",
		beside: "one is not read, nor tested, by way of another",
	},
	{
		packages: []string{"."},
		up:       "the record is the domain: whoever handles a failure gets it without the machinery",
	},
	{
		packages: []string{"authn"},
		up:       "gateway and author ask it who calls, and whoever answers needs neither",
	},
	{
		packages: []string{"internal/privacy/argument", "internal/contractform", "internal/protocol/rpccode"},
		up:       "it holds facts that more than one package goes by",
		beside:   "one has nothing to say of the other",
	},
	{
		packages: []string{"internal/test/wildtest"},
		up:       "what a recognition is measured by knows none",
	},
	{
		packages: []string{"contract/internal/clean", "contract/internal/prose"},
		up:       "it knows texts and values, and not what they are read from",
		beside:   "one is about what is said to us, the other about what we say",
	},
	{
		packages: []string{"contract/internal/language"},
		up:       "it knows how files address the record, and not what they make of it",
	},
	{
		packages: []string{"contract/internal/settle", "contract/internal/wild"},
		up:       "it judges an answer, and knows no contract",
		beside:   "one is about what came of a write, the other about failures",
	},
	{
		packages: []string{
			"contract", "retry", "internal/call/args", "internal/privacy/redact", "internal/protocol/wire", "internal/upstream/openapi",
		},
		up:     "it decides from values alone, so that it is testable without a connection and usable in any program",
		beside: "each answers one question about a call; joining the answers is a stage's work",
	},
	{
		packages: []string{"internal/policy/limit", "internal/policy/once", "internal/policy/pin"},
		up:       "it counts and remembers what it is told to, and does not know what a call is",
		beside:   "how often something may be done has nothing to do with whether it has been",
	},
	{
		packages: []string{"internal/test/contracttest"},
		up:       "it holds what tests of contracts share",
	},
	{
		packages: []string{"internal/call/door", "internal/call/toolcall"},
		up:       "it is what gateway and author have in common, and must not know which of them it serves",
		beside:   "one ends where a request has come in at the door, the other begins with the tool behind it",
	},
	{
		packages: []string{"internal/policy/auth"},
		up:       "it answers who calls from a request alone, so that any server can ask it",
	},
	{
		packages: []string{"internal/docs/contractdoc", "internal/docs/contractgen", "internal/docs/kinddoc"},
		up:       "it prints a contract for whoever asks",
		beside:   "each prints another thing",
	},
	{
		packages: []string{"internal/config", "internal/config/hosts", "internal/upstream"},
		up:       "it serves whoever makes a call and must not know who that is",
		beside:   "each is a resource that can be replaced alone; the stages put them in order",
	},
	{
		packages: []string{"internal/check"},
		up:       "it talks to a server by itself, and judges what it has seen",
	},
	{
		packages: []string{"internal/docs"},
		up:       "it prints the rules for whoever asks",
	},
	{
		packages: []string{"internal/store"},
		up:       "it keeps rows, and does not know what a call is",
	},
	{
		packages: []string{"internal/connection"},
		up:       "it knows accounts at providers, and neither servers nor calls",
	},
	{
		packages: []string{"internal/upstream/many"},
		up:       "it is a transport to those above, who need not know that there are several servers",
	},
	{
		packages: []string{"internal/upstream/bridge/peer"},
		up:       "it is the far end of both directions, and takes neither",
	},
	{
		packages: []string{"internal/upstream/bridge/legacy", "internal/upstream/bridge/modern"},
		up:       "it is one way across, and does not choose it",
		beside:   "what clients of one era see has nothing to do with those of the other",
	},
	{
		packages: []string{"internal/upstream/bridge"},
		up:       "it is a transport to those above, who need not know that there are two eras",
	},
	{
		packages: []string{"internal/gateway/deadline"},
		up:       "it knows time, and not what it passes for",
	},
	{
		packages: []string{
			"internal/gateway/access", "internal/gateway/account", "internal/gateway/limits", "internal/gateway/masking",
			"internal/gateway/observe", "internal/gateway/session",
		},
		up:     "a stage asks it with plain values, and it does not know what a call is",
		beside: "each is one policy or one observer; the stages put them in order",
	},
	{
		packages: []string{"internal/gateway/intake"},
		up:       "it reads what a front has let in, and does not know what a call is",
	},
	{
		packages: []string{"internal/gateway/failures", "internal/gateway/toollist"},
		up:       "it is about one server and its answers, and does not know what a call is",
		beside:   "one reads what has failed, the other what there is",
	},
	{
		packages: []string{"internal/gateway/backend"},
		up:       "it is what is kept of one server, and does not know what a call is",
	},
	{
		packages: []string{"internal/gateway", "internal/lab/inject", "internal/lab/record", "mcptool", "recovery"},
		up:       "it is embedded in other people's programs, without the pages and the commands",
		beside:   "gateway, author, caller, checker, injector and recorder meet on the wire, where each must hold alone",
	},
	{
		packages: []string{"internal/test/gatewaytest"},
		up:       "it starts gateways for whoever tests something through one",
	},
	{
		packages: []string{"systems"},
		up:       "a reference system shows what an author writes, and an author does not have our commands",
	},
	{
		packages: []string{"internal/ops/admin", "internal/ops/journal", "internal/ops/trace"},
		up:       "what is shown does not depend on how it is asked for",
		beside:   "one counts, one writes down, one exports traces",
	},
	{
		packages: []string{"internal/ops/explain"},
		up:       "it tells what is known of a call or an answer, on whatever surface",
	},
	{
		packages: []string{"internal/ops/console", "internal/ops/journaltools"},
		up:       "pages and tools are no part of what they show",
		beside:   "one shows it to people, the other to agents",
	},
	{
		packages: []string{"internal/cli/term"},
		up:       "it shows what any command says, and knows none",
	},
	{
		packages: []string{"internal/cli/demo"},
		up:       "what is shown does not depend on how it is asked for",
	},
	{
		packages: []string{"internal/cli/load"},
		up:       "it reads what a command names, whatever that does with it",
	},
	{
		packages: []string{"internal/cli/client", "internal/cli/serve", "internal/cli/storage"},
		up:       "a command runs without knowing the others",
		beside:   "one is in front of servers, one calls them, one looks up what has happened",
	},
	{
		packages: []string{"internal/cli"},
		up:       "main starts the commands; they are tested without it",
	},
	{
		packages: []string{"cmd", "internal/test/archtest", "internal/test/e2e"},
		beside:   "programs and the tests of the tree have nothing to say to each other",
	},
}

// place returns the layer of the package name, and the package there that it belongs to.
func place(name string) (level int, holder string, ok bool) {
	for i, l := range layers {
		for _, p := range l.packages {
			if within(name, p) {
				return i, p, true
			}
		}
	}
	return 0, "", false
}

// everyPackageHasAPlace requires a layer for each package.
func everyPackageHasAPlace(packages []pkg) []string {
	var faults []string
	for _, p := range packages {
		if _, _, ok := place(p.path); !ok {
			faults = append(faults, p.path+" stands in no layer: decide what it may import, and add it to layers")
		}
	}
	return faults
}

// importsRunDownwards only allows imports from lower layers.
func importsRunDownwards(packages []pkg) []string {
	var faults []string
	for _, p := range packages {
		level, holder, ok := place(p.path)
		if !ok {
			continue
		}
		for _, name := range p.imports {
			target, isOurs := ours(name)
			if !isOurs {
				continue
			}
			targetLevel, targetHolder, known := place(target)
			switch {
			case !known, targetLevel < level, targetHolder == holder:
				continue
			case targetLevel == level:
				faults = append(faults, fmt.Sprintf("%s imports %s beside it: %s", p.path, target, layers[level].beside))
			default:
				faults = append(faults, fmt.Sprintf("%s imports %s above it: %s", p.path, target, layers[level].up))
			}
		}
	}
	return faults
}

// rootImportsTheStandardLibraryOnly keeps the record free of dependencies, and HTTP separate from the rest.
func rootImportsTheStandardLibraryOnly(packages []pkg) []string {
	alone := map[string]string{
		".":                       "the root package imports %s: a record costs its user nothing but Go",
		"internal/protocol/http1": "internal/protocol/http1 imports %s: it stands for net/http, and knows as little of MCP",
	}
	var faults []string
	for _, p := range packages {
		format, ok := alone[p.path]
		if !ok {
			continue
		}
		for _, name := range p.imports {
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
				faults = append(faults, fmt.Sprintf(format, name))
			}
		}
	}
	return faults
}

// authorsDoNotCheck keeps the check out of servers: only their tests have it.
func authorsDoNotCheck(packages []pkg) []string {
	var faults []string
	for _, p := range packages {
		for _, name := range p.imports {
			target, _ := ours(name)
			if within(p.path, "mcptool") && p.path != "mcptool/checktest" && within(target, "internal/check") {
				faults = append(faults, p.path+" imports "+target+": a server does not carry what checks it")
			}
		}
	}
	return faults
}

func TestImports(t *testing.T) {
	t.Parallel()

	packages := readPackages(t, readFiles(t))
	if len(packages) < len(layers) { // a rule without packages would find nothing
		t.Fatalf("only %d packages were found", len(packages))
	}
	rules := map[string]func([]pkg) []string{
		"every package has a place":                  everyPackageHasAPlace,
		"imports run downwards":                      importsRunDownwards,
		"authors' servers do not check":              authorsDoNotCheck,
		"the root imports the standard library only": rootImportsTheStandardLibraryOnly,
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range rule(packages) {
				t.Error(fault)
			}
		})
	}
}
