package studies

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// A call waits as long as its argument says, otherwise a minute.
func TestBudget(t *testing.T) {
	t.Parallel()
	seven, most := 7, 600
	for _, tt := range []struct {
		name    string
		timeout *int
		want    time.Duration
	}{{"unsaid", nil, time.Minute}, {"said", &seven, 7 * time.Second}, {"the most", &most, 10 * time.Minute}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &System{options: Options{}.withDefaults(), contract: studiesContract(t)}
				start, looks := time.Now(), 0
				answer, ended, err := s.poll(t.Context(), runDispatch, waiting{Wait: true, Timeout: tt.timeout},
					func(context.Context) (object, bool, error) {
						if looks++; looks%2 == 0 {
							return nil, false, recourse.Unavailable(provider)
						}
						return object{"n": looks}, false, nil
					})
				if took := time.Since(start); took != tt.want || ended || err != nil || answer == nil {
					t.Errorf("after %s: %v, ended %t, %v; want %s", took, answer, ended, err, tt.want)
				}
				if want := int(tt.want / time.Second); looks < want-1 || looks > want+1 {
					t.Errorf("polled %d times within %s", looks, tt.want)
				}
			})
		})
	}
}

// The default timeout of the service is 20 s.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ said, want time.Duration }{{0, 20 * time.Second}, {3 * time.Second, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient("http://backend", Options{Timeout: tt.said}.withDefaults(), studiesContract(t), &aliases{}, systemtest.Hangs{})
			start := time.Now()
			_, err := c.do(t.Context(), http.MethodGet, "/studies", "study", nil)
			if took := time.Since(start); took != tt.want || !errors.Is(err, recourse.KindTimeout) {
				t.Errorf("after %s: %v; want a timeout after %s", took, err, tt.want)
			}
		})
	}
}

// If the caller gives up while polling, the job has not failed: it has been started.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &System{options: Options{}.withDefaults(), contract: studiesContract(t)}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.follow(ctx, waiting{Wait: true}, job{
			tool: runDispatch, begun: "The run was dispatched.", verify: verifyBy(studyGet, "x", is("study_id", "s-1")),
			look: func(context.Context) (object, bool, error) { return nil, false, recourse.Unavailable(provider) },
		})
		if e := recourse.From(err); e.Effect != recourse.EffectApplied || e.Verify == nil {
			t.Errorf("%v, effect %s", e, e.Effect)
		}
	})
}

func studiesContract(t *testing.T) *contract.Contract {
	t.Helper()
	c := contract.MustBuiltin("studies")
	return c
}
