package contractdoc

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
)

// Page returns the contract's reference page, in Markdown: its failures, what they look like, and what to do about
// them. All of it is computed from the contract.
func Page(c *contract.Contract) string {
	p := &pageWriter{described: describe(c)}
	p.linef("# %s", p.title())
	p.linef("The error contract `%s`.", c.Name)
	p.linef("%s", c.Doc)
	p.example()
	p.members()
	p.codes()
	p.choice()
	p.recovery()
	p.upstream()
	p.session()
	p.http()
	p.rpc()
	p.places()
	p.question()
	p.masked()
	p.reading()
	p.loss()
	return p.b.String()
}

// headCode is the heading of a column of codes.
const headCode = "Code"

// A pageWriter is a page that is being written.
type pageWriter struct {
	described

	b strings.Builder
}

// linef writes a block and an empty line; nothing if the block is empty.
func (p *pageWriter) linef(format string, args ...any) {
	if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
		p.b.WriteString(text + "\n\n")
	}
}

func (p *pageWriter) heading(text string) { p.linef("## %s", text) }

// list writes a bullet for each text.
func (p *pageWriter) list(texts ...string) {
	for _, text := range texts {
		p.b.WriteString("- " + text + "\n")
	}
	p.b.WriteByte('\n')
}

// fence writes a block of code.
func (p *pageWriter) fence(language, text string) {
	p.b.WriteString("```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```\n\n")
}

// table writes rows of cells; the first row is the head.
func (p *pageWriter) table(rows ...[]string) {
	for i, row := range rows {
		for _, cell := range row {
			p.b.WriteString("| " + cellText(cell) + " ")
		}
		p.b.WriteString("|\n")
		if i == 0 {
			p.b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	p.b.WriteByte('\n')
}

func cellText(text string) string {
	return strings.NewReplacer("|", `\|`, "\r", "", "\n", " ").Replace(text)
}

func code(text string) string { return "`" + text + "`" }

func codesText[T ~string](list []T) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = code(string(text))
	}
	return strings.Join(quoted, ", ")
}

// exampleCall is the call that fails in examples.
func (p *pageWriter) exampleCall() *contract.Call {
	return &contract.Call{Method: methodToolsCall, Tool: "item_get", URL: "https://example.com/mcp", Now: contractform.ExampleTime}
}

// example shows a failed call.
func (p *pageWriter) example() {
	p.heading("A failed call")
	a := p.c.Write(recourse.NotFound(p.resource(), "xyz").WithRequestID("req-abc123").WithOrigin(recourse.OriginServer), p.exampleCall())
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(a.Result, &result) != nil || len(result.Content) == 0 {
		return
	}
	p.linef("The text, which is what a model sees:")
	if text := json.Value(result.Content[0].Text); text.Kind() == '{' {
		p.fence("json", indented(text))
	} else {
		p.fence("text", result.Content[0].Text)
	}
	p.linef("The whole result:")
	p.fence("json", indented(json.Value(a.Result)))
}

// resource returns a type of resource that the contract knows.
func (p *pageWriter) resource() string {
	for _, en := range p.form.Codes {
		for _, sel := range en.Selectors {
			for _, cond := range sel {
				if cond.On == contractform.OnResource {
					return cond.Values[0]
				}
			}
		}
	}
	return "item"
}

func indented(raw json.Value) string {
	pretty, err := json.AppendIndent(nil, raw, "  ")
	if err != nil {
		return string(raw)
	}
	return string(pretty)
}

// members documents the object.
func (p *pageWriter) members() {
	if !p.form.Layout.WritesObject() {
		return
	}
	p.heading("Members of the object")
	rows := [][]string{{"Member", "Type", "Present", "Meaning"}}
	for _, m := range p.form.Members {
		rows = append(rows, []string{code(m.Name), m.Type, m.Present, m.Doc})
	}
	p.table(rows...)
}

// codes lists the codes by group.
func (p *pageWriter) codes() {
	p.heading("Codes")
	identified, advised := p.bySentence(), p.advises()
	switch name := p.retryMember(); {
	case identified:
		p.linef("Answers do not contain a code: the sentence identifies the failure. Look for it within the text, the longest " +
			"first. A sentence that belongs to an HTTP status is the whole text, and a single word only counts with that status.")
	case name != "":
		p.linef("The set of codes is open: for an unlisted one, go by %s.", code(name))
	default:
		p.linef("The set of codes is open: do not repeat the call for an unlisted one.")
	}
	if advised {
		p.linef("Names in braces are placeholders; the text after a bar is used if the value is empty. If there are several hints, the " +
			"first one that fits and can be filled in is used.")
	}
	if len(p.form.Hints) > 0 {
		p.linef("Before all other hints, whatever the code:")
		for _, a := range p.form.Hints {
			p.b.WriteString("- " + hintsText([]contractform.Hint{a}) + "\n")
		}
		p.b.WriteByte('\n')
	}
	if len(p.form.HintTools) > 0 {
		p.linef("A hint is left out if it names a tool that the server does not have. Hints name: %s.",
			codesText(p.form.HintTools))
	}
	groups, byGroup := p.groups(func(*contractform.Code) bool { return true })
	for _, group := range groups {
		if group != "" {
			p.linef("### %s", group)
		}
		p.table(p.codeRows(byGroup[group])...)
	}
}

// codeRows returns a table of codes.
func (p *pageWriter) codeRows(entries []*contractform.Code) [][]string {
	identified, advised := p.bySentence(), slices.ContainsFunc(p.form.Codes, advises)
	head := []string{headCode, "When", "Retryable", "Kind"}
	if identified {
		head = append(head, "Sentence")
	}
	if advised {
		head = append(head, "What to do")
	}
	rows := [][]string{head}
	for _, en := range entries {
		row := []string{p.codeCell(en), en.When, retryText(en), code(string(en.Kind))}
		if identified {
			row = append(row, sentencesText(en.Messages))
		}
		if advised {
			row = append(row, hintsText(en.Hints))
		}
		rows = append(rows, row)
	}
	return rows
}

// bySentence reports whether a failure can only be identified by its sentence.
func (d described) bySentence() bool {
	line := d.form.Layout.Line
	return line != nil && !line.NamesCode() && !d.form.Layout.WritesObject()
}

// advises reports whether there is any hint.
func (d described) advises() bool {
	return len(d.form.Hints) > 0 || slices.ContainsFunc(d.form.Codes, advises)
}

func advises(en *contractform.Code) bool { return len(en.Hints) > 0 }

func sentencesText(forms []string) string {
	texts := make([]string, len(forms))
	for i, t := range forms {
		texts[i] = code(t)
	}
	return strings.Join(texts, "<br>")
}

// groups sorts the wanted entries into groups, in the order of the file.
func (p *pageWriter) groups(wanted func(*contractform.Code) bool) (groups []string, byGroup map[string][]*contractform.Code) {
	byGroup = map[string][]*contractform.Code{}
	for _, en := range p.form.Codes {
		if !wanted(en) {
			continue
		}
		if byGroup[en.Group] == nil {
			groups = append(groups, en.Group)
		}
		byGroup[en.Group] = append(byGroup[en.Group], en)
	}
	return groups, byGroup
}

func (p *pageWriter) codeCell(en *contractform.Code) string {
	cell := code(en.Code)
	if en.Name != "" {
		cell += " " + en.Name
	}
	if en.HTTP != nil {
		cell += fmt.Sprintf(" (HTTP %d)", en.HTTP.Status)
	}
	if en.RPC != nil {
		cell += " (JSON-RPC error)"
	}
	return cell
}

// retryMember names the member that says whether to repeat.
func (p *pageWriter) retryMember() string {
	switch {
	case !p.form.Layout.WritesObject():
		return ""
	case p.form.Layout.Shape == nil:
		return "retry"
	default:
		return p.memberFor("retryable")
	}
}

// memberFor names the member of the object that a path is written to, or "".
func (p *pageWriter) memberFor(src string) string {
	if p.form.Layout.Shape == nil {
		return ""
	}
	for _, m := range p.form.Layout.Shape.Members {
		if m.Path != nil && m.Path.Src == src {
			return m.Name
		}
	}
	return ""
}

func retryText(en *contractform.Code) string {
	switch en.Retry.Mode {
	case contractform.Always:
		return "yes"
	case contractform.Never:
		return "no"
	case contractform.ByStatus:
		return strings.Join(en.Retry.Status, ", ") + ": yes; others: no"
	case contractform.Stated:
		return "where the failure says so"
	case contractform.ByRecord:
		return code(string(en.Kind.Retry()))
	default:
		return ""
	}
}

// hintsText shows the alternatives of a hint.
func hintsText(list []contractform.Hint) string {
	var texts []string
	for _, a := range list {
		text := a.Text
		if len(a.When) > 0 {
			text = "(" + a.When.String() + ") " + text
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "<br>")
}

// choice documents which code a failure gets.
func (p *pageWriter) choice() {
	kinds := map[string][]recourse.Kind{}
	plain := true
	for _, kind := range slices.Clone(p.form.ResultKinds) {
		en := p.chosen(recourse.New(kind, "").WithOrigin(recourse.OriginServer))
		kinds[en.Code] = append(kinds[en.Code], kind)
		plain = plain && en.Code == string(kind)
	}
	if plain {
		return
	}
	p.heading("Which failure gets which code")
	p.linef("When a tool fails. A failure that already has a code of this contract keeps it.")
	rows := [][]string{{headCode, "Kinds of failures"}}
	for _, en := range p.form.Codes {
		if len(kinds[en.Code]) > 0 {
			rows = append(rows, []string{code(en.Code), codesText(kinds[en.Code])})
		}
	}
	p.table(rows...)
	p.linef("Anything that no code selects is %s.", code(p.form.Fallback.Code))
}

// chosen returns the entry of a failed tool call.
func (p *pageWriter) chosen(e *recourse.Error) *contractform.Code {
	call := p.exampleCall()
	return p.form.Words[p.c.Write(e, call).Record.Code]
}

// http shows the failures that are whole HTTP answers.
func (p *pageWriter) http() {
	if !slices.ContainsFunc(p.form.Codes, func(en *contractform.Code) bool { return en.HTTP != nil }) {
		return
	}
	p.heading("HTTP answers")
	p.linef("These failures are not tool results but whole HTTP answers, where HTTP is possible.")
	for _, en := range p.form.Codes {
		if en.HTTP == nil {
			continue
		}
		p.linef("### HTTP %d: %s", en.HTTP.Status, en.Code)
		p.linef("%s", en.When)
		call := p.exampleCall()
		call.HTTP = true
		a := p.c.Write(Example(p.c, en), call)
		p.fence("http", httpText(en.HTTP, a))
		if en.Otherwise != "" {
			p.linef("Over stdio, the failure is a tool result with the code %s.", code(en.Otherwise))
		}
	}
}

// Example returns a record for which en is chosen, with as few members as possible.
func Example(c *contract.Contract, en *contractform.Code) *recourse.Error {
	all := contractform.Everything(en.Kind)
	e := recourse.New(en.Kind, "").WithCode(c.Name, en.Code)
	switch en.Kind.Class() {
	case recourse.ClassInput:
		e.Violations = all.Violations[:1]
	case recourse.ClassAllowance:
		e.Quotas, e.RetryAfter = all.Quotas, all.RetryAfter
	case recourse.ClassResource:
		e.Resource = all.Resource
	default:
	}
	return e
}

// httpText shows a whole HTTP answer in the form f.
func httpText(f *contractform.HTTP, a contract.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", a.Status, http.StatusText(a.Status))
	if f.Media == "" {
		b.WriteString("Content-Length: 0\n")
	} else {
		fmt.Fprintf(&b, "Content-Type: %s\n", f.Media)
	}
	for _, h := range f.Headers {
		fmt.Fprintf(&b, "%s: %s\n", h.Name, a.Header.Get(h.Name))
	}
	if len(a.Body) > 0 {
		b.WriteString("\n" + indented(a.Body))
	}
	return b.String()
}

// rpc documents which failures are JSON-RPC errors.
func (p *pageWriter) rpc() {
	p.heading("JSON-RPC errors")
	p.linef("A failed call of any method other than tools/call is a JSON-RPC error, and so is the answer to an invalid message. " +
		"`data` is the failure as a record, and `message` its sentence.")
	byCode := map[int][]recourse.Kind{}
	var order []int
	for _, kind := range recourse.Kinds() {
		n := rpccode.Of(kind)
		if byCode[n] == nil {
			order = append(order, n)
		}
		byCode[n] = append(byCode[n], kind)
	}
	const others = -32603
	rows := [][]string{{headCode, "Kinds of failures"}}
	for _, n := range order {
		if n != others {
			rows = append(rows, []string{strconv.Itoa(n), codesText(byCode[n])})
		}
	}
	p.table(append(rows, []string{strconv.Itoa(others), "all others"})...)
	if p.c.UnknownTool == "rpc" {
		p.linef("An unknown tool is such an error, too, as the protocol requires.")
	} else {
		p.linef("An unknown tool is a tool result.")
	}
	for _, en := range p.form.Codes {
		if en.RPC == nil {
			continue
		}
		p.linef("### JSON-RPC error %d", en.RPC.Code)
		p.linef("%s", en.When)
		a := p.c.Write(Example(p.c, en), p.exampleCall())
		var e json.Members
		e.Add("code", json.Value(strconv.Itoa(a.RPCCode)))
		e.Text("message", a.Message)
		if a.Data != nil {
			e.Add("data", json.Value(a.Data))
		}
		p.fence("json", indented(e.AppendTo(nil)))
	}
}

// waits returns the wait before each repetition, in words.
func (p *pageWriter) waits() []string {
	rule := p.c.Retry
	stated := p.waitMember()
	list := make([]string, rule.Retries)
	factor := 1.0
	for i := range list {
		list[i] = fmt.Sprintf("attempt %d: wait %s", i+1, stated)
		if factor != 1 {
			list[i] += " × " + strconv.FormatFloat(factor, 'g', -1, 64)
		}
		if rule.JitterMax > 0 && i+1 >= rule.JitterFrom {
			list[i] += fmt.Sprintf(" + random(0 to %d ms)", rule.JitterMax/time.Millisecond)
		}
		factor *= rule.Factor
	}
	return list
}

// waitMember names the member that says how long to wait.
func (p *pageWriter) waitMember() string {
	switch {
	case !p.form.Layout.WritesObject():
		return recourse.FormatWait(p.c.Retry.Start)
	case p.form.Layout.Shape == nil:
		return "afterMs"
	}
	for _, m := range p.form.Layout.Shape.Members {
		if m.Path != nil && (strings.HasPrefix(m.Path.Src, "after.") || m.Path.Src == "after" || m.Path.Src == "afterMs") {
			return m.Name
		}
	}
	return recourse.FormatWait(p.c.Retry.Start)
}
