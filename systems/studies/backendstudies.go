package studies

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

func (b *backend) listStudies(r *http.Request) (any, error) {
	leans := make([]*study, 0, len(b.studies))
	for _, s := range b.studies {
		leans = append(leans, s.lean())
	}
	return ofWorkspace(b, r, leans, func(s *study) string { return s.WorkspaceID })
}

func (b *backend) createStudy(r *http.Request) (any, error) {
	const maxTitle = 120
	in, err := read[study](r)
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if len(in.Title) > maxTitle {
		return nil, &refusal{
			status: http.StatusUnprocessableEntity, Message: "title is too long.",
			Suggestions: []string{fmt.Sprintf("Shorten title; %d characters fit", maxTitle), "Put the rest into question"},
		}
	}
	n := 0
	for _, s := range b.studies {
		if s.WorkspaceID == w.ID {
			n++
		}
	}
	if w.Plan == planFree && n >= maxStudies {
		return nil, full("studies a workspace", maxStudies)
	}
	return b.addStudy(w, in.Title, in.Question), nil
}

// getStudy returns a study. Whoever looks at its progress moves the work on by a step.
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
	switch r.URL.Query().Get("view") {
	case "full":
		return s, nil
	case "insights":
		return struct {
			Type     string    `json:"type"`
			ID       string    `json:"id"`
			Insights *insights `json:"insights"`
		}{s.Type, s.ID, s.Insights}, nil
	default:
		return s.lean(), nil
	}
}

// lean returns a copy that says how the study is getting on.
func (s *study) lean() *study {
	lean := *s
	lean.Iterations, lean.Participants, lean.Insights, lean.Question = nil, nil, nil, ""
	return &lean
}

// advance lets the next participant of a run answer, or an analysis come to its end.
func (b *backend) advance(s *study) {
	w, err := b.workspace(s.WorkspaceID)
	if err != nil {
		return
	}
	if i := slices.IndexFunc(s.Participants, func(p participant) bool { return p.Status == statusQueued }); i >= 0 {
		s.Participants[i].Status = statusFailed
		if p, err := b.person(s.Participants[i].PersonID); err == nil && !p.declines {
			s.Participants[i].Status, s.Participants[i].Response = statusCompleted, p.answer(s.Question)
			w.Credits.spend()
		}
		s.RuntimeStatus = statusRunning
		return
	}
	if s.RuntimeStatus == statusRunning || s.RuntimeStatus == statusQueued {
		s.RuntimeStatus = statusCompleted
	}
	switch {
	case s.Insights == nil:
	case s.Insights.Status == statusQueued:
		s.Insights.Status = statusRunning
	case s.Insights.Status == statusRunning:
		*s.Insights = s.analyze()
	}
}

func (s *study) analyze() insights {
	answers := 0
	for _, p := range s.Participants {
		if p.Status == statusCompleted {
			answers++
		}
	}
	if answers == 0 {
		return insights{Status: statusFailed, Reason: "no participant has answered yet"}
	}
	return insights{Status: statusCompleted, Summary: fmt.Sprintf("Of %d participants, all name the price.", answers)}
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

// checkMedia refuses media that no person could take in.
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
	return &refusal{
		status: http.StatusUnprocessableEntity, Code: "media_rejected", Message: message, Suggestions: []string{"Read the envelope"},
		Envelope: map[string]any{"error_kind": code, "suggestions": suggestions, "source_url": url, "modality": "video"},
	}
}

// runRequest is the body that starts a run.
type runRequest struct {
	IterationID  string   `json:"iteration_id"`
	PersonIDs    []string `json:"person_ids"`
	Country      string   `json:"country"`
	Count        int      `json:"count"`
	Instructions string   `json:"instructions"`
}

func (b *backend) createRun(r *http.Request) (any, error) {
	in, err := read[runRequest](r)
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
	panel := in.PersonIDs
	if len(panel) == 0 {
		panel = b.audience(w.ID, in.Country, in.Count)
	}
	if len(panel) == 0 {
		return nil, refuse(http.StatusUnprocessableEntity, "empty_audience", "No person of the workspace is in %s.", in.Country)
	}
	if left := w.Credits.TotalAvailable; len(panel) > left {
		return nil, refuse(http.StatusPaymentRequired, "", "The run needs %d credits, and %d are left.", len(panel), left)
	}
	for _, id := range panel {
		s.Participants = append(s.Participants, participant{
			Type: "participant", ID: b.newID(), IterationID: in.IterationID, PersonID: id, Status: statusQueued,
		})
	}
	s.ParticipantCount, s.RuntimeStatus = len(s.Participants), statusQueued
	s.meet(in.Instructions)
	return s, nil
}

// meet notes what the reads of the study's progress are to meet.
func (s *study) meet(text string) {
	const faults = 2
	fault := loopback.Fault(text)
	s.stuck = fault == "stuck"
	if later, ok := strings.CutPrefix(fault, "later"); ok {
		s.fault, s.left = later, faults
	}
}

// audience returns the people of a country, at most count of them.
func (b *backend) audience(workspaceID, country string, count int) []string {
	var panel []string
	for _, p := range b.people {
		if p.WorkspaceID == workspaceID && (country == "" || p.Country == country) && len(panel) < count {
			panel = append(panel, p.ID)
		}
	}
	return panel
}

func (b *backend) createAnalysis(r *http.Request) (any, error) {
	in, err := read[struct {
		Focus string `json:"focus"`
	}](r)
	if err != nil {
		return nil, err
	}
	s, err := b.study(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	s.Insights = &insights{Status: statusQueued}
	s.meet(in.Focus)
	return s.Insights, nil
}

func (b *backend) getParticipant(r *http.Request) (any, error) {
	for _, s := range b.studies {
		for _, p := range s.Participants {
			if p.ID == r.PathValue("id") {
				_, err := b.study(s.ID)
				return p, err
			}
		}
	}
	return nil, notFound("participant")
}
