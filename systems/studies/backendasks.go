package studies

import (
	"net/http"
	"slices"
)

type asking struct {
	Type        string   `json:"type"`
	ID          string   `json:"id"`
	WorkspaceID string   `json:"workspace_id"`
	Question    string   `json:"question"`
	PersonIDs   []string `json:"person_ids"`
	Answers     []string `json:"answers"`
	Status      string   `json:"runtime_status"`

	waiting []turn // their answers are still to come
}

// A turn is a person whose answer to a question is still to come.
type turn struct{ question, personID string }

func (b *backend) ask(id string) (*asking, error) {
	a, ok := find(b.asks, id, func(a *asking) string { return a.ID })
	if !ok {
		return nil, notFound("ask")
	}
	_, err := b.workspace(a.WorkspaceID)
	return a, err
}

func (b *backend) listAsks(r *http.Request) (any, error) {
	return ofWorkspace(b, r, b.asks, func(a *asking) string { return a.WorkspaceID })
}

func (b *backend) createAsk(r *http.Request) (any, error) {
	in, err := read[asking](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	a := &asking{Type: "ask", ID: b.newID(), WorkspaceID: w.ID, Question: in.Question, Answers: []string{}, Status: statusIdle}
	if err := b.invite(a, in.PersonIDs, in.Question); err != nil {
		return nil, err
	}
	b.asks = append(b.asks, a)
	return a, nil
}

// askAgain asks people of an ask more questions, or asks more people its existing ones.
func (b *backend) askAgain(r *http.Request) (any, error) {
	in, err := read[struct {
		Questions []string `json:"questions"`
		PersonIDs []string `json:"person_ids"`
	}](r)
	if err != nil {
		return nil, err
	}
	a, err := b.ask(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	people := in.PersonIDs
	switch {
	case len(people) == 0:
		people = a.PersonIDs
	case len(in.Questions) == 0: // whoever is asked already is not asked the same again
		people = slices.DeleteFunc(slices.Clone(people), func(id string) bool { return slices.Contains(a.PersonIDs, id) })
	}
	if len(in.Questions) == 0 {
		in.Questions = []string{a.Question}
	}
	return a, b.invite(a, people, in.Questions...)
}

// invite makes people answer questions, one after the other.
func (b *backend) invite(a *asking, people []string, questions ...string) error {
	w, err := b.workspace(a.WorkspaceID)
	if err != nil {
		return err
	}
	for _, id := range people {
		if p, err := b.person(id); err != nil {
			return err
		} else if p.WorkspaceID != w.ID {
			return notFound("person")
		}
	}
	if err := b.afford(w, len(people)*len(questions)); err != nil {
		return err
	}
	for _, question := range questions {
		for _, id := range people {
			a.waiting = append(a.waiting, turn{question, id})
			if !slices.Contains(a.PersonIDs, id) {
				a.PersonIDs = append(a.PersonIDs, id)
			}
		}
	}
	a.Status = statusQueued
	return nil
}

// getAsk returns an ask. Each read brings the next answer.
func (b *backend) getAsk(r *http.Request) (any, error) {
	a, err := b.ask(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	switch {
	case len(a.waiting) > 0:
		next := a.waiting[0]
		a.waiting, a.Status = a.waiting[1:], statusRunning
		b.hear(a, next)
	case a.Status != statusIdle:
		a.Status = statusCompleted
	}
	return a, nil
}

// hear adds the answer of a person who is there, does not decline, and is paid for.
func (b *backend) hear(a *asking, next turn) {
	p, err := b.person(next.personID)
	if err != nil || p.declines {
		return
	}
	if w, err := b.workspace(a.WorkspaceID); err == nil && w.Credits.spend() {
		a.Answers = append(a.Answers, p.answer(next.question))
	}
}

func (b *backend) deleteAsk(r *http.Request) (any, error) {
	a, err := b.ask(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.asks = slices.DeleteFunc(b.asks, func(other *asking) bool { return other == a })
	return deleted{true}, nil
}

// answer returns a person's answer.
func (p *person) answer(question string) string {
	if p.declines {
		return ""
	}
	return p.Name + " from " + p.Country + ": as for “" + question + "”, it depends on the price."
}
