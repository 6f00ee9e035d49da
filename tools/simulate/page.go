package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageName is the name of the page.
const pageName = "simulation.md"

// files returns the page about the simulation and its figures, by name.
func (r *result) files() (map[string][]byte, error) {
	var page bytes.Buffer
	err := pageTemplate.Execute(&page, map[string]any{
		"Tasks": r.options.tasks, "Seed": r.options.seed, "Agents": agentList(), "Worlds": r.worldTables(),
		"Believed": r.harm(agents[0]), "Expected": r.harm(expecting),
		"Recovered": r.recoveredTable(), "Goal": r.goalTable(), "Once": r.onceTable(), "Rates": r.ratesTable(), "Sweep": r.sweepTable(),
	})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		pageName:                    page.Bytes(),
		"simulation-recovered.svg":  r.recoveredFigure(),
		"simulation-duplicates.svg": r.duplicatesFigure(),
	}, nil
}

// harm returns what an agent does wrong where failures look like successes, behind the gateway.
func (r *result) harm(a agent) map[string]int {
	s := r.tallies[orderKey{worldSilent, a.name, true, false}]
	return map[string]int{"duplicates": s.duplicates, "wrong": s.wrong}
}

func agentList() string {
	var b strings.Builder
	for _, a := range slices.Concat(agents, []agent{expecting}) {
		fmt.Fprintf(&b, "- **%s** %s.\n", a.name, a.doc)
	}
	return b.String()
}

// A markdownTable is a table as Markdown writes it.
type markdownTable struct{ strings.Builder }

func newTable(heads ...string) *markdownTable {
	t := new(markdownTable)
	t.row(heads...)
	t.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
	return t
}

func (t *markdownTable) row(cells ...string) {
	t.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// worldTables returns a section for each world.
func (r *result) worldTables() string {
	var b strings.Builder
	for _, w := range r.worlds {
		t := newTable("agent", "gateway", "success", "safe success", "duplicates", "wrong claims", "attempts a call", "needless waits",
			"seconds", "explicit, passing", "explicit, lasting", "silent, passing", "silent, lasting")
		for _, gateway := range []bool{false, true} {
			for _, a := range agentsIn(w) {
				s := r.tallies[orderKey{w.Name, a.name, gateway, false}]
				t.row(append([]string{
					a.name, yesNo(gateway), share{s.success, s.tasks}.String(), share{s.safe, s.tasks}.String(),
					strconv.Itoa(s.duplicates), strconv.Itoa(s.wrong), ratio(s.attempts, s.tasks),
					seconds(s.needless, s.tasks), seconds(s.took, s.tasks),
				}, s.quadrants()...)...)
			}
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n%s\n", w.Title, strings.TrimSpace(w.Doc), t)
	}
	return strings.TrimSpace(b.String())
}

func (sum *tally) quadrants() []string {
	cells := make([]string, len(sum.met))
	for i, s := range sum.met {
		cells[i] = s.ofAll()
	}
	return cells
}

// over adds up an agent's tallies in all worlds.
func (r *result) over(agent string, gateway bool) *tally {
	var sum tally
	for _, w := range r.worlds {
		s := r.tallies[orderKey{w.Name, agent, gateway, false}]
		sum.tasks += s.tasks
		sum.safe += s.safe
		sum.duplicates += s.duplicates
		sum.wrong += s.wrong
		sum.attempts += s.attempts
		for i := range sum.met {
			sum.met[i] = sum.met[i].plus(s.met[i])
		}
	}
	return &sum
}

// recoveredTable compares the agents over all worlds.
func (r *result) recoveredTable() string {
	t := newTable("agent", "gateway", "recovered of what can be", "of it, explicit", "of it, silent", "safe success",
		"duplicates", "wrong claims", "attempts a call")
	for _, gateway := range []bool{false, true} {
		for _, a := range agents {
			s := r.over(a.name, gateway)
			t.row(a.name, yesNo(gateway), s.recovered().ofAll(), s.met[0].ofAll(), s.met[2].ofAll(),
				share{s.safe, s.tasks}.String(), strconv.Itoa(s.duplicates), strconv.Itoa(s.wrong), ratio(s.attempts, s.tasks))
		}
	}
	return strings.TrimSpace(t.String())
}

// recovered returns which part of the tasks with a passing fault was recovered.
func (sum *tally) recovered() share { return sum.met[0].plus(sum.met[2]) }

// goalTable shows the results of the agent that obeys, by world.
func (r *result) goalTable() string {
	t := newTable("world", "gateway", "recovered of what can be", "duplicates", "attempts a call, of tasks that come in the outage")
	for _, w := range r.worlds {
		for _, gateway := range []bool{false, true} {
			s := r.tallies[orderKey{w.Name, agents[0].name, gateway, false}]
			t.row(w.Title, yesNo(gateway), s.recovered().ofAll(), strconv.Itoa(s.duplicates), ratio(s.inOutage.part, s.inOutage.all))
		}
	}
	return strings.TrimSpace(t.String())
}

// onceTable compares a gateway with `once` with one without it, in the worlds where writes are lost.
func (r *result) onceTable() string {
	t := newTable("agent", "world", "once", "safe success", "duplicates", "wrong claims", "attempts a call", "seconds")
	for _, a := range onceAgents {
		for _, w := range r.worlds {
			if !w.losesWrites() {
				continue
			}
			for _, once := range []bool{false, true} {
				s := r.tallies[orderKey{w.Name, a.name, true, once}]
				t.row(a.name, w.Title, yesNo(once), share{s.safe, s.tasks}.String(), strconv.Itoa(s.duplicates), strconv.Itoa(s.wrong),
					ratio(s.attempts, s.tasks), seconds(s.took, s.tasks))
			}
		}
	}
	return strings.TrimSpace(t.String())
}

// ratesTable shows the results of the agent that obeys in an outage, by how often tasks come.
func (r *result) ratesTable() string {
	t := newTable("a task comes every", "recovered of what can be", "duplicates", "attempts a call, of tasks that come in the outage")
	for i, every := range rates {
		s := r.rates[i]
		t.row(every.String(), s.recovered().ofAll(), strconv.Itoa(s.duplicates), ratio(s.inOutage.part, s.inOutage.all))
	}
	return strings.TrimSpace(t.String())
}

// weights are possible costs of a duplicate or a wrong claim, in tasks done.
var weights = []float64{0, 1, 3, 10, 30}

// sweepTable shows the points of each agent by the weight of harm.
func (r *result) sweepTable() string {
	heads := []string{"agent", "gateway"}
	for _, w := range weights {
		heads = append(heads, fmt.Sprintf("harm x %g", w))
	}
	t := newTable(heads...)
	for _, gateway := range []bool{false, true} {
		for _, a := range agents {
			s := r.over(a.name, gateway)
			cells := []string{a.name, yesNo(gateway)}
			for _, w := range weights {
				cells = append(cells, fmt.Sprintf("%.1f", 100*(float64(s.safe)-w*float64(s.duplicates+s.wrong))/float64(s.tasks)))
			}
			t.row(cells...)
		}
	}
	return strings.TrimSpace(t.String())
}

// none is written if nothing was counted.
const none = "-"

func (s share) String() string {
	if s.all == 0 {
		return none
	}
	return fmt.Sprintf("%.2f %%", 100*float64(s.part)/float64(s.all))
}

func (s share) ofAll() string {
	if s.all == 0 {
		return none
	}
	return fmt.Sprintf("%s of %d", s, s.all)
}

func ratio(part, all int) string {
	if all == 0 {
		return none
	}
	return fmt.Sprintf("%.3f", float64(part)/float64(all))
}

func seconds(d time.Duration, of int) string { return fmt.Sprintf("%.2f s", d.Seconds()/float64(of)) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
