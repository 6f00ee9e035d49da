package studies

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

func (b *backend) listStudies(r *http.Request) (any, error) {
	leans := make([]*study, 0, len(b.studies))
	for _, s := range b.studies {
		leans = append(leans, s.lean())
	}
	return ofWorkspace(b, r, leans, func(s *study) string { return s.WorkspaceID })
}

func (b *backend) createStudy(r *http.Request) (any, error) {
	in, err := read[study](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if err := checkTitle(in.Title); err != nil {
		return nil, err
	}
	if err := b.roomForStudy(w); err != nil {
		return nil, err
	}
	return b.addStudy(w, in.Title, in.Question), nil
}

// checkTitle refuses a title that is too long.
func checkTitle(title string) error {
	const most = 120
	if utf8.RuneCountInString(title) <= most {
		return nil
	}
	return &backendError{
		status: http.StatusUnprocessableEntity, Message: "title is too long.",
		Suggestions: []string{fmt.Sprintf("Shorten title; %d characters fit", most), "Put the rest into question"},
	}
}

// roomForStudy refuses one more study if a free plan has no room for it.
func (b *backend) roomForStudy(w *workspace) error {
	n := 0
	for _, s := range b.studies {
		if s.WorkspaceID == w.ID {
			n++
		}
	}
	if w.Plan == planFree && n >= maxStudies {
		return full("studies a workspace", maxStudies)
	}
	return nil
}

func (b *backend) updateStudy(r *http.Request) (any, error) {
	in, err := read[study](r)
	if err != nil {
		return nil, err
	}
	s, err := b.study(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if err := checkTitle(in.Title); err != nil {
		return nil, err
	}
	s.Title, s.Question = cmp.Or(in.Title, s.Title), cmp.Or(in.Question, s.Question)
	return s.lean(), nil
}

// cloneStudy creates a draft with the content of a study, to compare the two.
func (b *backend) cloneStudy(r *http.Request) (any, error) {
	in, err := read[study](r)
	if err != nil {
		return nil, err
	}
	s, err := b.study(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(s.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if err := b.roomForStudy(w); err != nil {
		return nil, err
	}
	draft := b.addStudy(w, cmp.Or(in.Title, s.Title), s.Question)
	for _, i := range s.Iterations {
		b.addIteration(draft, i.Stimulus, i.MediaURL).PersonIDs = slices.Clone(i.PersonIDs)
	}
	return draft, nil
}

// getStudy returns a study. Each read of its progress advances the work by a step.
func (b *backend) getStudy(r *http.Request) (any, error) {
	s, err := b.study(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if s.left > 0 {
		s.left--
		return nil, faultOf(s.fault)
	}
	if !s.stuck {
		b.advance(s)
	}
	head := map[string]any{"type": s.Type, "id": s.ID}
	switch r.URL.Query().Get("view") {
	case "full":
		return s, nil
	case "insights":
		head["insights"] = s.Insights
	case "summary":
		head["title"], head["question"], head["runtime_status"] = s.Title, s.Question, s.RuntimeStatus
		head["participant_count"], head["answered"] = s.ParticipantCount, s.answered()
	case "per_participant":
		head["participants"] = append([]participant{}, s.Participants...)
	case "transcripts":
		head["transcripts"] = s.transcripts()
	default:
		return s.lean(), nil
	}
	return head, nil
}

// transcripts returns the conversations, one for each participant who has answered.
func (s *study) transcripts() []any {
	said := []any{}
	for _, p := range s.Participants {
		if p.Response != "" {
			said = append(said, map[string]any{"participant_id": p.ID, "question": s.Question, "answer": p.Response})
		}
	}
	return said
}

// answered returns how many participants have answered.
func (s *study) answered() int {
	n := 0
	for _, p := range s.Participants {
		if p.Status == statusCompleted {
			n++
		}
	}
	return n
}

// lean returns a copy with the progress of the study.
func (s *study) lean() *study {
	lean := *s
	lean.Iterations, lean.Participants, lean.Insights, lean.Question = nil, nil, nil, ""
	return &lean
}

func (b *backend) deleteStudy(r *http.Request) (any, error) {
	s, err := b.study(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	b.studies = slices.DeleteFunc(b.studies, func(other *study) bool { return other == s })
	return deleted{true}, nil
}

func (b *backend) createIteration(r *http.Request) (any, error) {
	in, err := read[iteration](r)
	if err != nil {
		return nil, err
	}
	s, err := b.study(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if err := checkMedia(in.MediaURL); err != nil {
		return nil, err
	}
	return b.addIteration(s, in.Stimulus, in.MediaURL), nil
}

func (b *backend) updateIteration(r *http.Request) (any, error) {
	in, err := read[iteration](r)
	if err != nil {
		return nil, err
	}
	i, err := b.iteration(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if i.StudyID != in.StudyID {
		return nil, notFound("iteration")
	}
	if err := checkMedia(in.MediaURL); err != nil {
		return nil, err
	}
	i.Stimulus, i.MediaURL = cmp.Or(in.Stimulus, i.Stimulus), cmp.Or(in.MediaURL, i.MediaURL)
	return i, nil
}

// checkMedia refuses media that people could not use.
func checkMedia(url string) error {
	var code, message string
	var suggestions []string
	switch {
	case strings.Contains(url, "silent"):
		code, message = "no_audio_track", "The video has no audio track."
		suggestions = []string{"Upload a video with sound", "Use modality=\"image\" for a video without sound"}
	case strings.Contains(url, "gone"):
		code, message = "media_download_failed", "The file could not be downloaded: HTTP 404."
		suggestions = []string{"Check that the address is public; a signed one may have expired"}
	default:
		return nil
	}
	return &backendError{
		status: http.StatusUnprocessableEntity, Code: "media_rejected", Message: message, Suggestions: []string{"Read the envelope"},
		Envelope: map[string]any{"error_kind": code, "suggestions": suggestions, "source_url": url, "modality": "video"},
	}
}
