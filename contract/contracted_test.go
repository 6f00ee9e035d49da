package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/recoursehq/recourse"
)

// Plain English is read with contractions, too, and with a typographic apostrophe.
func TestContractions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]recourse.Kind{
		"There is no playlist with that name":    recourse.KindNotFound,
		"There's no playlist with that name":     recourse.KindNotFound,
		"Couldn't find the playlist":             recourse.KindNotFound,
		"The color 'blurple' isn't supported":    recourse.KindInvalidValue,
		"Exporting to PDF isn’t supported yet":   recourse.KindNotImplemented,
		"You aren't allowed to view the channel": recourse.KindPermissionDenied,
		"Your Gmail account isn’t connected yet": recourse.KindNotConnected,
		"The upstream API didn't answer in time": recourse.KindTimeout,
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		reading, _ := wildReader(false).Result([]byte(`{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true}`))
		if e := reading.Error(); e == nil || e.Kind != want {
			t.Errorf("%s: got %v, want %s", text, e, want)
		}
	}
}
