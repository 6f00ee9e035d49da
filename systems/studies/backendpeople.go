package studies

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
)

// deleted is the answer to a DELETE.
type deleted struct {
	Deleted bool `json:"deleted"`
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
	if err := b.roomForPeople(w, 1); err != nil {
		return nil, err
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
	for _, s := range b.studies {
		for _, i := range s.Iterations {
			i.PersonIDs = slices.DeleteFunc(i.PersonIDs, func(id string) bool { return id == p.ID })
		}
	}
	return deleted{true}, nil
}

func (b *backend) updatePerson(r *http.Request) (any, error) {
	in, err := read[person](r)
	if err != nil {
		return nil, err
	}
	p, err := b.person(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p.Name, p.Country = cmp.Or(in.Name, p.Name), cmp.Or(in.Country, p.Country)
	if in.Age != nil {
		p.Age = in.Age
	}
	return p, nil
}

// generatePeople invents people.
func (b *backend) generatePeople(r *http.Request) (any, error) {
	in, err := read[struct {
		WorkspaceID string `json:"workspace_id"`
		Brief       string `json:"brief"`
		Country     string `json:"country"`
		Count       int    `json:"count"`
	}](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	made := listing[*person]{Items: []*person{}}
	if err := b.roomForPeople(w, in.Count); err != nil {
		return nil, err
	}
	for range in.Count {
		p := b.addPerson(w, "", in.Country, nil)
		p.Name = fmt.Sprintf("%s (%d)", in.Brief, len(b.people))
		made.Items = append(made.Items, p)
	}
	return made, nil
}

// roomForPeople refuses n more people if a free plan has no room for them.
func (b *backend) roomForPeople(w *workspace, n int) error {
	for _, p := range b.people {
		if p.WorkspaceID == w.ID {
			n++
		}
	}
	if w.Plan == planFree && n > maxPeople {
		return full("people a workspace", maxPeople)
	}
	return nil
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
