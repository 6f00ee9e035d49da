package check

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// The rules about what a failure says.

func failureHasText(t *transcript, v *verdict) {
	for _, x := range t.failures() {
		v.of(x.step.tool, x, when(strings.TrimSpace(x.said.text) == "", "There is no text in it."))
	}
}

// bare matches texts that say that something failed, and nothing else.
var bare = regexp.MustCompile(`(?i)^\W*(error executing tool:?( '?[\w.-]+'?)?|\[object object\]|none|null|undefined|nil|unknown error|` +
	`internal( server)? error|an? (unexpected |unknown |internal )?error (has )?occurred|something went wrong|error|failed|failure|` +
	`exception|tool (call|execution) failed|bad request|invalid( params| arguments| input| request)?)\W*$`)

func failureSaysWhy(t *transcript, v *verdict) {
	for _, x := range t.failures() {
		if strings.TrimSpace(x.said.text) == "" {
			continue
		}
		text := x.said.text
		if _, rest, prefixed := strings.Cut(text, "MCP error -3"); prefixed { // TypeScript's SDK writes the code before the words
			_, text, _ = strings.Cut(rest, ": ")
		}
		v.of(x.step.tool, x, when(bare.MatchString(text), "It only says %s", quoted(x.said.text)))
	}
}

func causesApart(t *transcript, v *verdict) {
	texts := map[*listedTool]map[string]*exchange{}
	for _, x := range t.failures() {
		tool := x.step.tool
		if tool == nil || x.said.text == "" || !slices.Contains([]probe{probeMissing, probeAbsent}, x.step.probe) {
			continue
		}
		if texts[tool] == nil {
			texts[tool] = map[string]*exchange{x.said.text: x}
			continue
		}
		said := ""
		if _, same := texts[tool][x.said.text]; same {
			said = "Left out arguments and an id that does not exist both read " + quoted(x.said.text)
		}
		v.of(tool, x, said)
	}
}

func sameAgain(t *transcript, v *verdict) {
	type place struct {
		tool *listedTool
		args string
	}
	first := map[place]*exchange{}
	for _, x := range t.failures() {
		what := place{x.step.tool, string(x.step.args)}
		if x.step.probe == probeAbsent || x.step.probe == probeNoTool {
			first[what] = x
		}
		before := first[what]
		if before == nil || x.asks() != "" || x.step.probe != probeAbsentAgain && x.step.probe != probeNoToolAgain {
			continue
		}
		broken := before.said.gist() != x.said.gist()
		v.of(x.step.tool, x, when(broken, "First %s, then %s", quoted(before.said.gist()), quoted(x.said.gist())))
	}
}

// gist is what a program decides by: the code and the sentence, without the id of a request beside them.
func (s *said) gist() string {
	if s.record != nil && s.form != nil {
		return s.record.Code + ": " + s.record.Message
	}
	return s.text
}

func absentTold(t *transcript, v *verdict) {
	for _, x := range t.of(probeAbsent, probeUnicode) {
		broken := !x.said.failed && x.said.dressed == "" && x.said.empty()
		v.of(x.step.tool, x, when(broken, "With an id that does not exist, the answer is an empty success: %s",
			quoted(string(x.said.result))))
	}
}

// empty reports whether a result holds nothing.
func (s *said) empty() bool {
	if s.other || s.object != nil && !hollow(s.object) {
		return false
	}
	text := strings.TrimSpace(s.text)
	return text == "" || hollow(json.Value(text))
}

// hollow reports whether a JSON value has nothing in it.
func hollow(raw json.Value) bool {
	switch strings.Join(strings.Fields(string(raw)), "") {
	case "null", "{}", "[]", `""`, `{"result":null}`, `{"result":[]}`, `{"result":{}}`, `{"result":""}`:
		return true
	default:
		return false
	}
}

// away are the failures of a server that has not got so far as to look for the id.
var away = []recourse.Kind{recourse.KindUnreachable, recourse.KindUnavailable, recourse.KindTimeout}

func absentNotInternal(t *transcript, v *verdict) {
	for _, x := range t.of(probeAbsent, probeUnicode) {
		if !x.said.failed || x.said.record != nil && slices.Contains(away, x.said.record.Kind) {
			continue
		}
		broken := x.said.rpc && x.said.code == wire.CodeInternalError || bare.MatchString(x.said.text)
		v.of(x.step.tool, x, when(broken, "It is told as %s", quoted(x.said.text)))
	}
}

func notDressed(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.tool == nil || x.said.result == nil || x.said.marked {
			continue
		}
		said := ""
		if x.said.dressed != "" && !t.returns(x.step.tool) {
			said = "isError is not set on " + quoted(x.said.text)
			if x.said.reads != "" {
				said += " (reads: [" + x.said.reads + "])"
			}
		}
		v.of(x.step.tool, x, said)
	}
}

// returns reports whether the contract has the tool return its failures as data.
func (t *transcript) returns(tool *listedTool) bool {
	return t.promised != nil && t.promised.Returns(tool.Name)
}

// worked matches a body that says that all is well.
var worked = regexp.MustCompile(`^\s*\{\s*"(ok|success)"\s*:\s*true\s*[,}]|^\s*\{\s*"status"\s*:\s*"(ok|success)"\s*[,}]`)

func successNotMarked(t *transcript, v *verdict) {
	for _, x := range t.failures() {
		if !x.said.marked {
			continue
		}
		v.of(x.step.tool, x, when(worked.MatchString(x.said.text), "isError is set on %s", quoted(x.said.text)))
	}
}

// marks matches what stands for what is masked.
var marks = regexp.MustCompile(`\[(credential|connection string|stack trace|address|path)\]`)

// word matches what is masked with care because of what stands before it, and is no secret: "JWT: JWTExpired".
var word = regexp.MustCompile(`^\W*[A-Z]+[a-z]+([A-Z][a-z]{2,})*\W*$`)

// hides reports whether something other than a word is masked by one of these marks.
func hides(text, masked string, these []string) bool {
	rest := text
	for {
		at := marks.FindStringIndex(masked)
		if at == nil {
			return false
		}
		mark := masked[at[0]:at[1]]
		rest, masked = rest[min(at[0], len(rest)):], masked[at[1]:]
		if after, ok := strings.CutPrefix(rest, mark); ok { // the server has written it
			rest = after
			continue
		}
		next, end := masked, len(rest)
		if at := marks.FindStringIndex(masked); at != nil {
			next = masked[:at[0]]
		}
		if i := strings.Index(rest, next); i >= 0 && next != "" {
			end = i
		}
		if slices.Contains(these, mark) && !word.MatchString(rest[:end]) {
			return true
		}
		rest = rest[end:]
	}
}

// madeUp takes the ids that the check has made up out of a text: after words such as "session", an id is masked, and is no secret.
var madeUp = strings.NewReplacer(absentID, "none", unicodeID, "none")

// leaks judges what is masked in failures. What stands in the call's own arguments is no leak.
func leaks(t *transcript, v *verdict, what string, these ...string) {
	for _, x := range t.failures() {
		if x.said.text == "" {
			continue
		}
		text := madeUp.Replace(x.said.text)
		masked := redact.New(redact.All, string(x.step.args), string(x.sent)).String(text)
		v.of(x.step.tool, x, when(hides(text, masked, these), "%s: %s", what, quoted(masked)))
	}
}

func noStack(t *transcript, v *verdict) {
	leaks(t, v, "There is a stack trace in it", "[stack trace]")
}

func noSecret(t *transcript, v *verdict) {
	leaks(t, v, "There is a credential in it", "[credential]", "[connection string]")
}

// noAddress is about servers of strangers: a program that the user has started shows paths of the user's own machine.
func noAddress(t *transcript, v *verdict) {
	if t.stdio {
		return
	}
	leaks(t, v, "There is an address or a path in it", "[address]", "[path]")
}

// query matches a statement of SQL with its verb and object.
var query = regexp.MustCompile(`(?is)\b(select\s.+\sfrom\s+\S+(\s+(where|join|limit|order)\b|\s*;)|` +
	`insert\s+into\s+\S+\s*\(|update\s+\S+\s+set\s+\S+\s*=|delete\s+from\s+\S+\s+where\b)`)

func noQuery(t *transcript, v *verdict) {
	for _, x := range t.failures() {
		if x.said.text == "" {
			continue
		}
		v.of(x.step.tool, x, when(query.MatchString(x.said.text) && !query.Match(x.sent), "There is SQL in it."))
	}
}

// moment matches a time at which a limit ends.
var moment = regexp.MustCompile(`(?i)(reset|retry|after|until|again)\D{0,20}\d{4}-\d\d-\d\d[T ]\d\d:\d\d`)

func limitSaysWait(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		e := x.said.record
		inWords := x.said.failed && e != nil && e.Kind == recourse.KindRateLimited
		if !inWords && x.answer.Status != http.StatusTooManyRequests {
			continue
		}
		_, waits := recourse.RetryAfter(x.answer.Head, time.Now())
		broken := !waits && (e == nil || e.RetryAfter == 0) && !moment.MatchString(x.said.text)
		v.of(x.step.tool, x, when(broken, "There is no wait in it: %s", x.why()))
	}
}

func fitsOutputSchema(t *transcript, v *verdict) {
	for _, x := range t.failures() {
		if x.step.tool == nil || x.step.tool.OutputSchema == nil || x.said.object == nil {
			continue
		}
		schema, err := args.Compile(x.step.tool.OutputSchema, nil)
		if err != nil {
			continue
		}
		said := ""
		if wrong := schema.Check(context.Background(), x.said.object); len(wrong) > 0 {
			said = fmt.Sprintf("structuredContent breaks outputSchema at %q.", wrong[0].Pointer)
		}
		v.of(x.step.tool, x, said)
	}
}
