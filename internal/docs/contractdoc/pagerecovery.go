package contractdoc

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
)

// recovery documents what a client does: the tree of decisions, and the waits.
func (p *pageWriter) recovery() {
	p.heading("Recovery")
	var b strings.Builder
	b.WriteString("Is it retryable?\n├── yes: wait, then make the same call again\n")
	if p.c.Retry.Retries > 0 {
		fmt.Fprintf(&b, "│        still failing after %d more calls: stop, and report the failure\n", p.c.Retry.Retries)
	}
	b.WriteString("└── no: look at the group of its code\n")
	groups, byGroup := p.groups(func(en *contractform.Code) bool { return p.retryableMode(en) != contractform.Always })
	width := 0
	for _, group := range groups {
		width = max(width, len([]rune(p.groupName(group))))
	}
	for i, group := range groups {
		branch := "├──"
		if i == len(groups)-1 {
			branch = "└──"
		}
		fmt.Fprintf(&b, "    %s %-*s  %s\n", branch, width+1, p.groupName(group)+":", advice(byGroup[group]))
	}
	p.fence("text", b.String())
	if p.c.Retry.Retries > 0 {
		p.heading("Waits")
		p.linef("For a retryable failure:")
		p.fence("text", strings.Join(append(p.waits(), fmt.Sprintf("give up after %s", count(p.c.Retry.Retries, "repetition"))), "\n"))
		p.linef("%s", p.waitNote())
	}
	p.poll()
	p.verify()
	p.subjects()
	p.once()
	p.batch()
	p.expects()
}

// poll documents how a call waits for work that takes long.
func (p *pageWriter) poll() {
	rule := p.c.Poll
	if rule.Wait == "" {
		return
	}
	p.heading("Work that takes long")
	p.linef("A tool that starts it has the parameters %s (false by default) and %s, in seconds. Without %s, %s in its answer names "+
		"the call that polls. With it, the call returns when the work has ended or %s has passed; until then these codes do "+
		"not end the wait, and all others do:", code(rule.Wait), code(rule.Timeout), code(rule.Wait), code(rule.Next), code(rule.Timeout))
	var absorbed []string
	for _, en := range p.form.Codes {
		switch p.retryableMode(en) {
		case contractform.Always:
			absorbed = append(absorbed, code(en.Code))
		case contractform.ByStatus:
			absorbed = append(absorbed, code(en.Code)+" (after "+strings.Join(en.Retry.Status, ", ")+")")
		case contractform.ByRecord, contractform.Never, contractform.Stated:
		}
	}
	p.list(strings.Join(absorbed, ", "))
	if len(rule.Status) > 0 {
		p.linef("The work goes on as long as the polling call answers %s at %s.",
			eitherOf(rule.Pending), eitherOf(rule.Status))
	}
	if len(rule.Failed) > 0 {
		p.linef("If it answers %s there, the work has failed, and so has the call: a client reports %s, with the reason at %s.",
			eitherOf(rule.Failed), code(p.c.Write(recourse.JobFailed(""), &contract.Call{}).Record.Code), eitherOf(rule.Reason))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func (p *pageWriter) waitNote() string {
	start := recourse.FormatWait(p.c.Retry.Start)
	stated := p.waitMember()
	if stated == start {
		return "A wait that the failure states is a minimum."
	}
	return fmt.Sprintf("%s is a minimum. Where it is missing, start with %s.", code(stated), start)
}

// retryableMode returns how an entry decides, including what follows from its kind.
func (p *pageWriter) retryableMode(en *contractform.Code) contractform.RetryMode {
	if en.Retry.Mode != contractform.ByRecord {
		return en.Retry.Mode
	}
	if en.Kind.Retry() == recourse.RetrySameCall {
		return contractform.Always
	}
	return contractform.Never
}

func (p *pageWriter) groupName(group string) string {
	if group == "" {
		return "any"
	}
	return group
}

// advice says what to do about the kinds of a group.
func advice(list []*contractform.Code) string {
	var texts []string
	for _, en := range list {
		var text string
		switch {
		case en.Kind.Class() == recourse.ClassPartial:
			text = "keep what succeeded, and decide about each failed item by its own error"
		case en.Kind.Class() == recourse.ClassSystem:
			text = "report it to whoever runs the server"
		case en.Kind.Class() == recourse.ClassData:
			text = "ask for something else, or add what is missing"
		default:
			text = adviceOf[en.Kind.Retry()]
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; or ")
}

var adviceOf = map[recourse.Retry]string{
	recourse.RetrySameCall:  "check the request; repeat it only where the failure says so",
	recourse.RetryReRead:    "read the present state, then decide again",
	recourse.RetryAfterFix:  "change the arguments, then call again",
	recourse.RetryAfterAuth: "somebody signs in or grants access, then call again",
	recourse.RetryNever:     "do not repeat the call",
}

// byTool writes a table of what the contract says of tools: of each, the cells of its rows behind its name.
func byTool[T any](p *pageWriter, heading, intro string, head []string, said map[string]T, rowsOf func(T) [][]string) {
	if len(said) == 0 {
		return
	}
	p.heading(heading)
	p.linef("%s", intro)
	rows := [][]string{append([]string{"Tool"}, head...)}
	for _, tool := range slices.Sorted(maps.Keys(said)) {
		for _, cells := range rowsOf(said[tool]) {
			rows = append(rows, append([]string{code(tool)}, cells...))
		}
	}
	p.table(rows...)
}

// verify lists the calls that settle whether a write took effect.
func (p *pageWriter) verify() {
	head, decides := []string{"Call", "Look at"}, false
	for _, rule := range p.form.Verify {
		decides = decides || rule.Landed != nil
	}
	if decides {
		head = append(head, "It has landed if")
	}
	const intro = "A write that was not answered may have been done. These calls find out:"
	byTool(p, "Before a write is repeated", intro, head, p.form.Verify, func(rule contractform.VerifyCall) [][]string {
		args := make([]string, len(rule.Args))
		for i, a := range rule.Args {
			args[i] = a.Name + "=" + a.Spelled
			if a.Pointer != "" {
				args[i] = a.Name + "=<" + a.Pointer + ">"
			}
		}
		cells := []string{code(rule.Tool + "(" + strings.Join(args, ", ") + ")"), rule.LookAt, landed(rule.Landed)}
		return [][]string{cells[:len(head)]}
	})
}

// landed says what the answer looks like if the write has landed.
func landed(l *contractform.Landed) string {
	if l == nil {
		return ""
	}
	value := string(l.Value)
	if l.Pointer != "" {
		value = "<" + l.Pointer + ">"
	}
	switch {
	case l.Exists != nil && *l.Exists:
		return code(l.Path) + " exists"
	case l.Exists != nil:
		return code(l.Path) + " does not exist"
	case l.Contains:
		return code(l.Path) + " contains " + code(value)
	default:
		return code(l.Path) + " is " + code(value)
	}
}

// subjects lists what a failure is about that does not say so.
func (p *pageWriter) subjects() {
	if len(p.form.ResourcesByArgument) == 0 {
		return
	}
	p.heading("What a failure is about")
	p.linef("If a failure does not say what does not exist, it is the thing that its sentence names, or else the only one that the "+
		"call names: %s.", pairs(p.form.ResourcesByArgument))
	if len(p.form.ResourcesByTool) > 0 {
		p.linef("If it does not say what there are too many of, it is what the tool makes: %s.", pairs(p.form.ResourcesByTool))
	}
}

// pairs writes a map as a list, sorted.
func pairs(m map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		article := " is a "
		if strings.IndexAny(m[name], "aeio") == 0 { // a user, an organization
			article = " is an "
		}
		list = append(list, code(name)+article+m[name])
	}
	return strings.Join(list, ", ")
}

// batch lists the tools that take many items at once.
func (p *pageWriter) batch() {
	const intro = "If some items fail, only the failed items that may succeed later are tried again. The argument that lists the items:"
	byTool(p, "Many items at once", intro, []string{"Argument"}, p.form.Batch, func(argument string) [][]string {
		return [][]string{{code(argument)}}
	})
}

// expects lists what a success of a tool looks like.
func (p *pageWriter) expects() {
	const intro = "An answer that says success and does not look like one is a failure. Whether a write took effect is then unknown."
	head := []string{"Expected of its answer"}
	byTool(p, "What a success looks like", intro, head, p.form.Expects, func(list []contractform.Expectation) (rows [][]string) {
		for _, x := range list {
			said := code(x.Path) + " exists"
			switch {
			case x.NotEmptyFor != "":
				said = code(x.Path) + " has items if the call names " + code(x.NotEmptyFor)
			case x.Equals != "":
				said = code(x.Path) + " is " + code("<"+x.Equals+">")
			}
			rows = append(rows, []string{said})
		}
		return rows
	})
}

// once lists the arguments by which a repetition is known.
func (p *pageWriter) once() {
	const intro = "Where a server's entry says `once: contract`, calls of a caller whose arguments here are the same are one call:"
	byTool(p, "Calls that are made once", intro, []string{"Arguments"}, p.form.Once, func(arguments []string) [][]string {
		return [][]string{{code(strings.Join(arguments, ", "))}}
	})
}

// upstream documents which code an answer becomes that comes from a system that the server calls.
func (p *pageWriter) upstream() {
	p.heading("Answers of the other side")
	p.linef("When a service that the server itself calls does not answer, or answers with an HTTP error:")
	var order []*contractform.Code
	answers := map[*contractform.Code][]string{}
	add := func(answer string, e *recourse.Error) {
		en := p.chosen(e)
		if answers[en] == nil {
			order = append(order, en)
		}
		answers[en] = append(answers[en], answer)
	}
	const provider = "the provider"
	add("no connection", recourse.Unreachable(provider).WithOrigin(recourse.OriginProvider))
	add("no answer in time", recourse.Timeout(provider, 0).WithOrigin(recourse.OriginProvider))
	for _, oauth := range []struct {
		status int
		code   string
	}{{401, "invalid_token"}, {401, "invalid_grant"}, {403, "insufficient_scope"}} {
		header := http.Header{"Www-Authenticate": {`Bearer error="` + oauth.code + `"`}}
		e := recourse.FromHTTP(provider, &http.Response{StatusCode: oauth.status, Header: header})
		add(fmt.Sprintf("%d with %s", oauth.status, oauth.code), e)
	}
	others := map[int]*contractform.Code{4: p.chosen(recourse.FromStatus(provider, 499)), 5: p.chosen(recourse.FromStatus(provider, 599))}
	for status := 400; status < 600; status++ {
		e := recourse.FromStatus(provider, status)
		if en := p.chosen(e); http.StatusText(status) == "" || en == others[status/100] {
			continue
		}
		add(strconv.Itoa(status), e)
		if status == http.StatusNotFound {
			for _, typ := range p.resources() {
				add("404, of a known "+typ, e.WithResource(typ, "xyz"))
			}
		}
	}
	for class, status := range []int{4: 499, 5: 599} {
		if status != 0 {
			add(fmt.Sprintf("any other %dxx", class), recourse.FromStatus(provider, status))
		}
	}
	rows := [][]string{{"Answer", headCode, "Retryable"}}
	for _, en := range order {
		rows = append(rows, []string{strings.Join(answers[en], ", "), code(en.Code), retryText(en)})
	}
	p.table(rows...)
	p.upstreamBody()
	for _, en := range p.form.Codes {
		if en.Wait > 0 {
			p.linef("If %s states no wait, it is %s.", code(en.Code), recourse.FormatWait(en.Wait))
		}
	}
}

// upstreamBody documents what is read from the body of such an answer.
func (p *pageWriter) upstreamBody() {
	if p.form.Upstream == nil {
		return
	}
	p.linef("If the body is JSON, these members count. A listed code takes precedence over the status; for any other code, the " +
		"status decides whether to repeat.")
	p.table(append([][]string{{"Member of the body", "What it is"}}, memberRows(p.form.Upstream, "")...)...)
}

// memberRows lists the members of sh and the paths that they are read into.
func memberRows(sh *contractform.Shape, below string) [][]string {
	var rows [][]string
	for _, m := range sh.Members {
		name := below + m.Name
		switch {
		case m.List != nil:
			rows = append(rows, []string{code(name), code(m.List.Src)})
		case m.Nested != nil:
			rows = append(rows, memberRows(m.Nested, name+".")...)
		case m.Path != nil:
			rows = append(rows, []string{code(name), code(m.Path.Src)})
		default:
		}
	}
	if sh.Rest != "" {
		rows = append(rows, []string{"all others in " + code(strings.TrimSuffix(below, ".")), code(sh.Rest)})
	}
	return rows
}

// resources returns the types of resources that have their own codes.
func (p *pageWriter) resources() []string {
	var types []string
	for _, en := range p.form.Codes {
		for _, sel := range en.Selectors {
			for _, cond := range sel {
				if cond.On == contractform.OnResource {
					types = append(types, cond.Values...)
				}
			}
		}
	}
	return types
}

// eitherOf writes words as alternatives.
func eitherOf(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = code(word)
	}
	return strings.Join(list, " or ")
}
