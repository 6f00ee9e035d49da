package studies

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

type getStudyArgs struct {
	StudyID       string `json:"study_id,omitempty"       jsonschema:"such as s-1"`
	WorkspaceID   string `json:"workspace_id,omitempty"   jsonschema:"lists the studies of a workspace"`
	ParticipantID string `json:"participant_id,omitempty" jsonschema:"such as t-1: the responses of a participant"`
	View          string `json:"view,omitempty"           jsonschema:"summary, full, per_participant, transcripts, insights"`
	Lean          bool   `json:"lean,omitempty"           jsonschema:"of a study: its progress alone, as it is without view"`
}

// views are the views of study_get.
var views = []string{"summary", "full", "per_participant", "transcripts", "insights"}

// getStudy returns the study in any state: it is how writes are verified.
func (s *System) getStudy(ctx context.Context, in getStudyArgs) (object, error) {
	err := only([]string{"study_id", paramWorkspace, "participant_id"}, in.StudyID, in.WorkspaceID, in.ParticipantID)
	switch {
	case err != nil:
		return nil, err
	case in.View != "" && !slices.Contains(views, in.View):
		return nil, recourse.InvalidValue("view", "a view", nil).WithMessage("view must be one of %s.", strings.Join(views, ", "))
	case in.StudyID == "" && (in.View != "" || in.Lean):
		return nil, recourse.Missing("study_id").WithMessage("study_id is required: view and lean are of one study.")
	case in.View != "" && in.Lean:
		return nil, recourse.Conflicting("view", "lean").WithMessage("view and lean cannot be used together.")
	case in.ParticipantID != "":
		return s.responses(ctx, in.ParticipantID)
	case in.StudyID == "":
		return s.fetch(ctx, "study", "/studies", "", in.WorkspaceID)
	}
	id, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	return s.viewStudy(ctx, id, in.View)
}

// viewStudy returns a study by its UUID.
func (s *System) viewStudy(ctx context.Context, id, view string) (object, error) {
	return s.api.do(ctx, http.MethodGet, "/studies/"+id+"?"+url.Values{"view": {view}}.Encode(), "study", nil)
}

// responses returns a participant's answers. A participant without answers is reported as not found, which
// the service does not do.
func (s *System) responses(ctx context.Context, participantID string) (object, error) {
	out, err := s.one(ctx, http.MethodGet, "participant", "/participants", participantID)
	if err != nil {
		return nil, err
	}
	if text, _ := out["response"].(string); text == "" {
		return nil, recourse.New(recourse.KindNotFound, "The participant has no responses.").WithResource("participant", "")
	}
	return out, nil
}

type createStudyArgs struct {
	WorkspaceID string `json:"workspace_id"`
	Title       string `json:"title"`
	Question    string `json:"question,omitempty"`
}

func (s *System) createStudy(ctx context.Context, in createStudyArgs) (_ object, err error) {
	if in.WorkspaceID, err = s.aliases.resolve(paramWorkspace, "workspace", in.WorkspaceID); err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/studies", "study", in)
}

type studyID struct {
	StudyID string `json:"study_id" jsonschema:"such as s-1"`
}

func (s *System) deleteStudy(ctx context.Context, in studyID) (object, error) {
	return s.one(ctx, http.MethodDelete, "study", "/studies", in.StudyID)
}

type createIterationArgs struct {
	StudyID  string `json:"study_id"`
	Stimulus string `json:"stimulus"            jsonschema:"what people are shown"`
	MediaURL string `json:"media_url,omitempty" jsonschema:"the address of a picture or a video"`
}

func (s *System) createIteration(ctx context.Context, in createIterationArgs) (object, error) {
	id, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/studies/"+id+"/iterations", "iteration", in)
}

type reviseStudyArgs struct {
	StudyID  string `json:"study_id"`
	Title    string `json:"title,omitempty"`
	Question string `json:"question,omitempty"`
}

func (s *System) reviseStudy(ctx context.Context, in reviseStudyArgs) (object, error) {
	if in.Title == "" && in.Question == "" {
		return nil, recourse.Missing("title").WithMessage("title or question is required.")
	}
	id, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPatch, "/studies/"+id, "study", object{"title": in.Title, "question": in.Question})
}

type benchmarkArgs struct {
	StudyID string `json:"study_id"`
	Title   string `json:"title,omitempty" jsonschema:"of the copy"`
}

// benchmark creates a draft to compare a study with. It is not run.
func (s *System) benchmark(ctx context.Context, in benchmarkArgs) (object, error) {
	id, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPost, "/studies/"+id+"/benchmark", "study", object{"title": in.Title})
}

type updateIterationArgs struct {
	StudyID     string `json:"study_id"`
	IterationID string `json:"iteration_id"`
	Stimulus    string `json:"stimulus,omitempty"`
	MediaURL    string `json:"media_url,omitempty"`
}

func (s *System) updateIteration(ctx context.Context, in updateIterationArgs) (object, error) {
	if in.Stimulus == "" && in.MediaURL == "" {
		return nil, recourse.Missing("stimulus").WithMessage("stimulus or media_url is required.")
	}
	study, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	id, err := s.aliases.resolve("iteration_id", "iteration", in.IterationID)
	if err != nil {
		return nil, err
	}
	return s.api.do(ctx, http.MethodPatch, "/iterations/"+id, "iteration",
		object{"study_id": study, "stimulus": in.Stimulus, "media_url": in.MediaURL})
}
