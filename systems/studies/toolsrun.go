package studies

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/recoursehq/recourse"
)

type dispatchArgs struct {
	waiting

	StudyID      string   `json:"study_id"`
	IterationID  string   `json:"iteration_id,omitempty" jsonschema:"such as i-1; the first one unless said otherwise"`
	PersonIDs    []string `json:"person_ids,omitempty"   jsonschema:"who is asked: at most 20 people of the iteration"`
	Country      string   `json:"country,omitempty"      jsonschema:"in place of person_ids: people of that country"`
	Count        *int     `json:"count,omitempty"        jsonschema:"in place of person_ids: how many, up to 20; usually 5"`
	Instructions string   `json:"instructions,omitempty" jsonschema:"what people are told beforehand"`
}

// check checks a dispatch as far as possible without any requests.
func (in dispatchArgs) check() error {
	if err := in.waiting.check(); err != nil {
		return err
	}
	if byFilter := in.Country != "" || in.Count != nil; len(in.PersonIDs) > 0 && byFilter {
		given := "country"
		if in.Country == "" {
			given = "count"
		}
		return recourse.Conflicting("person_ids", given).
			WithMessage("person_ids and %s cannot be used together: name people, or describe them.", given)
	}
	return checkCount(in.Count)
}

func (s *System) dispatch(ctx context.Context, in dispatchArgs) (object, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	study, err := s.aliases.resolve("study_id", "study", in.StudyID)
	if err != nil {
		return nil, err
	}
	run := runRequest{Country: in.Country, Count: countOf(in.Count), Instructions: in.Instructions}
	if run.PersonIDs, err = s.panel(in.PersonIDs); err != nil {
		return nil, err
	}
	if in.IterationID != "" {
		if run.IterationID, err = s.aliases.resolve("iteration_id", "iteration", in.IterationID); err != nil {
			return nil, err
		}
	}
	if err := s.checkAttached(ctx, study, run); err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/studies/"+study+"/runs", "study", run)
	if err != nil {
		return nil, err
	}
	alias := s.aliases.of("study", study)
	return s.follow(ctx, in.waiting, job{
		tool: runDispatch, begun: "The run was dispatched.", pending: progress(out),
		verify: verifyBy(studyGet, "participant_count and runtime_status",
			is("study_id", alias), recourse.Arg{Name: "lean", Value: json.RawMessage("true")}),
		look: func(ctx context.Context) (object, bool, error) {
			out, err := s.viewStudy(ctx, study, "full")
			status, _ := out["runtime_status"].(string)
			if status != statusCompleted {
				return progress(out), false, err
			}
			return out, true, err
		},
	})
}

// checkAttached requires that the iteration of a run belongs to the study, and that its people are attached
// to it: the service's own error says less.
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
	if run.IterationID == "" {
		return recourse.New(recourse.KindNotFound, "The study has no iteration: iteration_create adds one.").WithResource("iteration", "")
	}
	return recourse.New(recourse.KindNotFound, "The study has no such iteration.").WithResource("iteration", "")
}

// progress returns the answer for work in progress.
func progress(study object) object {
	out := object{"type": "study"}
	for _, name := range []string{"id", "participant_count", "runtime_status"} {
		if v, ok := study[name]; ok {
			out[name] = v
		}
	}
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
	return s.follow(ctx, in.waiting, job{
		tool: studyAnalyze, begun: "The analysis was started.",
		pending: object{"type": "study", "id": alias, "insights": object{"status": statusQueued}},
		verify:  verifyBy(studyGet, "the insights", is("study_id", alias), is("view", "insights")),
		look: func(ctx context.Context) (object, bool, error) {
			out, err := s.viewStudy(ctx, study, "insights")
			if err == nil {
				err = analysisFailure(out)
			}
			return out, statusOf(out) == statusCompleted, err
		},
	})
}

func statusOf(study object) string {
	insights, _ := study["insights"].(object)
	status, _ := insights["status"].(string)
	return status
}

// analysisFailure returns the failure of an analysis that has failed.
func analysisFailure(study object) error {
	if statusOf(study) != statusFailed {
		return nil
	}
	insights, _ := study["insights"].(object)
	return recourse.New(recourse.KindJobFailed, "").WithMessage("The analysis has failed: %v.", insights["reason"]).
		WithOrigin(recourse.OriginProvider)
}

type extendArgs struct {
	waiting

	ParticipantID string `json:"participant_id" jsonschema:"such as t-1, who has answered"`
	Question      string `json:"question"       jsonschema:"what to ask besides"`
}

// extend asks a participant one more thing. A participant without answers has left.
func (s *System) extend(ctx context.Context, in extendArgs) (object, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	before, err := s.responses(ctx, in.ParticipantID)
	if err != nil {
		return nil, err
	}
	id, err := s.aliases.resolve("participant_id", "participant", in.ParticipantID)
	if err != nil {
		return nil, err
	}
	out, err := s.api.do(ctx, http.MethodPost, "/participants/"+id+"/turns", "participant", object{"question": in.Question})
	if err != nil {
		return nil, err
	}
	out["response"] = before["response"]
	return s.follow(ctx, in.waiting, job{
		tool: "simulation_extend", begun: "The question was asked.", pending: out,
		verify: verifyBy(studyGet, "the response", is("participant_id", s.aliases.of("participant", id))),
		look: func(ctx context.Context) (object, bool, error) {
			out, err := s.api.do(ctx, http.MethodGet, "/participants/"+id, "participant", nil)
			return out, out["status"] == statusCompleted || out["status"] == statusFailed, err
		},
	})
}
