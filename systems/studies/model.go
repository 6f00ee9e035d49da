package studies

// The things of the service. Each has its type and its id, a UUID.

type workspace struct {
	Type    string  `json:"type"`
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Plan    string  `json:"plan"`
	Credits credits `json:"credits"`

	owner  string
	brand  brand
	logins []siteLogin
}

// brand is how a workspace presents itself.
type brand struct {
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name"`
	Voice       string `json:"voice,omitempty"`
}

// credits pay for completed participants: one each.
type credits struct {
	PeriodBalance    int    `json:"period_balance"`
	RefreshDate      string `json:"refresh_date"`
	PurchasedBalance int    `json:"purchased_balance"`
	TotalAvailable   int    `json:"total_available"`
}

// spend takes a credit, first from the period, and reports whether there was one.
func (c *credits) spend() bool {
	switch {
	case c.PeriodBalance > 0:
		c.PeriodBalance--
	case c.PurchasedBalance > 0:
		c.PurchasedBalance--
	default:
		return false
	}
	c.TotalAvailable--
	return true
}

type study struct {
	Type             string        `json:"type"`
	ID               string        `json:"id"`
	WorkspaceID      string        `json:"workspace_id"`
	Title            string        `json:"title"`
	Question         string        `json:"question,omitempty"`
	Iterations       []*iteration  `json:"iterations,omitempty"`
	Participants     []participant `json:"participants,omitempty"`
	ParticipantCount int           `json:"participant_count"`
	RuntimeStatus    string        `json:"runtime_status"`
	Insights         *insights     `json:"insights,omitempty"`

	fault string // the fault of the next reads of its progress
	left  int    // how many of them
	stuck bool   // its work does not advance
}

type iteration struct {
	Type      string   `json:"type"`
	ID        string   `json:"id"`
	StudyID   string   `json:"study_id"`
	Stimulus  string   `json:"stimulus"`
	MediaURL  string   `json:"media_url,omitempty"`
	PersonIDs []string `json:"person_ids"`
}

// participant is a person in a run.
type participant struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	IterationID string `json:"iteration_id,omitempty"`
	PersonID    string `json:"person_id"`
	Status      string `json:"status"`
	Response    string `json:"response,omitempty"`
	FollowUp    string `json:"follow_up,omitempty"`
}

// insights are the result of an analysis.
type insights struct {
	Status  string `json:"status"`
	Summary string `json:"summary,omitempty"`
	Reason  string `json:"reason,omitempty"` // of a failure
}

type person struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name"`
	Country     string `json:"country"`
	Age         *int   `json:"age,omitempty"`

	declines bool // to answer anything
}

// chatbot is the configuration with which the service talks to a chatbot.
type chatbot struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	URL         string `json:"url"`
}

// localEndpoint is a tunnel to a user's machine.
type localEndpoint struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	URL  string `json:"url"`
	Port int    `json:"port"`
}

// The states of runs and analyses.
const (
	statusIdle      = "idle"
	statusQueued    = "queued"
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
)
