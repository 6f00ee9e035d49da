package studies

import (
	"context"
	"net/http"

	"github.com/recoursehq/recourse"
)

type workspaceID struct {
	WorkspaceID string `json:"workspace_id" jsonschema:"such as w-1"`
}

type getWorkspaceArgs struct {
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"such as w-1; without it all workspaces are listed"`
}

func (s *System) getWorkspace(ctx context.Context, in getWorkspaceArgs) (object, error) {
	return s.fetch(ctx, "workspace", "/workspaces", in.WorkspaceID, "")
}

type createWorkspaceArgs struct {
	Name string `json:"name"`
}

func (s *System) createWorkspace(ctx context.Context, in createWorkspaceArgs) (object, error) {
	return s.api.do(ctx, http.MethodPost, "/workspaces", "workspace", in)
}

func (s *System) deleteWorkspace(ctx context.Context, in workspaceID) (object, error) {
	return s.one(ctx, http.MethodDelete, "workspace", "/workspaces", in.WorkspaceID)
}

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
	Age         int    `json:"age,omitempty"`
}

func (s *System) createPerson(ctx context.Context, in createPersonArgs) (_ object, err error) {
	const maxAge = 120
	if in.Age < 0 || in.Age > maxAge {
		return nil, recourse.InvalidValue("age", "a number from 0 to 120", in.Age).WithMessage("age must be between 0 and %d.", maxAge)
	}
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/people", "person", in)
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

// attachPerson returns its failures: an agent that attaches many people goes on.
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

type getAskArgs struct {
	AskID       string `json:"ask_id,omitempty"       jsonschema:"such as a-1"`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"lists the asks of a workspace"`
}

func (s *System) getAsk(ctx context.Context, in getAskArgs) (object, error) {
	return s.fetch(ctx, "ask", "/asks", in.AskID, in.WorkspaceID)
}

type createAskArgs struct {
	WorkspaceID string   `json:"workspace_id"`
	Question    string   `json:"question"`
	PersonIDs   []string `json:"person_ids"   jsonschema:"who is asked, at most 20"`
}

func (s *System) createAsk(ctx context.Context, in createAskArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	if in.PersonIDs, err = s.panel(in.PersonIDs); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/asks", "ask", in)
}

// maxParticipants is how many people can be asked at once.
const maxParticipants = 20

// panel resolves the people who are to be asked.
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
		ids = append(ids, id)
	}
	return ids, nil
}

type chatbotArgs struct {
	WorkspaceID string `json:"workspace_id"`
	URL         string `json:"url"          jsonschema:"the address that takes the chatbot's messages"`
}

// setUpChatbot returns its failures: a chatbot that cannot be set up is no reason to
// end an agent's loop.
func (s *System) setUpChatbot(ctx context.Context, in chatbotArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/chatbots", "chatbot", in)
	if err != nil {
		return nil, err
	}
	out["ok"] = true
	return out, nil
}
