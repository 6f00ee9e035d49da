package studies

import (
	"context"
	"net/http"
	"slices"

	"github.com/recoursehq/recourse"
)

type getPersonArgs struct {
	PersonID    string `json:"person_id,omitempty"    jsonschema:"such as tp-1"`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"lists the people of a workspace"`
}

func (s *System) getPerson(ctx context.Context, in getPersonArgs) (object, error) {
	return s.fetch(ctx, "person", "/people", in.PersonID, in.WorkspaceID)
}

type createPersonArgs struct {
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name"`
	Country     string `json:"country"       jsonschema:"two letters, such as PT"`
	Age         *int   `json:"age,omitempty"`
}

func checkAge(age *int) error {
	const most = 120
	if age != nil && (*age < 0 || *age > most) {
		return recourse.InvalidValue("age", "a number from 0 to 120", *age).WithMessage("age must be between 0 and %d.", most)
	}
	return nil
}

func (s *System) createPerson(ctx context.Context, in createPersonArgs) (_ object, err error) {
	if err := checkAge(in.Age); err != nil {
		return nil, err
	}
	if in.WorkspaceID, err = s.aliases.resolve(paramWorkspace, "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/people", "person", in)
}

type generateArgs struct {
	WorkspaceID string `json:"workspace_id"`
	Brief       string `json:"brief"           jsonschema:"who they are to be, such as parents of small children"`
	Country     string `json:"country"         jsonschema:"two letters, such as PT"`
	Count       *int   `json:"count,omitempty" jsonschema:"how many, at most 20; 5 unless said otherwise"`
}

func (s *System) generatePeople(ctx context.Context, in generateArgs) (object, error) {
	if err := checkCount(in.Count); err != nil {
		return nil, err
	}
	workspace, err := s.aliases.resolve(paramWorkspace, "workspace", in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/people/generated", "person",
		object{paramWorkspace: workspace, "brief": in.Brief, "country": in.Country, "count": countOf(in.Count)})
}

type updatePersonArgs struct {
	PersonID string `json:"person_id"`
	Name     string `json:"name,omitempty"`
	Country  string `json:"country,omitempty"`
	Age      *int   `json:"age,omitempty"`
}

func (s *System) updatePerson(ctx context.Context, in updatePersonArgs) (object, error) {
	if in.Name == "" && in.Country == "" && in.Age == nil {
		return nil, recourse.Missing("name").WithMessage("name, country or age is required.")
	}
	if err := checkAge(in.Age); err != nil {
		return nil, err
	}
	id, err := s.aliases.resolve("person_id", "person", in.PersonID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPatch, "/people/"+id, "person", object{"name": in.Name, "country": in.Country, "age": in.Age})
}

type personID struct {
	PersonID string `json:"person_id" jsonschema:"such as tp-1"`
}

func (s *System) deletePerson(ctx context.Context, in personID) (object, error) {
	return s.one(ctx, http.MethodDelete, "person", "/people", in.PersonID)
}

type attachPersonArgs struct {
	IterationID string `json:"iteration_id" jsonschema:"such as i-1"`
	PersonID    string `json:"person_id"    jsonschema:"such as tp-1"`
}

// attachPerson returns its failures: an agent that attaches many people can continue.
func (s *System) attachPerson(ctx context.Context, in attachPersonArgs) (object, error) {
	iteration, err := s.aliases.resolve("iteration_id", "iteration", in.IterationID)
	if err != nil {
		return nil, err
	}
	person, err := s.aliases.resolve("person_id", "person", in.PersonID)
	if err != nil {
		return nil, err
	}
	if _, err := s.api.do(ctx, http.MethodPost, "/iterations/"+iteration+"/people", "iteration", object{"person_id": person}); err != nil {
		return nil, err
	}
	return object{"ok": true, "iteration_id": s.aliases.of("iteration", iteration), "person_id": s.aliases.of("person", person)}, nil
}

// maxParticipants is how many people can be asked at once.
const maxParticipants = 20

// panel resolves the people to be asked.
func (s *System) panel(people []string) ([]string, error) {
	if len(people) > maxParticipants {
		return nil, recourse.InvalidValue("person_ids", "at most 20 people", nil).
			WithMessage("person_ids names %d people: at most %d can be asked at once.", len(people), maxParticipants)
	}
	ids := make([]string, 0, len(people))
	for _, p := range people {
		id, err := s.aliases.resolve("person_ids", "person", p)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) { // who is named twice is asked, and paid for, once
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// usualCount is the default number of people.
const usualCount = 5

func checkCount(count *int) error {
	if count != nil && (*count < 1 || *count > maxParticipants) {
		return recourse.InvalidValue("count", "a number from 1 to 20", *count).
			WithMessage("count must be between 1 and %d.", maxParticipants)
	}
	return nil
}

func countOf(count *int) int {
	if count == nil {
		return usualCount
	}
	return *count
}
