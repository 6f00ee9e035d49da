package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/rpccode"
)

// Page returns the contract's reference page, in Markdown: what fails how, what it
// looks like, and what to do about it. All of it is computed from the contract.
func (c *Contract) Page() string {
	p := &page{c: c}
	p.linef("# %s", c.titleOrName())
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

// headCode is the head of a column of codes.
const headCode = "Code"

// A page is a reference page that is being written.
type page struct {
	c *Contract
	b strings.Builder
}

// linef writes a block with an empty line behind it; nothing when it is empty.
func (p *page) linef(format string, args ...any) {
	if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
		p.b.WriteString(text + "\n\n")
	}
}

func (p *page) heading(text string) { p.linef("## %s", text) }

// list writes a bullet for each text.
func (p *page) list(texts ...string) {
	for _, text := range texts {
		p.b.WriteString("- " + text + "\n")
	}
	p.b.WriteByte('\n')
}

// fence writes a block of code.
func (p *page) fence(language, text string) {
	p.b.WriteString("```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```\n\n")
}

// table writes rows of cells; the first row is the head.
func (p *page) table(rows ...[]string) {
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
func (p *page) exampleCall() *Call {
	return &Call{Method: methodToolsCall, Tool: "item_get", URL: "https://example.com/mcp", Now: exampleTime}
}

// example shows a failed call.
func (p *page) example() {
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
func (p *page) resource() string {
	for _, en := range p.c.codes {
		for _, sel := range en.selectors {
			for _, cond := range sel {
				if cond.on == onResource {
					return cond.values[0]
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
func (p *page) members() {
	if !p.c.writesObject() {
		return
	}
	p.heading("Members of the object")
	rows := [][]string{{"Member", "Type", "Present", "Meaning"}}
	for _, m := range p.c.Members() {
		rows = append(rows, []string{code(m.Name), m.Type, m.Present, m.Doc})
	}
	p.table(rows...)
}

// codes lists the codes by group.
func (p *page) codes() {
	p.heading("Codes")
	identified, advised := p.c.bySentence(), p.c.advises()
	switch name := p.retryMember(); {
	case identified:
		p.linef("A code does not stand in the answer: the sentence identifies the failure. Look for it within the text, the longest " +
			"first; one that belongs to an HTTP status is the whole text, and a single word counts with that status only.")
	case name != "":
		p.linef("The set of codes is open: treat one that is not listed by %s.", code(name))
	default:
		p.linef("The set of codes is open: do not repeat the call for one that is not listed.")
	}
	if advised {
		p.linef("Names in braces stand for what the failure says, with a text for when it says nothing behind a bar. Of several " +
			"hints the first is given that fits and can be filled in.")
	}
	if len(p.c.hints) > 0 {
		p.linef("Before all others, whatever the code:")
		for _, a := range p.c.hints {
			p.b.WriteString("- " + hintsText([]alternative{a}) + "\n")
		}
		p.b.WriteByte('\n')
	}
	if len(p.c.hintTools) > 0 {
		p.linef("A hint that names a tool which the server does not have is left out. Tools that are named: %s.", codesText(p.c.hintTools))
	}
	groups, byGroup := p.groups(func(*entry) bool { return true })
	for _, group := range groups {
		if group != "" {
			p.linef("### %s", group)
		}
		p.table(p.codeRows(byGroup[group])...)
	}
}

// codeRows returns a table of codes.
func (p *page) codeRows(entries []*entry) [][]string {
	identified, advised := p.c.bySentence(), p.c.advises()
	head := []string{headCode, "When", "Retryable", "Kind"}
	if identified {
		head = append(head, "Sentence")
	}
	if advised {
		head = append(head, "What to do")
	}
	rows := [][]string{head}
	for _, en := range entries {
		row := []string{p.codeCell(en), en.when, retryText(en), code(string(en.kind))}
		if identified {
			row = append(row, sentencesText(en.message))
		}
		if advised {
			row = append(row, hintsText(en.hints))
		}
		rows = append(rows, row)
	}
	return rows
}

// bySentence reports whether nothing but its sentence identifies a failure.
func (c *Contract) bySentence() bool {
	line, ok := c.layout.text.(textCodec)
	return ok && !line.namesCode() && !c.writesObject()
}

// advises reports whether any hint is given.
func (c *Contract) advises() bool {
	return len(c.hints) > 0 || slices.ContainsFunc(c.codes, func(en *entry) bool { return len(en.hints) > 0 })
}

func sentencesText(forms []*template) string {
	texts := make([]string, len(forms))
	for i, t := range forms {
		texts[i] = code(t.src)
	}
	return strings.Join(texts, "<br>")
}

// groups sorts the entries that wanted holds for into groups, in the order of the
// file.
func (p *page) groups(wanted func(*entry) bool) (groups []string, byGroup map[string][]*entry) {
	byGroup = map[string][]*entry{}
	for _, en := range p.c.codes {
		if !wanted(en) {
			continue
		}
		if byGroup[en.group] == nil {
			groups = append(groups, en.group)
		}
		byGroup[en.group] = append(byGroup[en.group], en)
	}
	return groups, byGroup
}

func (p *page) codeCell(en *entry) string {
	cell := code(en.code)
	if en.name != "" {
		cell += " " + en.name
	}
	if en.http != nil {
		cell += fmt.Sprintf(" (HTTP %d)", en.http.status)
	}
	if en.rpc != nil {
		cell += " (JSON-RPC error)"
	}
	return cell
}

// retryMember names the member that tells whether to repeat.
func (p *page) retryMember() string {
	switch {
	case !p.c.writesObject():
		return ""
	case p.c.layout.shape == nil:
		return "retry"
	default:
		return p.memberFor("retryable")
	}
}

// memberFor names the member of the object that a path is written to, or "".
func (p *page) memberFor(src string) string {
	if p.c.layout.shape == nil {
		return ""
	}
	for _, m := range p.c.layout.shape.members {
		if m.path != nil && m.path.src == src {
			return m.name
		}
	}
	return ""
}

func retryText(en *entry) string {
	switch en.retry.mode {
	case always:
		return "yes"
	case never:
		return "no"
	case byStatus:
		return strings.Join(en.retry.status, ", ") + ": yes; others: no"
	case stated:
		return "where the failure says so"
	case byRecord:
		return code(string(en.kind.Retry()))
	default:
		return ""
	}
}

// hintsText shows the alternatives of a hint.
func hintsText(list []alternative) string {
	var texts []string
	for _, a := range list {
		text := a.text.src
		if len(a.when) > 0 {
			text = "(" + a.when.String() + ") " + text
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "<br>")
}

// choice tells which code a failure gets.
func (p *page) choice() {
	kinds := map[string][]recourse.Kind{}
	plain := true
	for _, kind := range p.c.resultKinds() {
		en := p.chosen(recourse.New(kind, "").WithOrigin(recourse.OriginServer))
		kinds[en.code] = append(kinds[en.code], kind)
		plain = plain && en.code == string(kind)
	}
	if plain {
		return
	}
	p.heading("Which failure gets which code")
	p.linef("When a tool fails. A failure that already has a code of this contract keeps it.")
	rows := [][]string{{headCode, "Kinds of failures"}}
	for _, en := range p.c.codes {
		if len(kinds[en.code]) > 0 {
			rows = append(rows, []string{code(en.code), codesText(kinds[en.code])})
		}
	}
	p.table(rows...)
	p.linef("Everything that no code selects is %s.", code(p.c.fallback.code))
}

// chosen returns the entry of a failed tool call.
func (p *page) chosen(e *recourse.Error) *entry {
	call := p.exampleCall()
	return p.c.bind(e, call).entry
}

// http shows the answers that are HTTP as a whole.
func (p *page) http() {
	if !slices.ContainsFunc(p.c.codes, func(en *entry) bool { return en.http != nil }) {
		return
	}
	p.heading("HTTP answers")
	p.linef("These failures are no tool results: the whole HTTP answer stands for them, where there is one to give.")
	for _, en := range p.c.codes {
		if en.http == nil {
			continue
		}
		p.linef("### HTTP %d: %s", en.http.status, en.code)
		p.linef("%s", en.when)
		call := p.exampleCall()
		call.HTTP = true
		a := p.c.Write(p.exampleOf(en), call)
		p.fence("http", httpText(en.http, a))
		if en.otherwise != "" {
			p.linef("Where no HTTP answer can be given, over stdio, the failure is a tool result with the code %s.", code(en.otherwise))
		}
	}
}

// exampleOf returns a record for which en is chosen, with no more than such a one has.
func (p *page) exampleOf(en *entry) *recourse.Error {
	all := everything(en.kind)
	e := recourse.New(en.kind, "").WithCode(p.c.Name, en.code)
	switch en.kind.Class() {
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
func httpText(f *httpForm, a Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", a.Status, http.StatusText(a.Status))
	if f.media == "" {
		b.WriteString("Content-Length: 0\n")
	} else {
		fmt.Fprintf(&b, "Content-Type: %s\n", f.media)
	}
	for _, h := range f.headers {
		fmt.Fprintf(&b, "%s: %s\n", h.name, a.Header.Get(h.name))
	}
	if len(a.Body) > 0 {
		b.WriteString("\n" + indented(a.Body))
	}
	return b.String()
}

// rpc tells what becomes a JSON-RPC error.
func (p *page) rpc() {
	p.heading("JSON-RPC errors")
	p.linef("A call of another method than tools/call that fails is a JSON-RPC error, and so is a faulty message. " +
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
	if p.c.UnknownTool == unknownToolRPC {
		p.linef("An unknown tool is such an error too, as the protocol has it.")
	} else {
		p.linef("An unknown tool is a tool result.")
	}
	for _, en := range p.c.codes {
		if en.rpc == nil {
			continue
		}
		p.linef("### JSON-RPC error %d", en.rpc.code)
		p.linef("%s", en.when)
		a := p.c.Write(p.exampleOf(en), p.exampleCall())
		var e memberList
		e.add("code", json.Value(strconv.Itoa(a.Code)))
		e.text("message", a.Message)
		if a.Data != nil {
			e.add("data", json.Value(a.Data))
		}
		p.fence("json", indented(e.appendTo(nil)))
	}
}

// waits returns the wait before each repetition, in words.
func (p *page) waits() []string {
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

// waitMember names the member that tells how long to wait.
func (p *page) waitMember() string {
	switch {
	case !p.c.writesObject():
		return recourse.FormatWait(p.c.Retry.Start)
	case p.c.layout.shape == nil:
		return "afterMs"
	}
	for _, m := range p.c.layout.shape.members {
		if m.path != nil && (strings.HasPrefix(m.path.src, "after.") || m.path.src == "after" || m.path.src == "afterMs") {
			return m.name
		}
	}
	return recourse.FormatWait(p.c.Retry.Start)
}
