package failures_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

// A verdict compares what an agent reads through the gateway with the bare answer, as a critic would.
type verdict struct {
	// Worse are the reasons for which an agent would rather have the bare answer:
	//
	//   - a sentence says that something may have happened where nothing can have;
	//   - advice that differs from all that a sensible agent may do;
	//   - the text and the record in _meta advise different things;
	//   - a word of the bare answer is missing, other than what SDKs put before a sentence, lines of stack traces, and
	//     addresses and paths of the server's machine, which are masked on purpose.
	Worse []string
	// Harmful are those on which an agent would do damage, or never succeed: it is told that the same call is safe, or
	// that nothing was changed, where that is not so; or not to call again where a wait is all it takes; or to change
	// its arguments where a person has to act.
	Harmful []string
	// Better says that it is not worse, names a right kind, and gives advice that is right.
	Better bool
	// Kind says that the kind is a right one. It is false for an answer that passed unchanged.
	Kind bool
	// Masked are the addresses and paths that are masked.
	Masked []string
}

// judge judges what an agent reads, with the record that comes with it. No record: the answer passed unchanged.
func judge(a *answered, read string, e *recourse.Error) *verdict {
	v := new(verdict)
	if e == nil {
		if read != a.Bare() {
			v.Worse = append(v.Worse, "changed, but not a failure")
		}
		return v
	}
	if a.Passes {
		v.Worse = append(v.Worse, "a success by its own account is told as a failure")
	}
	v.Kind = slices.Contains(a.Kinds, e.Kind)
	added := strings.Join(addedLines(read), "\n")
	v.doubts(a, added)
	right := v.advice(a, added, e.RetryAdvice())
	for _, word := range lost(a.Bare(), read) {
		if isPlace(word) && masks.MatchString(read) {
			v.Masked = append(v.Masked, word)
			continue
		}
		v.Worse = append(v.Worse, "lost: "+word)
	}
	v.Better = len(v.Worse) == 0 && v.Kind && right
	return v
}

// addedLines returns the lines that the gateway adds: those after the first, which are not indented.
func addedLines(read string) []string {
	all := strings.Split(read, "\n")
	return slices.DeleteFunc(all[1:], func(line string) bool { return strings.HasPrefix(line, "  ") })
}

var (
	doubting = regexp.MustCompile(`(?i)\b(may|might|could) have\b|not known whether|unclear whether|uncertain|` +
		`took effect|taken effect|has happened|find out`)
	assuring = regexp.MustCompile(`(?i)nothing was (changed|done|sent)|changed nothing|did nothing|no effect`)
)

// doubts judges what is said about whether something has happened.
func (v *verdict) doubts(a *answered, added string) {
	if said := doubting.FindString(added); said != "" && !a.Doubt {
		v.Worse = append(v.Worse, "doubt: "+said)
	}
	if said := assuring.FindString(added); said != "" && a.Doubt && a.Writes {
		v.Worse = append(v.Worse, "assures: "+said)
		v.Harmful = append(v.Harmful, "assures: "+said)
	}
}

// An instruction is what a sentence tells an agent to do. Sentences with a condition leave the choice to it.
type instruction struct {
	says *regexp.Regexp
	next []nextStep // one of these must be right
	// wrong is what makes it harmful, if it is all that is right.
	harms []nextStep
}

var instructions = []instruction{
	{regexp.MustCompile(`(?i)(^|\. )safe to repeat`), []nextStep{later}, []nextStep{never, person, afterFix}},
	{regexp.MustCompile(`(?i)(^|\. )(wait|make the same call)`), []nextStep{later}, []nextStep{never, person, afterFix}},
	{regexp.MustCompile(`(?i)do not repeat (the call|it)(\.|:| before you)`), []nextStep{never}, []nextStep{later}},
	{regexp.MustCompile(`(?i)do not repeat the call as it is`), []nextStep{never, afterFix, person}, []nextStep{later}},
	{regexp.MustCompile(`(?i)do not repeat the call( before somebody|: a person)`), []nextStep{person, never}, []nextStep{later, afterFix}},
	{regexp.MustCompile(`(?i)do not repeat the call before the quota`), []nextStep{person, never}, []nextStep{afterFix}},
	{
		regexp.MustCompile(`(?i)(^|\. )(add|correct|leave|change the arguments|look for|look at|search|ask for|remove)\b`),
		[]nextStep{afterFix},
		[]nextStep{person},
	},
	{regexp.MustCompile(`(?i)(^|\. )read the present state`), []nextStep{afterFix, person, never, later}, nil},
	{regexp.MustCompile(`(?i)if it changes something, check`), []nextStep{afterFix, person, never, later}, nil},
	{regexp.MustCompile(`(?i)(^|\. )call a tool listed`), []nextStep{afterFix}, nil},
	{regexp.MustCompile(`(?i)(^|\. )keep what succeeded`), []nextStep{afterFix}, nil},
	{regexp.MustCompile(`(?i)(^|\. )if it keeps failing`), nil, nil},
	{regexp.MustCompile(`(?i)(^|\. )repeat the call only if it is still wanted`), []nextStep{later}, nil},
}

// advised is what the retry of a record tells a program to do.
var advised = map[recourse.Retry][]nextStep{
	recourse.RetrySameCall: {later}, recourse.RetryAfterFix: {afterFix}, recourse.RetryAfterAuth: {person, never},
	recourse.RetryAfterSetup: {person, never}, recourse.RetryNever: {never, afterFix, person},
	recourse.RetryReRead: {afterFix, person, never, later},
}

// advice judges what the agent is told to do, and reports whether it is told something that is right.
func (v *verdict) advice(a *answered, added string, retry recourse.Retry) (right bool) {
	known := added == ""
	for line := range strings.Lines(added) {
		for _, told := range instructions {
			said := told.says.FindString(strings.TrimSpace(line))
			if said == "" {
				continue
			}
			known = true
			switch {
			case told.next == nil:
			case a.May(told.next...):
				right = true
			default:
				v.Worse = append(v.Worse, "advice: "+strings.TrimSpace(line))
				if a.May(told.harms...) {
					v.Harmful = append(v.Harmful, "advice: "+strings.TrimSpace(line))
				}
			}
		}
	}
	if !known {
		v.Worse = append(v.Worse, "advice that this test does not know: "+added)
	}
	if !a.May(advised[retry]...) {
		v.Worse = append(v.Worse, "retry: "+string(retry))
	}
	return right
}

var (
	token = regexp.MustCompile(`[\pL\pN][\pL\pN._/:@'-]*`)
	// frames are lines of stack traces, and drawn boxes.
	frames = regexp.MustCompile(`(?m)^\s*(at .*|Stack: .*|Traceback .*|File ".*)$|[\x{2500}-\x{257F}]+|\x1b\[[0-9;]*m`)
	// sdk is what SDKs put before a sentence, and links to their manuals.
	sdk = regexp.MustCompile(`(?i)MCP error -?\d+:|Input validation error:|Invalid arguments for tool [\w-]+:?|` +
		`Error (?:executing|calling) tool '?[\w-]+'?:|Tool '[\w-]+' execution failed:|` +
		`^(Error: )+|\d+ validation errors? for \w+|For further information visit \S+|\[type=[^\]]*\]|"code"|"path"|"message"`)
)

// masks are what stands for what is masked.
var masks = regexp.MustCompile(`\[(path|address)\]`)

// isPlace reports whether a word can be a path or an address.
func isPlace(word string) bool { return strings.ContainsAny(word, "/:") }

// lost returns the words of the bare answer that are not in what is read.
func lost(bare, read string) []string {
	read = strings.ToLower(read)
	var missing []string
	for _, word := range token.FindAllString(sdk.ReplaceAllString(frames.ReplaceAllString(bare, " "), " "), -1) {
		word = strings.ToLower(strings.Trim(word, ".:'-/"))
		if word != "" && !strings.Contains(read, word) && !slices.Contains(missing, word) {
			missing = append(missing, word)
		}
	}
	return missing
}
