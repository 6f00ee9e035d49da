package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
)

// recovery tells what a client does: the tree of decisions, and the waits.
func (p *page) recovery() {
	p.heading("Recovery")
	var b strings.Builder
	b.WriteString("Is it retryable?\n├── yes: wait, then make the same call again\n")
	if p.c.Retry.Retries > 0 {
		fmt.Fprintf(&b, "│        still failing after %d more calls: stop, and report the failure\n", p.c.Retry.Retries)
	}
	b.WriteString("└── no: look at the group of its code\n")
	groups, byGroup := p.groups(func(en *entry) bool { return p.retryableMode(en) != always })
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
}

// poll tells how a call waits for work that takes long.
func (p *page) poll() {
	rule := p.c.Poll
	if rule == (PollRule{}) {
		return
	}
	p.heading("Work that takes long")
	p.linef("A tool that starts it takes %s (false where it is left out) and %s, in seconds. Without %s its answer names in %s "+
		"the call that asks again. With it, the call returns when the work has ended or %s has passed; until then these codes do "+
		"not end the wait, and any other does:", code(rule.Wait), code(rule.Timeout), code(rule.Wait), code(rule.Next), code(rule.Timeout))
	var absorbed []string
	for _, en := range p.c.codes {
		switch p.retryableMode(en) {
		case always:
			absorbed = append(absorbed, code(en.code))
		case byStatus:
			absorbed = append(absorbed, code(en.code)+" (after "+strings.Join(en.retry.status, ", ")+")")
		case byRecord, never, stated:
		}
	}
	p.list(strings.Join(absorbed, ", "))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func (p *page) waitNote() string {
	start := recourse.FormatWait(p.c.Retry.Start)
	stated := p.waitMember()
	if stated == start {
		return "A wait that the failure states is a minimum."
	}
	return fmt.Sprintf("%s is a minimum. Where it is missing, start with %s.", code(stated), start)
}

// retryableMode returns how an entry decides, with what follows from its kind.
func (p *page) retryableMode(en *entry) retryMode {
	if en.retry.mode != byRecord {
		return en.retry.mode
	}
	if en.kind.Retry() == recourse.RetrySameCall {
		return always
	}
	return never
}

func (p *page) groupName(group string) string {
	if group == "" {
		return "any"
	}
	return group
}

// advice says what the kinds of a group call for.
func advice(list []*entry) string {
	var texts []string
	for _, en := range list {
		var text string
		switch {
		case en.kind.Class() == recourse.ClassPartial:
			text = "keep what succeeded, and decide about each failed item by its own error"
		case en.kind.Class() == recourse.ClassSystem:
			text = "report it to whoever runs the server"
		case en.kind.Class() == recourse.ClassData:
			text = "ask for something else, or add what is missing"
		default:
			text = adviceOf[en.kind.Retry()]
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

// verify lists the calls that settle whether a write took effect.
func (p *page) verify() {
	if len(p.c.verify) == 0 {
		return
	}
	p.heading("Before a write is repeated")
	p.linef("A write that was not answered may have been done. These calls tell:")
	tools := make([]string, 0, len(p.c.verify))
	for tool := range p.c.verify {
		tools = append(tools, tool)
	}
	slices.Sort(tools)
	rows := [][]string{{"Tool", "Call", "Look at"}}
	for _, tool := range tools {
		rule := p.c.verify[tool]
		args := make([]string, len(rule.args))
		for i, a := range rule.args {
			args[i] = a.name + "=" + p.c.literal(a.value)
			if a.pointer != "" {
				args[i] = a.name + "=<" + a.pointer + ">"
			}
		}
		rows = append(rows, []string{code(tool), code(rule.call + "(" + strings.Join(args, ", ") + ")"), rule.lookAt})
	}
	p.table(rows...)
}

// upstream tells which code an answer of what the server itself calls becomes.
func (p *page) upstream() {
	p.heading("What the other side answered")
	p.linef("When what the server itself calls does not answer, or answers with an HTTP error:")
	var order []*entry
	answers := map[*entry][]string{}
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
	others := map[int]*entry{4: p.chosen(recourse.FromStatus(provider, 499)), 5: p.chosen(recourse.FromStatus(provider, 599))}
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
		rows = append(rows, []string{strings.Join(answers[en], ", "), code(en.code), retryText(en)})
	}
	p.table(rows...)
	p.upstreamBody()
	for _, en := range p.c.codes {
		if en.wait > 0 {
			p.linef("Where %s states no wait, it is %s.", code(en.code), recourse.FormatWait(en.wait))
		}
	}
}

// upstreamBody tells what is taken from the body of such an answer.
func (p *page) upstreamBody() {
	if p.c.upstream == nil {
		return
	}
	p.linef("Where the body is JSON, these members count. A word that is one of the codes goes before the status; of any other word the " +
		"status decides whether to repeat.")
	p.table(append([][]string{{"Member of the body", "What it is"}}, p.c.upstream.rows("")...)...)
}

// rows lists the members of sh and the paths that they are read into.
func (sh *shape) rows(below string) [][]string {
	var rows [][]string
	for _, m := range sh.members {
		name := below + m.name
		switch {
		case m.list != nil:
			rows = append(rows, []string{code(name), code(m.list.src)})
		case m.nested != nil:
			rows = append(rows, m.nested.rows(name+".")...)
		case m.path != nil:
			rows = append(rows, []string{code(name), code(m.path.src)})
		default:
		}
	}
	if sh.rest != nil {
		rows = append(rows, []string{"all others in " + code(strings.TrimSuffix(below, ".")), code(sh.rest.src)})
	}
	return rows
}

// resources returns the types of resources that have codes of their own.
func (p *page) resources() []string {
	var types []string
	for _, en := range p.c.codes {
		for _, sel := range en.selectors {
			for _, cond := range sel {
				if cond.on == onResource {
					types = append(types, cond.values...)
				}
			}
		}
	}
	return types
}
