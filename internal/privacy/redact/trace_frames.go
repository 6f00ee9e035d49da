package redact

import (
	"strings"
	"unicode/utf8"
)

// roleOf returns what a line is by its own form.
func roleOf(l textLine) role {
	text := l.text
	role := frameRole(l)
	if role == other && isZigFrame(text) {
		return proof
	}
	if role == other && text != "" &&
		(isGlue(text) || text[len(text)-1] == '@' && isAll(text[:len(text)-1], ofCallee)) { // Safari: a function in no file
		return glue
	}
	return role
}

// frameRole returns what a line is if it has the form of a frame. It looks at the line's ends first: most lines are told apart by a single
// byte.
func frameRole(l textLine) role {
	text := l.text
	if text == "" {
		return other
	}
	switch text[0] {
	case 'a', 'A':
		if r := isAtFrame(text); r > other {
			return r
		}
	case '#':
		return isHashFrame(text)
	case '@':
		if l.deep() && endsInPlace(text) { // Julia: @ Main ./orders.jl:3
			return proof
		}
	case '.':
		if isMore(text) {
			return glue
		}
	case '(':
		if isBeamCall(text) {
			return proof
		}
	case 'F':
		if isPythonFrame(text) {
			return proof
		}
	case 'g':
		if number, ok := strings.CutPrefix(text, "goroutine "); ok && number != "" && isDigit(number[0]) &&
			strings.Contains(number, " [") && strings.HasSuffix(number, ":") {
			return proof
		}
	}
	if isDigit(text[0]) {
		if r := numberedFrame(l); r > other {
			return r
		}
	}
	return lateRole(l)
}

// lateRole judges the frames that no single byte at their beginning gives away.
func lateRole(l textLine) role {
	if isOtherFrame(l) {
		return proof
	}
	if l.deep() && isClojureFrame(l.text) {
		return frame
	}
	return other
}

// isAtFrame judges a line that begins with "at", as JavaScript, Java, .NET, Rust and PowerShell write frames.
func isAtFrame(text string) role {
	rest, ok := strings.CutPrefix(text, "at ")
	if !ok || rest == "" {
		if strings.HasPrefix(text, "At ") && strings.Contains(text, " char:") && isDigit(text[len(text)-1]) { // PowerShell
			return proof
		}
		return other
	}
	rest = withoutEnd(rest)
	if rest == "" {
		return other
	}
	if number := strings.TrimRight(rest, "0123456789"); len(number) < len(rest) &&
		(strings.HasSuffix(number, ":line ") || strings.HasSuffix(number, ": line ")) { // .NET and PowerShell
		return proof
	}
	inside, closed := strings.CutSuffix(rest, ")")
	if !closed {
		if isPlace(rest) {
			return proof
		}
		if i := strings.LastIndex(rest, ":0x"); i > 0 && strings.Contains(rest[:i], "://") && isAll(rest[i+1:], isWord) {
			return proof
		}
		if strings.HasSuffix(rest, "[native code]") || strings.HasSuffix(rest, "<anonymous>") {
			return frame
		}
		return other
	}
	open := strings.LastIndexByte(inside, '(')
	if open < 0 {
		return other
	}
	return calledRole(rest, inside[:open], inside[open+1:])
}

// calledRole judges a frame with a place in parentheses behind its function.
func calledRole(rest, callee, place string) role {
	switch {
	case place == "Native Method", place == "Unknown Source", place == "native", place == "<anonymous>",
		strings.HasPrefix(place, "index ") && isDigit(place[len(place)-1]):
		return proof
	case isPlace(place), isJavaPlace(place), strings.Contains(rest, "(eval at ") && endsInPlace(place):
		return proof
	case isCallee(rest[:strings.IndexByte(rest, '(')]):
		return frame
	case strings.Trim(place, "0123456789") == ":" && isAll(strings.TrimSuffix(callee, " "), isWord): // Bun: a place in no file
		return glue
	}
	return other
}

// withoutEnd returns a frame without what may follow it: the members of an error in Node, the end of an inner exception in .NET, and in
// Java the archive that has the class, such as ~[orders-1.2.jar:1.2].
func withoutEnd(text string) string {
	text = strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(text, " {"), ","), "<---")
	if !strings.HasSuffix(text, "]") {
		return text
	}
	if i := strings.LastIndex(text, ") "); i > 0 && strings.Trim(text[i+2:i+4], "~[") != text[i+2:i+4] {
		return text[:i+1]
	}
	return text
}

// isCallee reports whether text is the name of a function, as in a frame of .NET without a place, maybe behind its result.
func isCallee(text string) bool {
	text = strings.TrimSpace(strings.TrimPrefix(text, "new "))
	if async, ok := strings.CutPrefix(text, "async "); ok {
		text = async[strings.LastIndexByte(async, ' ')+1:]
	}
	isPart := func(c byte) bool { return isWord(c) || strings.IndexByte(".$<>[]`+/,|", c) >= 0 }
	return isAll(text, isPart) && strings.ContainsAny(text, ".<")
}

// isClojureFrame judges a frame that has nothing before its function: orders$total.invoke (orders.clj:12).
func isClojureFrame(text string) bool {
	callee, place, ok := strings.Cut(strings.TrimSuffix(text, ")"), " (")
	return ok && strings.ContainsRune(callee, '$') && isCallee(callee) && isJavaPlace(place)
}

// isPlace reports whether text is a place in a file, with line and column, as JavaScript and Rust write it.
func isPlace(text string) bool {
	text = strings.TrimPrefix(text, "async ")
	file, numbers := cutPlace(text)
	if numbers == 0 || strings.ContainsAny(file, " ") && !strings.Contains(file, "/") && !strings.Contains(file, `\`) {
		return false
	}
	if strings.ContainsAny(file, `/\<[`) || strings.HasPrefix(file, "node:") || strings.HasPrefix(file, "ext:") || file == "" {
		return numbers == 2 || extensions[extensionOf(file)]
	}
	return numbers == 2 && strings.Contains(file, ".") && !isDigit(file[0]) || extensions[extensionOf(file)] && !data[extensionOf(file)]
}

// isJavaPlace reports whether text is a file of Java's or Kotlin's with a line.
func isJavaPlace(text string) bool {
	file, numbers := cutPlace(text)
	if text == "SourceFile" || numbers == 1 && file == "SourceFile" { // without debugging information
		return true
	}
	isPart := func(c byte) bool { return isWord(c) || strings.IndexByte(".-$", c) >= 0 || c >= utf8.RuneSelf }
	return numbers == 1 && isAll(file, isPart) && isLetter(file[0]) && strings.Contains(file, ".")
}

func extensionOf(file string) string { return file[max(strings.LastIndexByte(file, '.'), 0):] }

// cutPlace returns a place without the one or two numbers at its end, and how many there are.
func cutPlace(text string) (file string, numbers int) {
	const most, digits = 2, 7
	for numbers < most {
		end := len(text)
		for end > 0 && len(text)-end < digits && isDigit(text[end-1]) {
			end--
		}
		if end == len(text) || end == 0 || text[end-1] != ':' {
			return text, numbers
		}
		text = text[:end-1]
		numbers++
	}
	return text, numbers
}

// endsInPlace reports whether a line ends in a file with a line.
func endsInPlace(text string) bool {
	_, numbers := cutPlace(strings.TrimSuffix(text, ")"))
	return numbers > 0
}

// isAll reports whether text is not empty and has only such bytes.
func isAll(text string, is func(c byte) bool) bool {
	return text != "" && skip(text, 0, len(text), is) == len(text)
}

// isPythonFrame judges a line that begins with File.
func isPythonFrame(text string) bool {
	rest, ok := strings.CutPrefix(text, "File ")
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, `\`)
	if rest == "" || rest[0] != '"' {
		return false
	}
	i := strings.Index(rest, "\", line ")
	if i < 0 {
		i = strings.Index(rest, "\\\", line ")
		if i < 0 {
			return false
		}
		i++
	}
	at := i + len("\", line ")
	return at < len(rest) && isDigit(rest[at])
}

// isHashFrame judges a line that begins with #: PHP, debuggers and sanitizers, Dart.
func isHashFrame(text string) role {
	end := skip(text, 1, len(text), isDigit)
	rest := text[end:]
	switch {
	case end == 1 || rest == "" || rest[0] != ' ':
		return other
	case isPHPFrame(rest):
		return frame
	case strings.HasPrefix(strings.TrimLeft(rest, " "), "0x"), strings.Contains(rest, ") at ") && endsInPlace(rest),
		strings.HasSuffix(rest, ")") && endsInPlace(rest) && containsAny(rest, " (package:", " (file:", " (dart:", " (http"):
		return proof
	}
	return other
}

// isPHPFrame judges what follows the number of a frame of PHP.
func isPHPFrame(rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "{main}") || strings.HasPrefix(rest, "[internal function]") || strings.Contains(rest, ") called at [") {
		return true
	}
	open := strings.Index(rest, "(")
	if open < 1 {
		return false
	}
	end := skip(rest, open+1, len(rest), isDigit)
	return end > open+1 && strings.HasPrefix(rest[end:], "): ")
}

// isNumbered reports whether a line is a function with its number, as Rust and Julia write it above its place.
func isNumbered(text string) bool {
	text = strings.TrimPrefix(text, "[")
	end := skip(text, 0, len(text), isDigit)
	return end > 0 && (strings.HasPrefix(text[end:], ": ") || strings.HasPrefix(text[end:], "] "))
}

// numberedFrame judges a line that begins with a digit: Rust, Swift, Xdebug.
func numberedFrame(l textLine) role {
	text := l.text
	end := skip(text, 0, len(text), isDigit)
	rest := text[end:]
	switch {
	case strings.HasPrefix(rest, ": ") && l.deep():
		if strings.Contains(rest, "::") || strings.Contains(rest, "0x") {
			return frame
		}
		if isAll(strings.TrimSpace(rest[1:]), isWord) {
			return glue
		}
	case strings.HasPrefix(rest, ". ") && l.deep():
		if strings.Contains(rest, "() ") && endsInPlace(rest) {
			return proof
		}
	case strings.HasPrefix(rest, " "):
		placed := strings.HasPrefix(strings.TrimLeft(rest, " "), "0x") && endsInPlace(rest)
		if placed || strings.Contains(rest, " 0x") && containsAny(rest, " + ", " in ") {
			return frame
		}
	}
	return other
}

// isGoFile judges the second line of a frame of Go: the file, and the offset of the instruction.
func isGoFile(text string) bool {
	if i := strings.LastIndex(text, " +0x"); i > 0 {
		text = text[:i]
	}
	file, numbers := cutPlace(text)
	return numbers == 1 && (strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".s"))
}

// isOtherFrame judges the frames that have no beginning of their own.
func isOtherFrame(l textLine) bool {
	text := l.text
	last := text[len(text)-1]
	switch {
	case last == '\'' || last == '`':
		if i := strings.Index(text, ":in "); i > 0 { // Ruby
			return isDigit(text[i-1])
		}
		return isDeepLua(l) || strings.HasPrefix(text, "from ") && strings.Contains(text, " in '")
	case last == '>' || last == ']' || last == '?' || last == 'k':
		return isDeepLua(l) || last == ']' && (isAddressed(text) || strings.HasSuffix(text, "@[native code]"))
	case isDigit(last):
		return isNumberEnd(l)
	case last == ')' && strings.HasPrefix(text, "in "): // Erlang
		return strings.Contains(text, ", line ")
	}
	if (l.deep() || text[0] == 'f') && isLateFrame(l) {
		return true
	}
	return false
}

// isLateFrame judges the frames of Ruby and Haskell that end in anything.
func isLateFrame(l textLine) bool {
	text := l.text
	if i := strings.Index(text, ":in "); i > 0 && isDigit(text[i-1]) && (l.deep() || strings.HasPrefix(text, "from ")) { // Ruby
		return strings.IndexByte("`'", text[min(len(text)-1, i+len(":in "))]) >= 0
	}
	i := strings.Index(text, ", called at ") // Haskell
	return i > 0 && l.deep() && strings.Contains(text[i:], " in ")
}

// isNumberEnd judges the lines that end in a digit.
func isNumberEnd(l textLine) bool {
	text := l.text
	if isURLFrame(text) { // Firefox and Safari
		return true
	}
	end := len(text)
	for end > 0 && isDigit(text[end-1]) {
		end--
	}
	inFile := strings.Contains(text, "in file \"") // OCaml
	if (inFile || l.deep() || text[0] == 't') && strings.Contains(text, " line ") {
		if i := strings.Index(text, " called at "); i > 0 { // Perl
			return l.deep() && strings.Contains(text[i:], " line ")
		}
		return strings.HasPrefix(text, "thrown in ") || inFile && strings.Contains(text, ", line ")
	}
	if inFile {
		return strings.HasPrefix(text, "Called from ") || strings.HasPrefix(text, "Raised ") || strings.HasPrefix(text, "Re-raised ")
	}
	return end > 0 && text[end-1] == '/' && isBeamFrame(text) // Elixir and Erlang
}

// isURLFrame judges a frame of Firefox or Safari: name@https://host/file.js:1:2
func isURLFrame(text string) bool {
	name, place, ok := strings.Cut(text, "@")
	if !ok || name != "" && !isAll(name, ofCallee) {
		return false
	}
	file, numbers := cutPlace(place)
	return numbers > 0 && (strings.Contains(file, "://") || strings.HasPrefix(file, "/")) && !strings.Contains(place, " ") ||
		numbers == 2 && strings.Contains(file, "://")
}

// ofCallee reports whether a byte may be of a function's name in Firefox or Safari.
func ofCallee(c byte) bool { return isWord(c) || strings.IndexByte("$./<>* [](-", c) >= 0 }

// isBeamFrame judges a frame of Elixir or Erlang: (app 1.0.0) lib/orders.ex:3: Farm.Orders.total/1.
func isBeamFrame(text string) bool {
	end := beamPlace(text)
	return end > 0 && strings.LastIndexByte(text, '/') > end
}

// beamPlace returns where a file of Elixir or Erlang with a line ends, or 0.
func beamPlace(text string) int {
	for _, mark := range []string{".ex:", ".exs:", ".erl:", ".eex:"} {
		i := strings.Index(text, mark)
		if i < 0 {
			continue
		}
		end := skip(text, i+len(mark), len(text), isDigit)
		if end > i+len(mark) && strings.HasPrefix(text[end:], ": ") {
			return end
		}
		return 0
	}
	return 0
}

// isBeamCall judges a frame of Elixir with the arguments of the call: (app 1.0.0) lib/orders.ex:3: Farm.Orders.total(nil).
func isBeamCall(text string) bool {
	app, rest, _ := strings.Cut(text, ") ")
	_, version, _ := strings.Cut(app, " ")
	return strings.Contains(version, ".") && isDigit(version[0]) && strings.HasSuffix(rest, ")") && beamPlace(rest) > 0
}

// isDeepLua judges a frame of Lua.
func isDeepLua(l textLine) bool {
	return l.deep() && (strings.HasSuffix(l.text, ": in main chunk") || strings.HasSuffix(l.text, "]: in ?") ||
		containsAny(l.text, ": in function ", ": in upvalue ", ": in local ", ": in method "))
}

// isAddressed judges a frame of a C library: ./orders(main+0x1a2)[0x55eeb90c14ea].
func isAddressed(text string) bool {
	i := strings.LastIndex(text, "[0x")
	return i > 0 && strings.Contains(text[:i], "+0x") && isAll(text[i+1:len(text)-1], isWord)
}

// showsSource reports whether a line of source may follow a frame.
func showsSource(text string) bool { return text[0] == 'F' || strings.Contains(text, zigAddress) }

// isMarker reports whether a line marks a part of the line above it.
func isMarker(text string) bool {
	return text != "" && (text[0] == '^' || text[0] == '~') && strings.Trim(text, "^~ ") == "" && strings.Contains(text, "^")
}

// isHead reports whether a line is a file with a line, alone.
func isHead(text string) bool {
	file, numbers := cutPlace(text)
	return numbers == 1 && !strings.Contains(file, " ") &&
		(strings.ContainsAny(file, `/\`) || strings.HasPrefix(file, "node:") || file == "[eval]")
}

// excerptAt returns the first of the lines of source above a marker: below a file with a line, as in Node; below a blank line and an error,
// as in Ruby; or with their numbers, above an error, as in Bun. If there are none, it is the marker.
func excerptAt(lines []textLine, marker int) int {
	if marker > 1 && isHead(lines[marker-2].text) {
		return marker - 2
	}
	if marker > 2 && lines[marker-1].text != "" && lines[marker-2].text == "" && isRubyError(lines[marker-3].text) {
		return marker - 1
	}
	if marker+1 < len(lines) && (isMessage(lines[marker+1].text) || strings.HasPrefix(lines[marker+1].text, "error: ")) {
		for marker > 0 && isSourceLine(lines[marker-1].text) {
			marker--
		}
	}
	return marker
}

// isRubyError reports whether a line is the message of an error of which Ruby shows the source.
func isRubyError(text string) bool {
	return containsAny(text, "(NameError)", "(NoMethodError)", "(TypeError)", "(ArgumentError)", "undefined method ")
}

// isSourceLine reports whether a line is one of source, with its number and a bar before it.
func isSourceLine(text string) bool {
	end := skip(text, 0, len(text), isDigit)
	return end > 0 && strings.HasPrefix(text[end:], " |")
}

func isMore(text string) bool {
	rest, ok := strings.CutPrefix(text, "... ")
	end := skip(rest, 0, len(rest), isDigit)
	return ok && end > 0 && (strings.HasPrefix(rest[end:], " more") || strings.HasPrefix(rest[end:], " common frames omitted") ||
		strings.HasPrefix(rest[end:], " lines matching cause stack trace"))
}

// glues begin lines that belong to a trace if frames are next to them.
var glues = []string{
	"Traceback (most recent call last)", groupTrace, "--- End of ", "[signal ", "created by ", "note: run with `RUST_BACKTRACE",
	"note: Some details are omitted", "[Previous line repeated ", "CallStack (from HasCallStack)", "Stack backtrace:",
	"stack backtrace:", "stack traceback:",
	"Stack trace:", "Stacktrace:", "Backtrace:", "Current stack trace:",
}

func isGlue(text string) bool {
	switch text[0] {
	case 'T', 'E', '-', '[', 'c', 'n', 'C', 'S', 's', 'B':
		for _, begin := range glues {
			if strings.HasPrefix(text, begin) {
				return true
			}
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '^', '~':
	default:
		return false
	}
	return isMarker(text) || strings.EqualFold(text, "Stack trace:") || strings.EqualFold(text, "Stack:") ||
		strings.Contains(text, "----") && strings.Trim(text, "- 0123456789") == ""
}

// isMessage reports whether a line begins with the name of an exception.
func isMessage(text string) bool {
	end := skip(text, 0, len(text), func(c byte) bool { return isWord(c) || c == '.' })
	name := text[strings.LastIndexByte(text[:end], '.')+1 : end]
	return name != "" && 'A' <= name[0] && name[0] <= 'Z' && (end == len(text) || strings.HasPrefix(text[end:], ": "))
}
