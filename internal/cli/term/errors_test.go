package term_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/cli/term"
)

// What an item or an entry does not say leaves no empty place.
func TestReportOfItems(t *testing.T) {
	t.Parallel()
	e := recourse.Partial(nil, []recourse.FailedItem{{ID: "b", Error: recourse.Unavailable("").WithMessage("Late.")}}).WithMessage("m.").
		With(func(e *recourse.Error) {
			e.Missing = []recourse.MissingData{{What: "soil"}, {What: "elevation", Impact: "required", Message: "Upload it."}, {}}
		})
	var out strings.Builder
	term.Report(term.Painter{}.To(&out), &term.CallError{Failure: e})
	if want := "recourse: error: m\nb: Late\nmissing: soil\nmissing: elevation (required): Upload it\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
