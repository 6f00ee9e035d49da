package redact

import (
	"strings"
)

// role is what a line is in a stack trace.
type role int

const (
	other role = iota // not part of a trace, or its message
	glue              // part of a trace if frames are around it
	frame             // a frame if another is near
	proof             // certainly a frame
)

// maxGap is how many lines there may be between two frames of one trace: causes, lines of source, "10 more".
const maxGap = 8

var (
	atFrame = lazily(`^at \S.*(?::\d+(?::\d+)?\)?|:line \d+|` +
		`\((?:Native Method|Unknown Source|native|<anonymous>|index \d+)\))$`)
	// atCall is a frame without a position, as .NET writes it.
	atCall     = lazily(`^at (?:async |new )?[\w.$<>\[\]` + "`" + `+/]+(?:\(.*\)| \[as .*\].*| \(.*\))$`)
	pythonFile = lazily(`^File \\*".*", line \d+`)
	goFile     = lazily(`^\S.*\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?$`)
	goHead     = lazily(`^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[`)
	rubyFrame  = lazily(`^(?:from |\d+: from )?\S+:\d+:in [` + "`'" + `]`)
	phpFrame   = lazily(`^#\d+ (?:\S.*\(\d+\): \S|\{main\}|\[internal function\]|\S+\(.*\) called at)`)
	rustPlace  = lazily(`^at \S+\.rs:\d+`)
	rustFrame  = lazily(`^\d+: +(?:0x[0-9a-f]+ - )?[\w<&]\S*::\S`)
	numbered   = lazily(`^\d+: `)
	// elixir is a frame of Elixir or Erlang.
	elixir = lazily(`^(?:\([\w]+ [\w.\-]+\) )?\S+\.(?:exs?|erl|eex):\d+: \S+/\d+`)
	more   = lazily(`^\.{3} \d+ (?:more|common frames omitted)`)
)

// line is a line of a text, without its end.
type line struct {
	start, end int
	text       string // without surrounding white space
	deep       bool   // indented
}

// traces finds stack traces of Go, Python, JavaScript, Java, .NET, Ruby, PHP and Rust. The message stays: it precedes
// the frames, or follows them in Python.
func traces(s string) []span {
	if !mayHaveTrace(s) {
		return nil
	}
	lines := split(s)
	roles := classify(lines)
	var found []span
	for i := 0; i < len(lines); i++ {
		if roles[i] < frame {
			continue
		}
		first, last, frames, proven := i, i, 0, false
		for j := i; j < len(lines) && j <= last+maxGap+1; j++ {
			if roles[j] >= frame {
				last = j
				frames++
				proven = proven || roles[j] == proof
			}
		}
		if !proven && frames < 2 {
			continue
		}
		for first > 0 && roles[first-1] == glue && (len(found) == 0 || lines[first-1].start >= found[len(found)-1].end) {
			first--
		}
		for last+1 < len(lines) && roles[last+1] == glue && lines[last+1].text != "" {
			last++
		}
		found = append(found, span{lines[first].start, lines[last].end})
		i = last
	}
	if len(found) > 0 {
		return found
	}
	return inline(s)
}

// inline finds frames in one line: at a.b (c.js:1:2) at d.e (f.js:3:4).
func inline(s string) []span {
	var found []span
	for at := 0; ; {
		i := strings.Index(s[at:], "at ")
		if i < 0 {
			return found
		}
		start := at + i
		at = start + 1
		end, frames := start, 0
		for next := start; ; frames++ {
			if next, _ = inlineFrame(s, next); next == 0 {
				break
			}
			end = next
			next = skip(s, next, len(s), isSpace)
		}
		if frames > 1 && start > 0 && isSpace(s[start-1]) {
			found = append(found, span{start, end})
			at = end
		}
	}
}

// inlineFrame returns the end of a frame that begins at a position, or 0.
func inlineFrame(s string, at int) (end int, ok bool) {
	const longestCall, longestPlace = 162, 264
	if !strings.HasPrefix(s[at:], "at ") {
		return 0, false
	}
	open := skip(s, at+len("at "), longestCall, outside("\n()"))
	if open == len(s) || s[open] != '(' || open < at+len("at ")+1 {
		return 0, false
	}
	end = skip(s, open+1, longestPlace, outside("()\n"))
	if end == len(s) || s[end] != ')' || !isDigit(s[end-1]) || !strings.Contains(s[open:end], ":") {
		return 0, false
	}
	return end + 1, true
}

// mayHaveTrace is a fast test that lets too much pass.
func mayHaveTrace(s string) bool {
	return containsAny(s, "at ", "File ", ".go:", ":in ", "#0 ", "#1 ", "goroutine ", ".rs:", "::", ".ex:", ".exs:", ".erl:")
}

// split splits s into lines, also at escaped line ends, as in JSON inside a text.
func split(s string) []line {
	var lines []line
	group := " \t"
	if strings.Contains(s, "Exception Group Traceback") { // Python draws its tree
		group = " \t|+-"
	}
	add := func(start, end int) {
		raw := s[start:end]
		if strings.Contains(raw, `\t`) {
			raw = strings.ReplaceAll(raw, `\t`, "\t")
		}
		text := strings.TrimLeft(raw, group)
		lines = append(lines, line{start, end, strings.TrimRight(text, " \t\r"), len(text) < len(raw)})
	}
	start, escaped := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			add(start, i)
			start, escaped = i+1, false
		case s[i] == '"' && escaped && s[i-1] != '\\': // the end of the string that has the lines
			add(start, i)
			start, escaped = i, false
		case s[i] == '\\' && strings.HasPrefix(s[i:], `\n`):
			end := i
			if strings.HasSuffix(s[start:i], `\r`) {
				end -= 2
			}
			add(start, end)
			start, escaped = i+2, true
			i++
		}
	}
	add(start, len(s))
	return lines
}

func classify(lines []line) []role {
	roles := make([]role, len(lines))
	source := false // in the source lines below a frame of Python
	for i, l := range lines {
		roles[i] = roleOf(l)
		switch {
		case strings.HasPrefix(l.text, "File ") && pythonFile().MatchString(l.text):
			roles[i], source = proof, true
		case source && l.deep:
			roles[i] = max(roles[i], glue)
		default:
			source = false
		}
		if i > 0 && l.deep && roles[i-1] < frame && containsAny(l.text, ".go:", ".s:") && goFile().MatchString(l.text) {
			roles[i-1], roles[i] = proof, proof // a function, and its file in the next line
		}
		if i > 0 && strings.Contains(l.text, ".rs:") && rustPlace().MatchString(l.text) && numbered().MatchString(lines[i-1].text) {
			roles[i-1], roles[i] = proof, proof
		}
	}
	return roles
}

func roleOf(l line) role {
	switch text := l.text; {
	case strings.HasPrefix(text, "at "):
		if atFrame().MatchString(text) {
			return proof
		}
		if atCall().MatchString(text) {
			return frame
		}
		return other
	case strings.HasPrefix(text, "goroutine ") && goHead().MatchString(text):
		return proof
	case strings.Contains(text, ":in ") && (l.deep || strings.HasPrefix(text, "from ")) && rubyFrame().MatchString(text):
		return proof
	case strings.Contains(text, ".e") && elixir().MatchString(text):
		return proof
	case strings.HasPrefix(text, "Exception Group Traceback"), strings.Trim(text, "- 0123456789") == "" && strings.Contains(text, "----"):
		return glue
	case strings.HasPrefix(text, "#") && phpFrame().MatchString(text), l.deep && rustFrame().MatchString(text):
		return frame
	case strings.HasPrefix(text, "Traceback (most recent call last)"), strings.HasPrefix(text, "stack backtrace:"),
		strings.EqualFold(text, "Stack trace:"), strings.EqualFold(text, "Stack:"), more().MatchString(text),
		strings.HasPrefix(text, "--- End of "), strings.HasPrefix(text, "[signal "), strings.HasPrefix(text, "created by "),
		strings.HasPrefix(text, "note: run with `RUST_BACKTRACE"), strings.HasPrefix(text, "note: Some details are omitted"):
		return glue
	default:
		return other
	}
}
