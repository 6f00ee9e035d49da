package studies

import (
	"context"
	"net/http"
)

type getAskArgs struct {
	AskID       string `json:"ask_id,omitempty"       jsonschema:"such as a-1"`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"lists the asks of a workspace"`
}

func (s *System) getAsk(ctx context.Context, in getAskArgs) (object, error) {
	return s.fetch(ctx, "ask", "/asks", in.AskID, in.WorkspaceID)
}

type createAskArgs struct {
	waiting

	WorkspaceID string   `json:"workspace_id"`
	Question    string   `json:"question"`
	PersonIDs   []string `json:"person_ids"   jsonschema:"who is asked, at most 20"`
}

func (s *System) createAsk(ctx context.Context, in createAskArgs) (_ object, err error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.WorkspaceID, err = s.aliases.resolve(paramWorkspace, "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	if in.PersonIDs, err = s.panel(in.PersonIDs); err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/asks", "ask",
		object{paramWorkspace: in.WorkspaceID, "question": in.Question, "person_ids": in.PersonIDs})
	if err != nil {
		return nil, err
	}
	return s.followAsk(ctx, "ask_create", in.waiting, out)
}

// followAsk answers for people who have been asked.
func (s *System) followAsk(ctx context.Context, tool string, w waiting, out object) (object, error) {
	alias, _ := out["id"].(string)
	return s.follow(ctx, w, job{
		tool: tool, begun: "The people were asked.", pending: out,
		verify: verifyBy("ask_get", "the answers", is("ask_id", alias)),
		look: func(ctx context.Context) (object, bool, error) {
			out, err := s.one(ctx, http.MethodGet, "ask", "/asks", alias)
			return out, out["runtime_status"] == statusCompleted, err
		},
	})
}

// again asks the people of an ask, or more people, its questions, or others.
func (s *System) again(ctx context.Context, tool string, w waiting, askID string, more object) (object, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	id, err := s.aliases.resolve("ask_id", "ask", askID)
	if err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/asks/"+id+"/rounds", "ask", more)
	if err != nil {
		return nil, err
	}
	return s.followAsk(ctx, tool, w, out)
}

type runAskArgs struct {
	waiting

	AskID string `json:"ask_id" jsonschema:"such as a-1"`
}

func (s *System) runAsk(ctx context.Context, in runAskArgs) (object, error) {
	return s.again(ctx, "ask_run", in.waiting, in.AskID, object{})
}

type askRoundArgs struct {
	waiting

	AskID    string `json:"ask_id"   jsonschema:"such as a-1"`
	Question string `json:"question"`
}

func (s *System) askRound(ctx context.Context, in askRoundArgs) (object, error) {
	return s.again(ctx, "ask_round", in.waiting, in.AskID, object{"questions": []string{in.Question}})
}

type askQuestionsArgs struct {
	waiting

	AskID     string   `json:"ask_id"    jsonschema:"such as a-1"`
	Questions []string `json:"questions"`
}

func (s *System) askQuestions(ctx context.Context, in askQuestionsArgs) (object, error) {
	return s.again(ctx, "ask_questions", in.waiting, in.AskID, object{"questions": in.Questions})
}

type askPeopleArgs struct {
	waiting

	AskID     string   `json:"ask_id"     jsonschema:"such as a-1"`
	PersonIDs []string `json:"person_ids" jsonschema:"who is asked, at most 20"`
}

func (s *System) askPeople(ctx context.Context, in askPeopleArgs) (object, error) {
	people, err := s.panel(in.PersonIDs)
	if err != nil {
		return nil, err
	}
	return s.again(ctx, "ask_people", in.waiting, in.AskID, object{"person_ids": people})
}

type askID struct {
	AskID string `json:"ask_id" jsonschema:"such as a-1"`
}

func (s *System) deleteAsk(ctx context.Context, in askID) (object, error) {
	return s.one(ctx, http.MethodDelete, "ask", "/asks", in.AskID)
}
