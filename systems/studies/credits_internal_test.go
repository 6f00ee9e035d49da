package studies

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever requests come in whatever order: a workspace's credits never fall below zero, nor below the cost of the
// answers still to come, and each answer has cost one.
func TestCreditsNeverBelowZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBackend()
		solo, study := b.workspaces[1], b.studies[1] // with one credit
		solo.Credits = credits{PeriodBalance: 3, PurchasedBalance: 4, TotalAvailable: 7}
		study.Iterations[0].PersonIDs = append(study.Iterations[0].PersonIDs, b.people[5].ID) // declines
		send := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+Token)
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			return w
		}
		person := b.people[6].ID
		var made asking
		w := send(http.MethodPost, "/asks", `{"workspace_id":"`+solo.ID+`","question":"Tea?","person_ids":["`+person+`"]}`)
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		calls := []struct{ method, path, body string }{
			{http.MethodPost, "/studies/" + study.ID + "/runs", `{"count":1}`},
			{http.MethodPost, "/studies/" + study.ID + "/runs", `{"count":5}`},
			{http.MethodGet, "/studies/" + study.ID, ``},
			{http.MethodPost, "/asks/" + made.ID + "/rounds", `{"questions":["Milk?","Sugar?"]}`},
			{http.MethodGet, "/asks/" + made.ID, ``},
			{http.MethodPost, "/participants/FIRST/turns", `{"question":"Why?"}`},
			{http.MethodGet, "/participants/FIRST", ``},
			{http.MethodDelete, "/people/" + b.people[7].ID, ``},
		}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			c := rapid.SampledFrom(calls).Draw(t, "call")
			if len(study.Participants) > 0 {
				c.path = strings.ReplaceAll(c.path, "FIRST", study.Participants[0].ID)
			}
			send(c.method, c.path, c.body)
			left := solo.Credits
			if left.PeriodBalance < 0 || left.PurchasedBalance < 0 || left.TotalAvailable != left.PeriodBalance+left.PurchasedBalance {
				t.Fatalf("after %s %s: %+v", c.method, c.path, left)
			}
			mine := b.asks[len(b.asks)-1]
			answers, owed := len(mine.Answers), len(mine.waiting)
			for _, p := range study.Participants {
				answers += strings.Count(p.Response, "it depends on the price")
				if p.Status == statusQueued {
					owed++
				}
			}
			if owed > left.TotalAvailable {
				t.Fatalf("after %s %s: %+v, and %d answers to come", c.method, c.path, left, owed)
			}
			if 7-left.TotalAvailable != answers {
				t.Fatalf("after %s %s: %+v, and %d answers", c.method, c.path, left, answers)
			}
		}
	})
}

// A credit that does not exist is not spent, whatever was promised.
func TestAnswersNeedCredits(t *testing.T) {
	t.Parallel()
	var c credits
	if c.spend() || c != (credits{}) {
		t.Errorf("a missing credit was spent: %+v", c)
	}
}

// The service itself refuses a run with another study's iteration or with people who are not attached: the state may
// have changed since the MCP server's checks.
func TestServiceChecksRuns(t *testing.T) {
	t.Parallel()
	b := newBackend()
	study, other := b.studies[0], b.studies[1].Iterations[0]
	var stranger string
	for _, p := range b.people {
		if p.Name == "Elif" {
			stranger = p.ID
		}
	}
	for body, want := range map[string]int{
		`{"count":1}`: http.StatusOK,
		`{"count":1,"iteration_id":"` + other.ID + `"}`: http.StatusNotFound,
		`{"person_ids":["` + stranger + `"]}`:           http.StatusNotFound,
		`{"person_ids":["` + other.PersonIDs[0] + `"]}`: http.StatusNotFound,
	} {
		r := httptest.NewRequest(http.MethodPost, "/studies/"+study.ID+"/runs", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+Token)
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
}

// Who is named twice is asked, and paid for, once.
func TestPanelNamesEachOnce(t *testing.T) {
	t.Parallel()
	const id = "5d2c9e1a-7b40-4f6e-9a31-00000000a001"
	ids, err := new(System).panel([]string{id, id})
	if err != nil || len(ids) != 1 {
		t.Errorf("got %v, %v", ids, err)
	}
}
