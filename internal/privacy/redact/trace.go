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

const (
	// excerpt is a line of source that a program prints before its message.
	excerpt role = -1
	// message is one that stays between frames.
	message role = -2
)

// maxGap is how many lines there may be between two frames of one trace: causes, lines of source, "10 more".
const maxGap = 8

// A textLine is a line of a text, without its end.
type textLine struct {
	start, end int
	text       string // without surrounding white space
	indent     int
}

// traces finds stack traces, in the forms that trace_frames.go knows. The message stays: it precedes the frames, or follows
// them in Python.
func traces(s string) []span {
	lines := split(s)
	roles := classify(lines, strings.Contains(s, groupTrace))
	var found []span
	for i := 0; i < len(lines); i++ {
		first, last := i, i
		switch {
		case roles[i] == excerpt:
			for last+1 < len(lines) && roles[last+1] == excerpt {
				last++
			}
		case roles[i] < frame:
			continue
		default:
			var ok bool
			if last, ok = lastFrame(roles, i); !ok {
				continue
			}
			done := 0
			if len(found) > 0 {
				done = found[len(found)-1].end
			}
			first, last = withGlue(lines, roles, first, last, done)
		}
		part := span{lines[first].start, lines[last].end}
		if n := len(found) - 1; n >= 0 && found[n].end+1 >= part.start { // frames after their source
			found[n].end = part.end
		} else {
			found = append(found, part)
		}
		i = last
	}
	if len(found) > 0 {
		return found
	}
	return inline(s)
}

// lastFrame returns the last frame of the trace whose first one is at i. ok is false if it is none: a single line proves nothing, unless
// it is certainly a frame.
func lastFrame(roles []role, i int) (last int, ok bool) {
	last = i
	frames, proven := 0, false
	for j := i; j < len(roles) && j <= last+maxGap+1 && roles[j] != message; j++ {
		if roles[j] >= frame {
			last = j
			frames++
			proven = proven || roles[j] == proof
		}
	}
	return last, proven || frames > 1
}

// withGlue extends a trace to the lines that belong to it, but not to what begins before done.
func withGlue(lines []textLine, roles []role, first, last, done int) (from, to int) {
	for first > 0 && lines[first-1].start >= done {
		signal := first > 1 && lines[first-1].text == "" && strings.HasPrefix(lines[first-2].text, "[signal ") // Go
		if roles[first-1] != glue && !signal {
			break
		}
		first--
	}
	for last+1 < len(lines) && roles[last+1] == glue && lines[last+1].text != "" {
		last++
	}
	return first, last
}

// inlines are how frames in a line begin, and a function that returns the end of one that begins at a position, or 0.
var inlines = [...]inlineForm{{"at ", inlineAt}, {"#0 ", inlinePHP}, {`File "`, inlinePython}}

type inlineForm struct {
	begin string
	next  func(s string, at int) int
}

// inline finds traces that are written in one line: at a.b (c.js:1:2) at d.e (f.js:3:4), or #0 a.php(1): b() #1 {main}.
func inline(s string) (found []span) {
	for _, of := range inlines {
		found = append(found, inlineFrames(s, of.begin, of.next)...)
	}
	return found
}

// hasInline reports whether a frame that is written in one line begins in a line of a text.
func hasInline(forms []inlineForm, s string, start, end int) bool {
	for _, of := range forms {
		for at := range places(s[start:end], of.begin) {
			if mayBeginInline(s, start+at) && of.next(s, start+at) > 0 {
				return true
			}
		}
	}
	return false
}

func mayBeginInline(s string, at int) bool {
	return at == 0 || isSpace(s[at-1]) || s[at-1] == '>' || s[at-1] == ';'
}

// inlineFrames finds two or more frames in turn, of which the first begins with begin.
func inlineFrames(s, begin string, next func(s string, at int) int) []span {
	var found []span
	done := 0
	for start := range places(s, begin) {
		if start < done || !mayBeginInline(s, start) {
			continue
		}
		end, frames := start, 0
		for after := start; ; frames++ {
			stop := next(s, after)
			if stop == 0 {
				break
			}
			end = stop
			after = skipBlanks(s, stop)
		}
		if frames > 1 {
			found, done = append(found, span{start, end}), end
		}
	}
	return found
}

// skipBlanks returns the position after blanks, and after line ends and blanks of HTML.
func skipBlanks(s string, at int) int {
	for {
		next := skip(s, at, len(s), isSpace)
		for _, blank := range []string{"<br>", "<br/>", "<br />", "&nbsp;"} {
			if strings.HasPrefix(s[next:], blank) {
				next += len(blank)
			}
		}
		if next == at {
			return at
		}
		at = next
	}
}

const longestFrame = 320 // of a frame in a line of several

// inlineAt returns the end of a frame of JavaScript, Java or .NET.
func inlineAt(s string, at int) int {
	if !strings.HasPrefix(s[at:], "at ") {
		return 0
	}
	rest := s[at:min(len(s), at+longestFrame)]
	for _, next := range []string{"\n", "<br", "</", " at ", ";at "} {
		if i := strings.Index(rest[1:], next); i >= 0 {
			rest = rest[:i+1]
		}
	}
	for end := len(rest); end > len("at "); {
		if c := rest[end-1]; (c == ')' || isDigit(c)) && isAtFrame(rest[:end]) >= frame {
			return at + end
		}
		i := strings.LastIndexByte(rest[:end], ' ')
		if i < 0 {
			return 0
		}
		end = i
	}
	return 0
}

// inlinePHP returns the end of a frame of PHP.
func inlinePHP(s string, at int) int {
	rest := s[at:min(len(s), at+longestFrame)]
	if rest == "" || rest[0] != '#' {
		return 0
	}
	end := skip(rest, 1, len(rest), isDigit)
	for _, next := range []string{" #", "\n"} {
		if i := strings.Index(rest[1:], next); i >= 0 {
			rest = rest[:i+1]
		}
	}
	if end == 1 || end >= len(rest) || !isPHPFrame(rest[end:]) {
		return 0
	}
	if i := strings.Index(rest, "{main}"); i >= 0 {
		return at + i + len("{main}")
	}
	return at + len(rest)
}

// inlinePython returns the end of a frame of Python.
func inlinePython(s string, at int) int {
	rest := s[at:min(len(s), at+longestFrame)]
	if !strings.HasPrefix(rest, `File "`) {
		return 0
	}
	quote := strings.Index(rest, `", line `)
	if quote < 0 {
		return 0
	}
	end := quote + len(`", line `)
	end = skip(rest, end, len(rest), isDigit)
	if in, ok := strings.CutPrefix(rest[end:], ", in "); ok {
		end += len(", in ") + indexOr(in, " \n")
	}
	if i := strings.Index(rest[end:], ` File "`); i >= 0 { // the line of source
		end += i
	}
	return at + end
}

// split splits s into lines, also at escaped line ends, as in JSON inside a text.
func split(s string) []textLine {
	lines := make([]textLine, 0, strings.Count(s, "\n")+1)
	group := &blanks
	if containsBy(s, groupTrace, 'G') {
		group = &groupBlanks
	}
	for start := 0; start <= len(s); {
		end := start + indexOr(s[start:], "\n")
		if strings.Contains(s[start:end], `\n`) {
			lines = escapedLines(lines, s, start, end, group)
		} else {
			lines = append(lines, lineOf(s, start, end, group))
		}
		start = end + 1
	}
	return lines
}

// Bytes that a line may begin with before its text: also the tree that Python draws of a group.
var blanks, groupBlanks = setOf(" \t"), setOf(" \t|+-")

const groupTrace = "Exception Group Traceback"

// escapedLines adds the lines in a part of s that has escaped line ends. If that part is indented, so are they: it is a line
// of source.
func escapedLines(lines []textLine, s string, start, stop int, group *[256]bool) []textLine {
	escapes := 0 // how many backslashes a line end begins with
	least := skip(s, start, stop-start, isBlank) - start
	add := func(from, to int) {
		l := lineOf(s, from, to, group)
		l.indent = max(l.indent, least)
		lines = append(lines, l)
	}
	for i := start; i < stop; i++ {
		if s[i] != '\\' && s[i] != '"' {
			continue
		}
		begin := i
		for i < stop && s[i] == '\\' {
			i++
		}
		switch n := i - begin; {
		case i == stop:
		case s[i] == 'n' && n > 0:
			end := begin
			if strings.HasSuffix(s[start:end], `\r`) {
				end -= len(`\r`)
			}
			add(start, end)
			start, escapes = i+1, n
		case s[i] == '"' && n < escapes: // the end of the string that has the lines
			add(start, begin)
			start, escapes = begin, 0
		}
	}
	add(start, stop)
	return lines
}

func lineOf(s string, start, end int, group *[256]bool) textLine {
	raw := s[start:end]
	if strings.Contains(raw, `\t`) {
		raw = strings.ReplaceAll(raw, `\t`, "\t")
	}
	first, last := 0, len(raw)
	for first < last && group[raw[first]] {
		first++
	}
	for last > first && endsOfLines[raw[last-1]] {
		last--
	}
	return textLine{start, end, raw[first:last], first}
}

// endsOfLines are bytes that end a line without belonging to its text.
var endsOfLines = setOf(" \t\r\\")

// deep reports whether the line is indented.
func (l textLine) deep() bool { return l.indent > 0 }

// isZigFrame judges a frame of Zig: orders.zig:7:5: 0x1034b2 in total (orders).
func isZigFrame(text string) bool {
	i := strings.Index(text, zigAddress)
	return i > 0 && strings.Contains(text[i:], " in ") && endsInPlace(text[:i])
}

const zigAddress = ": 0x"

func classify(lines []textLine, inGroup bool) []role {
	roles := make([]role, len(lines))
	least := 0 // the indentation of source lines below a frame; 0: there are none
	for i, l := range lines {
		roles[i] = roleOf(l)
		switch {
		case roles[i] == proof && showsSource(l.text):
			least = l.indent + 1
		case least > 0 && l.indent >= least && l.text != "":
			roles[i] = max(roles[i], glue)
		default:
			least = 0
			if inGroup && roles[i] == other && isMessage(l.text) {
				roles[i] = message
			}
		}
		if i == 0 {
			continue
		}
		switch before := lines[i-1]; {
		case l.deep() && roles[i-1] < frame && isGoFile(l.text): // a function, and its file in the next line
			roles[i-1], roles[i] = proof, proof
		case roles[i] >= frame && l.deep() && isNumbered(before.text): // a function with its number, and its place in the next line
			roles[i-1] = proof
		case isMarker(l.text) && excerptAt(lines, i) < i:
			for j := excerptAt(lines, i); j <= i; j++ {
				roles[j] = excerpt
			}
		case isMarker(l.text) && before.deep() && roles[i-1] == other:
			roles[i-1] = glue
		}
	}
	return roles
}
