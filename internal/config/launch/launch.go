// Package launch knows by what name a command starts a program: `npx -y NAME`, `uvx NAME`, `docker run IMAGE`.
package launch

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Source says where a name is from.
type Source string

// The sources of names.
const (
	NPM     Source = "npm"     // a package for Node
	PyPI    Source = "pypi"    // a package for Python
	Image   Source = "image"   // an image of a container
	Command Source = "command" // a program on this machine
)

// A Name is what a program is known by.
type Name struct {
	From Source
	Text string // without a version; one of Python's in its normal form, such as mcp-server-git
}

// NameOf returns the name of the program that a command starts, by way of a runner such as npx or by itself. There is none if the
// command starts something else, such as a script or a repository.
func NameOf(command []string) (name Name, ok bool) {
	if len(command) > 2 && program(command[0]) == "cmd" && strings.EqualFold(command[1], "/c") {
		command = command[2:]
	}
	if len(command) == 0 {
		return Name{}, false
	}
	first := program(command[0])
	if pythons.MatchString(first) {
		first = "python"
	}
	starts, isRunner := runners[first]
	if !isRunner {
		return Name{Command, first}, first != ""
	}
	for i := range starts {
		if rest, ok := starts[i].after(command[1:]); ok {
			return starts[i].name(rest)
		}
	}
	return Name{}, false
}

// program returns the name of a program without its folder, in lower case.
func program(word string) string {
	base := strings.ToLower(path.Base(slashes(word)))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		base = strings.TrimSuffix(base, ending)
	}
	return base
}

func slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// A start is a way in which a program starts another one.
type start struct {
	words []string // with which it does, after flags
	from  Source   // of what it starts
	takes []string // its flags that are followed by a value
	names []string // and those whose value names the package
}

// Flags by runner.
var (
	npmTakes = []string{"--registry", "--prefix", "-c", "--call", "--loglevel", "--cache", "-w", "--workspace"}
	npmNames = []string{"-p", "--package"}
	uvTakes  = []string{
		"--python", "-p", "--with", "--with-editable", "--with-requirements", "--index", "--default-index", "--index-url", "-i",
		"--extra-index-url", "-c", "--constraints", "--overrides", "--directory", "--project", "--cache-dir", "--env-file", "--prerelease",
	}
	uvNames   = []string{"--from"}
	pipxTakes = []string{"--python", "--index-url", "-i", "--pip-args"}
	nodeTakes = []string{"-r", "--require", "--import", "--env-file"}
	// dockerAlone are those of `docker run` without a value: every other one has one.
	dockerAlone = []string{
		"-i", "-t", "-it", "-ti", "-d", "-P", "--interactive", "--tty", "--detach", "--rm", "--init", "--privileged", "--read-only",
		"--no-healthcheck", "--publish-all", "--quiet", "-q",
	}
)

var (
	npx    = start{from: NPM, takes: npmTakes, names: npmNames}
	docker = []start{{words: []string{"run"}, from: Image}, {words: []string{"container", "run"}, from: Image}}
)

// with returns the same start after other words.
func with(s start, words ...string) start {
	s.words = words
	return s
}

// runners are the programs that start another one. Node's scripts and Python's modules have names only where they are installed.
var runners = map[string][]start{
	"npx": {npx}, "bunx": {npx}, "pnpx": {npx},
	"npm": {with(npx, "exec"), with(npx, "x")}, "pnpm": {with(npx, "dlx")}, "yarn": {with(npx, "dlx")}, "bun": {with(npx, "x")},
	"uvx":    {{from: PyPI, takes: uvTakes, names: uvNames}},
	"uv":     {{[]string{"tool", "run"}, PyPI, uvTakes, uvNames}, {[]string{"run"}, Command, uvTakes, nil}},
	"pipx":   {{[]string{"run"}, PyPI, pipxTakes, []string{"--spec"}}},
	"node":   {{from: script, takes: nodeTakes}},
	"python": {{from: script, names: []string{"-m"}}},
	"docker": docker, "podman": docker,
}

// script is what runs a file, which has a name only in the folder of a package.
const script Source = "script"

// after returns the words after those with which the runner starts something.
func (s *start) after(words []string) (rest []string, ok bool) {
	if len(s.words) == 0 {
		return words, true
	}
	at := s.operand(words)
	if at < 0 || !slices.Equal(s.words, words[at:min(at+len(s.words), len(words))]) {
		return nil, false
	}
	return words[at+len(s.words):], true
}

// operand returns the place of the first word that is neither a flag nor its value; -1: there is none.
func (s *start) operand(words []string) int {
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "--":
		case !strings.HasPrefix(words[i], "-"):
			return i
		case s.hasValue(words[i]):
			i++
		}
	}
	return -1
}

// hasValue reports whether the word after a flag is its value.
func (s *start) hasValue(flag string) bool {
	if s.from == Image {
		return !strings.Contains(flag, "=") && !slices.Contains(dockerAlone, flag)
	}
	return slices.Contains(s.takes, flag) || slices.Contains(s.names, flag)
}

// name returns the name of what is started with these words.
func (s *start) name(words []string) (Name, bool) {
	at := s.operand(words)
	before := words
	if at >= 0 {
		before = words[:at]
	}
	for i, word := range before {
		flag, value, joined := strings.Cut(word, "=")
		switch {
		case !slices.Contains(s.names, flag):
		case joined:
			return s.named(value)
		case i+1 < len(before):
			return s.named(before[i+1])
		}
	}
	if at < 0 {
		return Name{}, false
	}
	if s.from == script { // one that Python runs is in no folder that names it
		m := nodeModule.FindStringSubmatch(slashes(words[at]))
		if m == nil {
			return Name{}, false
		}
		return Name{NPM, m[1]}, true
	}
	return s.named(words[at])
}

var (
	pythons    = regexp.MustCompile(`^(python[0-9.]*|py)$`)
	nodeModule = regexp.MustCompile(`^.*/node_modules/((?:@[^/]+/)?[^/]+)/`)
	separators = regexp.MustCompile(`[-_.]+`)
	versioned  = map[Source]*regexp.Regexp{ // names, with what may follow them
		NPM:   regexp.MustCompile(`^((?:@[a-z0-9._~-]+/)?[a-z0-9._~-]+)(?:@[^/:]*)?$`),
		PyPI:  regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?(?:[=<>!~@][^/]*)?$`),
		Image: regexp.MustCompile(`^(?:docker\.io/)?(?:library/)?([a-z0-9./_-]+)(?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?$`),
	}
)

// named returns the name that a word is, without its version.
func (s *start) named(word string) (Name, bool) {
	if s.from == Command {
		return NameOf([]string{word})
	}
	if s.from == script { // a module of Python's has the name of the package
		return Name{PyPI, Normal(word)}, true
	}
	m := versioned[s.from].FindStringSubmatch(word)
	if m == nil {
		return Name{}, false
	}
	if s.from == PyPI {
		return Name{PyPI, Normal(m[1])}, true
	}
	return Name{s.from, m[1]}, true
}

// Normal returns the normal form of a name of Python's (PEP 503).
func Normal(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }
