package studies

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

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
	i, err := s.iteration(in.IterationID)
	if err != nil {
		return nil, err
	}
	panel := in.PersonIDs
	if len(panel) == 0 {
		panel = b.audience(i, in.Country, in.Count)
	}
	for _, id := range panel {
		if !slices.Contains(i.PersonIDs, id) {
			return nil, notFound("participant")
		}
	}
	if len(panel) == 0 {
		return nil, refuse(http.StatusUnprocessableEntity, "empty_audience",
			"Nobody who takes part in the iteration is %s.", audienceText(in.Country))
	}
	if err := b.afford(w, len(panel)); err != nil {
		return nil, err
	}
	for _, id := range panel {
		s.Participants = append(s.Participants, participant{
			Type: "participant", ID: b.newID(), IterationID: i.ID, PersonID: id, Status: statusQueued,
		})
	}
	s.ParticipantCount, s.RuntimeStatus = len(s.Participants), statusQueued
	s.meet(in.Instructions)
	return s, nil
}

func audienceText(country string) string {
	if country == "" {
		return "there"
	}
	return "in " + country
}

// iteration returns the iteration of s with an id; "" means its first.
func (s *study) iteration(id string) (*iteration, error) {
	for _, i := range s.Iterations {
		if id == "" || i.ID == id {
			return i, nil
		}
	}
	return nil, notFound("iteration")
}

// afford refuses work that would cost more credits than are left after paying for the answers still to come.
func (b *backend) afford(w *workspace, n int) error {
	left := w.Credits.TotalAvailable
	for _, s := range b.studies {
		if s.WorkspaceID != w.ID {
			continue
		}
		for _, p := range s.Participants {
			if p.Status == statusQueued {
				left--
			}
		}
	}
	for _, a := range b.asks {
		if a.WorkspaceID == w.ID {
			left -= len(a.waiting)
		}
	}
	if n > left {
		return refuse(http.StatusPaymentRequired, "", "%d credits are needed, and %d are left.", n, left)
	}
	return nil
}

// meet sets the faults for later reads of the study's progress.
func (s *study) meet(text string) {
	const faults = 2
	fault := loopback.Fault(text)
	s.stuck = fault == "stuck"
	if later, ok := strings.CutPrefix(fault, "later"); ok {
		s.fault, s.left = later, faults
	}
}

// audience returns the people of a country who take part in an iteration, at most
// count of them.
func (b *backend) audience(i *iteration, country string, count int) []string {
	var panel []string
	for _, p := range b.people {
		if slices.Contains(i.PersonIDs, p.ID) && (country == "" || p.Country == country) && len(panel) < count {
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

func (b *backend) participant(id string) (*study, *participant, error) {
	for _, s := range b.studies {
		for i := range s.Participants {
			if p := &s.Participants[i]; p.ID == id {
				_, err := b.study(s.ID)
				return s, p, err
			}
		}
	}
	return nil, nil, notFound("participant")
}

// getParticipant returns a participant. Each read advances the study's work.
func (b *backend) getParticipant(r *http.Request) (any, error) {
	s, p, err := b.participant(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if p.FollowUp != "" && !s.stuck {
		b.advance(s)
	}
	return *p, nil
}

// extendParticipant asks a participant who has answered one more thing.
func (b *backend) extendParticipant(r *http.Request) (any, error) {
	in, err := read[struct {
		Question string `json:"question"`
	}](r)
	if err != nil {
		return nil, err
	}
	s, p, err := b.participant(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	w, err := b.workspace(s.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if err := b.afford(w, 1); err != nil {
		return nil, err
	}
	p.FollowUp, p.Status, s.RuntimeStatus = in.Question, statusQueued, statusQueued
	s.meet(in.Question)
	return *p, nil
}

// advance lets the next participant of a run answer, or finishes an analysis.
func (b *backend) advance(s *study) {
	w, err := b.workspace(s.WorkspaceID)
	if err != nil {
		return
	}
	if i := slices.IndexFunc(s.Participants, func(p participant) bool { return p.Status == statusQueued }); i >= 0 {
		s.Participants[i].Status = statusFailed
		if p, err := b.person(s.Participants[i].PersonID); err == nil && !p.declines && w.Credits.spend() {
			s.Participants[i].Status = statusCompleted
			said := p.answer(cmp.Or(s.Participants[i].FollowUp, s.Question))
			s.Participants[i].Response = strings.TrimSpace(s.Participants[i].Response + "\n" + said)
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
	answers := s.answered()
	if answers == 0 {
		return insights{Status: statusFailed, Reason: "no participant has answered yet"}
	}
	return insights{Status: statusCompleted, Summary: fmt.Sprintf("Of %d participants, all name the price.", answers)}
}
