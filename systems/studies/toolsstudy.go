package studies

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/recoursehq/recourse"
)

type getStudyArgs struct {
	StudyID       string `json:"study_id,omitempty"       jsonschema:"such as s-1"`
	WorkspaceID   string `json:"workspace_id,omitempty"   jsonschema:"lists the studies of a workspace"`
	ParticipantID string `json:"participant_id,omitempty" jsonschema:"such as t-1: the responses of a participant"`
	View          string `json:"view,omitempty"           jsonschema:"of a study: full, or insights for what its analysis has come to"`
	Lean          bool   `json:"lean,omitempty"           jsonschema:"of a study: its progress alone, as it is without view"`
}

func (s *System) getStudy(ctx context.Context, in getStudyArgs) (object, error) {
	err := only([]string{"study_id", "workspace_id", "participant_id"}, in.StudyID, in.WorkspaceID, in.ParticipantID)
	switch {
	case err != nil:
		return nil, err
	case in.View != "" && in.View != "full" && in.View != "insights":
		return nil, recourse.InvalidValue("view", "full or insights", nil).WithMessage("view must be full or insights.")
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
	out, err := s.viewStudy(ctx, id, in.View)
	if err != nil {
		return nil, err
	}
	return out, analysisFailure(out)
}

// viewStudy returns a study by its UUID.
func (s *System) viewStudy(ctx context.Context, id, view string) (object, error) {
	return s.api.do(ctx, http.MethodGet, "/studies/"+id+"?"+url.Values{"view": {view}}.Encode(), "study", nil)
}

// responses returns what a participant has answered. One who has answered nothing is
// not found, which the service does not say.
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
	if in.WorkspaceID, err = s.aliases.resolve("workspace_id", "workspace", in.WorkspaceID); err != nil {
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

type dispatchArgs struct {
	waiting

	StudyID      string   `json:"study_id"`
	IterationID  string   `json:"iteration_id,omitempty" jsonschema:"such as i-1; the first one unless said otherwise"`
	PersonIDs    []string `json:"person_ids,omitempty"   jsonschema:"who is asked, at most 20 people who are attached to the iteration"`
	Country      string   `json:"country,omitempty"      jsonschema:"in place of person_ids: people of that country"`
	Count        int      `json:"count,omitempty"        jsonschema:"in place of person_ids: how many, at most 20; 5 unless said otherwise"`
	Instructions string   `json:"instructions,omitempty" jsonschema:"what people are told beforehand"`
}

// check is what can be said of a dispatch without asking anybody.
func (in dispatchArgs) check() error {
	if err := in.waiting.check(); err != nil {
		return err
	}
	switch byFilter := in.Country != "" || in.Count != 0; {
	case len(in.PersonIDs) > 0 && byFilter:
		given := "country"
		if in.Country == "" {
			given = "count"
		}
		return recourse.Conflicting("person_ids", given).
			WithMessage("person_ids and %s cannot be used together: name people, or describe them.", given)
	case in.Count < 0, in.Count > maxParticipants:
		return recourse.InvalidValue("count", "a number from 1 to 20", in.Count).
			WithMessage("count must be between 1 and %d: at most %d people can be asked at once.", maxParticipants, maxParticipants)
	}
	return nil
}

func (s *System) dispatch(ctx context.Context, in dispatchArgs) (object, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	study, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	run := runRequest{Country: in.Country, Count: in.Count, Instructions: in.Instructions}
	if run.PersonIDs, err = s.panel(in.PersonIDs); err != nil {
		return nil, err
	}
	if in.IterationID != "" {
		if run.IterationID, err = s.aliases.resolve("iteration_id", "iteration", in.IterationID); err != nil {
			return nil, err
		}
	}
	if len(run.PersonIDs) > 0 {
		if err := s.checkAttached(ctx, study, run); err != nil {
			return nil, err
		}
	} else if run.Count == 0 {
		const usual = 5
		run.Count = usual
	}
	out, err := s.api.do(ctx, http.MethodPost, "/studies/"+study+"/runs", "study", run)
	if err != nil {
		return nil, err
	}
	next := fmt.Sprintf("study_get(study_id=%q, lean=True)", s.aliases.of("study", study))
	if !in.Wait {
		return then(progress(out), next), nil
	}
	answer, ended, err := s.poll(ctx, runDispatch, in.waiting, func(ctx context.Context) (object, bool, error) {
		out, err := s.viewStudy(ctx, study, "full")
		status, _ := out["runtime_status"].(string)
		return out, status == statusCompleted, err
	})
	switch {
	case err != nil:
		return nil, err
	case !ended && answer == nil:
		return then(progress(out), next), nil
	case !ended:
		return then(progress(answer), next), nil
	}
	return answer, nil
}

// checkAttached demands that the people of a run are attached to its iteration, which
// the service does not check.
func (s *System) checkAttached(ctx context.Context, study string, run runRequest) error {
	out, err := s.viewStudy(ctx, study, "full")
	if err != nil {
		return err
	}
	iterations, _ := out["iterations"].([]any)
	for _, item := range iterations {
		i, _ := item.(object)
		if run.IterationID != "" && i["id"] != s.aliases.of("iteration", run.IterationID) {
			continue
		}
		attached, _ := i["person_ids"].([]any)
		for _, p := range run.PersonIDs {
			if alias := s.aliases.of("person", p); !slices.Contains(attached, any(alias)) {
				return recourse.New(recourse.KindNotFound, "").WithResource("participant", alias).
					WithMessage("%s is not attached to the iteration %v: person_attach does that.", alias, i["id"])
			}
		}
		return nil
	}
	return recourse.New(recourse.KindNotFound, "The study has no such iteration.").WithResource("iteration", "")
}

// progress returns what is told of work that is under way.
func progress(study object) object {
	out := object{"type": "study"}
	for _, name := range []string{"id", "participant_count", "runtime_status"} {
		if v, ok := study[name]; ok {
			out[name] = v
		}
	}
	return out
}

// then adds the call that asks again.
func then(out object, next string) object {
	out["next_action"] = next
	return out
}

type analyzeArgs struct {
	waiting

	StudyID string `json:"study_id"`
	Focus   string `json:"focus,omitempty" jsonschema:"what to look for"`
}

func (s *System) analyze(ctx context.Context, in analyzeArgs) (object, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	study, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	if _, err := s.api.do(ctx, http.MethodPost, "/studies/"+study+"/analyses", "study", object{"focus": in.Focus}); err != nil {
		return nil, err
	}
	alias := s.aliases.of("study", study)
	pending := object{"type": "study", "id": alias, "insights": object{"status": statusQueued}}
	next := fmt.Sprintf(`study_get(study_id=%q, view="insights")`, alias)
	if !in.Wait {
		return then(pending, next), nil
	}
	answer, ended, err := s.poll(ctx, studyAnalyze, in.waiting, func(ctx context.Context) (object, bool, error) {
		out, err := s.viewStudy(ctx, study, "insights")
		if err == nil {
			err = analysisFailure(out)
		}
		return out, statusOf(out) == statusCompleted, err
	})
	switch {
	case err != nil:
		return nil, err
	case !ended && answer == nil:
		return then(pending, next), nil
	case !ended:
		return then(answer, next), nil
	}
	return answer, nil
}

func statusOf(study object) string {
	insights, _ := study["insights"].(object)
	status, _ := insights["status"].(string)
	return status
}

// analysisFailure returns the failure of an analysis that has ended as failed.
func analysisFailure(study object) error {
	if statusOf(study) != statusFailed {
		return nil
	}
	insights, _ := study["insights"].(object)
	return recourse.New(recourse.KindJobFailed, "").WithMessage("The analysis has failed: %v.", insights["reason"]).
		WithOrigin(recourse.OriginProvider)
}
