package studies

import (
	"net/http"
	"slices"
)

// deleted is the answer to a DELETE.
type deleted struct {
	Deleted bool `json:"deleted"`
}

func (b *backend) listWorkspaces(*http.Request) (any, error) {
	found := list[*workspace]{Items: []*workspace{}}
	for _, w := range b.workspaces {
		if w.owner == owner {
			found.Items = append(found.Items, w)
		}
	}
	return found, nil
}

func (b *backend) createWorkspace(r *http.Request) (any, error) {
	in, err := read[workspace](r)
	if err != nil {
		return nil, err
	}
	owned := slices.DeleteFunc(slices.Clone(b.workspaces), func(w *workspace) bool { return w.owner != owner })
	if len(owned) >= maxWorkspaces {
		return nil, full("workspaces", maxWorkspaces)
	}
	return b.addWorkspace(owner, in.Name, planFree, 10, 0), nil
}

func (b *backend) getWorkspace(r *http.Request) (any, error) { return b.workspace(r.PathValue("id")) }

func (b *backend) deleteWorkspace(r *http.Request) (any, error) {
	w, err := b.workspace(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.workspaces = slices.DeleteFunc(b.workspaces, func(other *workspace) bool { return other == w })
	return deleted{true}, nil
}

func (b *backend) listPeople(r *http.Request) (any, error) {
	return ofWorkspace(b, r, b.people, func(p *person) string { return p.WorkspaceID })
}

func (b *backend) createPerson(r *http.Request) (any, error) {
	in, err := read[person](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, p := range b.people {
		if p.WorkspaceID == w.ID {
			n++
		}
	}
	if w.Plan == planFree && n >= maxPeople {
		return nil, full("people a workspace", maxPeople)
	}
	return b.addPerson(w, in.Name, in.Country, in.Age), nil
}

func (b *backend) getPerson(r *http.Request) (any, error) { return b.person(r.PathValue("id")) }

func (b *backend) deletePerson(r *http.Request) (any, error) {
	p, err := b.person(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.people = slices.DeleteFunc(b.people, func(other *person) bool { return other == p })
	return deleted{true}, nil
}

func (b *backend) attachPerson(r *http.Request) (any, error) {
	in, err := read[participant](r)
	if err != nil {
		return nil, err
	}
	i, err := b.iteration(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p, err := b.person(in.PersonID)
	if err != nil {
		return nil, err
	}
	if slices.Contains(i.PersonIDs, p.ID) {
		return nil, refuse(http.StatusConflict, "already_attached", "%s is attached to this iteration already.", p.Name)
	}
	i.PersonIDs = append(i.PersonIDs, p.ID)
	return i, nil
}

func (b *backend) listAsks(r *http.Request) (any, error) {
	return ofWorkspace(b, r, b.asks, func(a *ask) string { return a.WorkspaceID })
}

func (b *backend) createAsk(r *http.Request) (any, error) {
	in, err := read[ask](r)
	if err != nil {
		return nil, err
	}
	if _, err := b.workspace(in.WorkspaceID); err != nil {
		return nil, err
	}
	a := &ask{Type: "ask", ID: b.newID(), WorkspaceID: in.WorkspaceID, Question: in.Question, PersonIDs: in.PersonIDs}
	for _, id := range in.PersonIDs {
		p, err := b.person(id)
		if err != nil {
			return nil, err
		}
		a.Answers = append(a.Answers, p.answer(in.Question))
	}
	b.asks = append(b.asks, a)
	return a, nil
}

func (b *backend) getAsk(r *http.Request) (any, error) {
	a, ok := find(b.asks, r.PathValue("id"), func(a *ask) string { return a.ID })
	if !ok {
		return nil, notFound("ask")
	}
	_, err := b.workspace(a.WorkspaceID)
	return a, err
}

// answer returns what a person says.
func (p *person) answer(question string) string {
	if p.declines {
		return ""
	}
	return p.Name + " from " + p.Country + ": as for “" + question + "”, it depends on the price."
}
