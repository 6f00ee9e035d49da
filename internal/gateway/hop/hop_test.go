package hop_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/hop"
)

// Close cancels the server's call only if its answer comes in pieces and has not been read to the end.
func TestCloseCancelsUnfinishedCalls(t *testing.T) {
	t.Parallel()
	for text, cancels := range map[string]bool{"whole": false, "pieces": true} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				h := hop.New(cancel, func() *recourse.Error { return nil })
				read := make(chan struct{})
				var cancelled bool
				go h.Serve(t.Context(), func() (broken bool) {
					if !cancels {
						h.Header().Set("Content-Length", strconv.Itoa(len(text)))
					}
					h.Begin(http.StatusOK, false)
					_, _ = io.WriteString(h, text)
					<-read
					synctest.Wait() // until Close waits for this call
					cancelled = ctx.Err() != nil
					return false
				})
				resp, ok := h.Answer()
				if !ok {
					t.Fatal("there is no answer")
				}
				got := make([]byte, len(text))
				if _, err := io.ReadFull(resp, got); err != nil || string(got) != text {
					t.Fatalf("got %q, %v", got, err)
				}
				close(read)
				if err := resp.Close(); err != nil || cancelled != cancels {
					t.Errorf("cancelled: %t, want %t (%v)", cancelled, cancels, err)
				}
			})
		})
	}
}

// A whole answer counts although its call has ended before anybody looks.
func TestWholeAnswerOutlivesItsCall(t *testing.T) {
	t.Parallel()
	const text = "whole"
	for range 50 { // which of the two is seen first is up to chance
		h := hop.New(func() {}, func() *recourse.Error { return nil })
		h.Serve(t.Context(), func() (broken bool) {
			h.Header().Set("Content-Length", strconv.Itoa(len(text)))
			h.Begin(http.StatusOK, false)
			_, _ = io.WriteString(h, text)
			return false
		})
		if resp, ok := h.Answer(); !ok || resp.Status != http.StatusOK {
			t.Fatal("there is no answer")
		}
	}
}
