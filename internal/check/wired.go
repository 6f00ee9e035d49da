package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/check/provider"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// providerSeen is what was seen of one tool while its provider failed.
type providerSeen struct {
	tool   *listedTool
	writes bool
	faults []faultSeen
}

// faultSeen is one failure of the provider, and what the server made of it.
type faultSeen struct {
	fault *provider.Fault
	at    *exchange
	mark  string             // in the arguments
	sent  []provider.Request // that the provider got
}

// probeProvider is a call while the provider fails.
const probeProvider probe = "the calls of --writes, while the provider fails"

// wired makes each call that the user has named while the provider fails in each way.
func (r *runner) wired(s step) {
	for i := range r.options.Writes {
		w := &r.options.Writes[i]
		if w.Slow {
			continue
		}
		r.wire(s, w.Tool, w.Args, !w.Reads)
	}
	r.options.Provider.Set(nil)
}

// wire makes one call.
func (r *runner) wire(s step, name string, arguments json.Value, writes bool) {
	at := slices.IndexFunc(r.t.tools, func(t *listedTool) bool { return t.Name == name })
	if at < 0 {
		return
	}
	seen := &providerSeen{tool: r.t.tools[at], writes: writes}
	r.t.provider = append(r.t.provider, seen)
	for i := range provider.Faults {
		if r.conn == nil || r.t.stopped != "" {
			return
		}
		fault := &provider.Faults[i]
		r.marks++
		r.options.Provider.Set(fault)
		s.tool, s.args = seen.tool, marked(arguments, r.mark())
		x := r.ask(starting*r.options.Timeout, s, r.callOf(s.tool, s.args)) // a minute is what clients have patience for
		sent := r.options.Provider.Set(nil)
		if len(sent) == 0 { // it has not asked its provider
			continue
		}
		stopped := r.t.stopped
		r.file(x)
		r.t.stopped = stopped // the wait is the provider's, which is ours
		seen.faults = append(seen.faults, faultSeen{fault, x, r.mark(), sent})
		if x.answer.Err != nil && !x.died { // what it is stuck in is no matter of the steps that follow
			r.anew()
		}
	}
}

// The rules about what a server makes of its provider's failures.

func providerTold(t *transcript, v *verdict) {
	for _, seen := range t.provider {
		for _, f := range seen.faults {
			if f.at.answer.Text == nil || !f.at.said.failed && f.shown(seen.tool) {
				continue
			}
			broken := !f.at.said.failed
			v.of(seen.tool, f.at, when(broken, "The provider answered %s, and the tool: %s", f.fault.Name, quoted(f.at.said.text)))
		}
	}
}

// shown reports whether the tool's business is to show what it was answered: a page or, if it is an HTTP client, any status.
func (f *faultSeen) shown(t *listedTool) bool {
	if f.fault.Shows != "" && strings.Contains(f.at.said.text, f.fault.Shows) {
		return true
	}
	client := slices.ContainsFunc(t.params, func(p param) bool {
		return strings.EqualFold(p.name, "method") && strings.Contains(string(p.schema), "GET")
	})
	return client && f.fault.Status != 0 && mentions(f.at.said.text, strconv.Itoa(f.fault.Status))
}

func providerApart(t *transcript, v *verdict) {
	for _, seen := range t.provider {
		first := map[string]string{}
		for _, f := range seen.faults {
			if f.fault.Status < 400 || f.at.answer.Text == nil || !f.at.said.failed {
				continue
			}
			said, text := "", strings.ReplaceAll(f.at.said.text, f.mark, mark)
			if before, again := first[text]; again {
				said = fmt.Sprintf("%s and %s of the provider both read %s", before, f.fault.Name, quoted(f.at.said.text))
			} else {
				first[text] = f.fault.Name
			}
			v.of(seen.tool, f.at, said)
		}
	}
}

func providerWait(t *transcript, v *verdict) {
	for _, seen := range t.provider {
		for _, f := range seen.faults {
			if f.fault.Status != 429 || !f.at.said.failed {
				continue
			}
			said := ""
			if !strings.Contains(f.at.said.text, provider.Wait) {
				said = "The provider asked to wait " + provider.Wait + " s; the text does not say so: " + quoted(f.at.said.text)
			}
			v.of(seen.tool, f.at, said)
		}
	}
}

func providerAnswers(t *transcript, v *verdict) {
	for _, seen := range t.provider {
		for _, f := range seen.faults {
			if !f.fault.Hang {
				continue
			}
			broken := f.at.answer.Text == nil
			v.of(seen.tool, f.at, when(broken, "While the provider did not answer, the tool did not either: %s", f.at.why()))
		}
	}
}

func providerOnce(t *transcript, v *verdict) {
	for _, seen := range t.provider {
		for _, f := range seen.faults {
			if !seen.writes || f.fault.Status >= 400 && f.fault.Status != 503 { // a refusal has done nothing
				continue
			}
			said := ""
			if n := mostly(f.sent); n > 1 {
				said = fmt.Sprintf("The provider answered with %s, and the tool sent its write %d times.", f.fault.Name, n)
			}
			v.of(seen.tool, f.at, said)
		}
	}
}

// mostly returns how often the write was made that was made most often.
func mostly(requests []provider.Request) (most int) {
	made := map[provider.Request]int{}
	for i := range requests {
		if r := requests[i]; r.Writes() {
			made[r]++
			most = max(most, made[r])
		}
	}
	return most
}
