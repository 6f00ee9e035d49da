package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// connected returns a client after its initialize request.
func connected(t *testing.T, srv *testkit.Server, era testkit.Era) (context.Context, *testkit.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // no call comes near it
	t.Cleanup(cancel)
	client := testkit.NewClient(t, srv.URL(), era)
	if _, err := client.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx, client
}

// An outcome is the client's view of one call of get_field.
type outcome struct {
	answer *testkit.Answer
	err    error
	srv    *testkit.Server
}

// large is the size of large answers.
const large = 8 << 20

// wire maps each fault to a check of its outcome. A fault without an entry fails the test.
func wire() map[string]func(outcome) bool {
	expectations := map[string]func(outcome) bool{
		"reset before the answer": func(o outcome) bool { return errors.Is(o.err, syscall.ECONNRESET) && o.answer == nil },
		"reset in the body": func(o outcome) bool {
			return errors.Is(o.err, syscall.ECONNRESET) && o.answer.Status == http.StatusOK && o.answer.Size > 0
		},
		"reset after the answer": func(o outcome) bool { return o.err == nil && good(o.answer) },
		"close after the headers": func(o outcome) bool {
			return errors.Is(o.err, io.ErrUnexpectedEOF) && o.answer.Status == http.StatusOK && o.answer.Size == 0
		},
		"hang":            func(o outcome) bool { return errors.Is(o.err, context.DeadlineExceeded) && o.answer == nil },
		"slow drip, JSON": dripped,
		"slow drip, SSE":  dripped,
		"SSE cut inside an event": func(o outcome) bool {
			return errors.Is(o.err, io.ErrUnexpectedEOF) && o.answer.Size > 0 && len(o.answer.Events) == 0
		},
		"SSE ends without an answer": func(o outcome) bool {
			return o.err == nil && len(o.answer.Events) == 1 && o.answer.Message == nil
		},
		"restart during the call": func(o outcome) bool { return o.err != nil && o.answer == nil && o.srv.Sessions() == 0 },
		"404 session":             func(o outcome) bool { return status(o, http.StatusNotFound) && o.srv.Sessions() == 0 },

		"truncated JSON with 200": func(o outcome) bool {
			return status(o, http.StatusOK) && o.answer.Size > 0 && o.answer.Message == nil &&
				o.answer.Header.Get("Content-Length") == strconv.FormatInt(o.answer.Size, 10)
		},
		"HTML with 200": func(o outcome) bool { return status(o, http.StatusOK) && contains(o, "<html>") },
		"empty 200": func(o outcome) bool {
			return status(o, http.StatusOK) && o.answer.Size == 0 && o.answer.Header.Get("Content-Type") == "application/json"
		},
		"wrong id, JSON": wrongID,
		"wrong id, SSE":  func(o outcome) bool { return wrongID(o) && len(o.answer.Events) == 1 },
		"duplicate answer, JSON": func(o outcome) bool {
			return status(o, http.StatusOK) && strings.Count(string(o.answer.Body), `"id":2`) == 2
		},
		"duplicate answer, SSE": func(o outcome) bool {
			return len(o.answer.Events) == 2 && strings.Count(string(o.answer.Body), `"id":2`) == 2
		},
		"large answer, JSON":                      func(o outcome) bool { return largeEnd(o, `"}]`, `"id":2}`) && o.answer.Size > large },
		"large answer, JSON, wrong id at its end": func(o outcome) bool { return largeEnd(o, `"id":"testkit-wrong-id"}`) },
		"large answer, JSON, broken at its end":   func(o outcome) bool { return largeEnd(o, `"id":2]`) },
		"large answer, JSON, isError at its end":  func(o outcome) bool { return largeEnd(o, `"isError":true}`, `"id":2}`) },
		"large answer, SSE":                       func(o outcome) bool { return largeEnd(o, `"id":2}`) && o.answer.Size > large },
		"id last": func(o outcome) bool {
			return good(o.answer) && strings.HasSuffix(string(o.answer.Body), `,"id":2}`)
		},
		"isError last": func(o outcome) bool {
			return status(o, http.StatusOK) && strings.HasSuffix(string(o.answer.Body), `"isError":true}}`)
		},

		"tool error with a stack trace": func(o outcome) bool {
			res, err := o.answer.ToolResult()
			return err == nil && res.IsError && !slices.ContainsFunc(faults.Secrets(), func(secret string) bool {
				return !strings.Contains(res.Text(), secret)
			})
		},
		"tool error with structuredContent and _meta": func(o outcome) bool {
			return contains(o, faults.RichToolErrorStructure) && contains(o, faults.RichToolErrorMeta)
		},
		"JSON-RPC error with retry data": func(o outcome) bool {
			return status(o, http.StatusOK) && string(o.answer.Message.Error.Data) == `{"retryable":true,"retryAfterMs":1500}`
		},

		"401": func(o outcome) bool { return header(o, http.StatusUnauthorized, "WWW-Authenticate", faults.Challenge) },
		"403, insufficient scope": func(o outcome) bool {
			return header(o, http.StatusForbidden, "WWW-Authenticate", faults.ScopeChallenge)
		},
		"307": func(o outcome) bool {
			return header(o, http.StatusTemporaryRedirect, "Location", strings.TrimSuffix(o.srv.URL(), "mcp")+"moved")
		},
	}
	for _, code := range []int{400, 403, 404, 408, 413, 418, 429, 500, 501, 502, 503, 504} {
		expectations[strconv.Itoa(code)] = func(o outcome) bool {
			return header(o, code, "Content-Type", "text/plain; charset=utf-8") && o.answer.Header.Get("Retry-After") == ""
		}
	}
	for _, code := range []int{502, 503} {
		name := strconv.Itoa(code)
		expectations[name+", HTML"] = func(o outcome) bool { return header(o, code, "Content-Type", "text/html; charset=utf-8") }
		expectations[name+", JSON"] = func(o outcome) bool {
			return header(o, code, "Content-Type", "application/json") && o.answer.Message == nil
		}
		expectations[name+", JSON-RPC"] = func(o outcome) bool {
			return status(o, code) && string(o.answer.Message.ID) == "2" && o.answer.Message.Error.Code == -32000
		}
		expectations[name+", empty"] = func(o outcome) bool { return header(o, code, "Content-Type", "") && o.answer.Size == 0 }
	}
	for _, code := range []int{429, 503} {
		name := strconv.Itoa(code) + ", Retry-After "
		for suffix, want := range map[string]string{
			"in seconds": "7", "negative": "-5", "of a year": "31536000", "garbage": "soon",
		} {
			expectations[name+suffix] = func(o outcome) bool { return header(o, code, "Retry-After", want) }
		}
		expectations[name+"as a date"] = func(o outcome) bool {
			at, err := http.ParseTime(o.answer.Header.Get("Retry-After"))
			return err == nil && status(o, code) && time.Until(at) > 0 && time.Until(at) <= 7*time.Second
		}
	}
	return expectations
}

func status(o outcome, code int) bool { return o.err == nil && o.answer.Status == code }

func header(o outcome, code int, name, want string) bool {
	return status(o, code) && o.answer.Header.Get(name) == want
}

func contains(o outcome, text string) bool { return strings.Contains(string(o.answer.Body), text) }

func good(a *testkit.Answer) bool {
	res, err := a.ToolResult()
	return err == nil && !res.IsError && strings.Contains(res.Text(), `"field_id":"F-1"`)
}

func wrongID(o outcome) bool {
	return status(o, http.StatusOK) && string(o.answer.Message.ID) == `"testkit-wrong-id"`
}

// dripped reports whether bytes arrived, but no message, before the deadline.
func dripped(o outcome) bool {
	return errors.Is(o.err, context.DeadlineExceeded) && o.answer.Size > 0 && o.answer.Message == nil
}

// largeEnd reports whether a large answer ends with the last of parts, and has the others near its end.
func largeEnd(o outcome, parts ...string) bool {
	if o.err != nil || o.answer.Size < large {
		return false
	}
	end := string(o.answer.Tail)
	return strings.HasSuffix(strings.TrimSpace(end), parts[len(parts)-1]) &&
		!slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(end, part) })
}

func TestEveryFaultShowsOnTheWire(t *testing.T) {
	t.Parallel()
	expectations := wire()
	seen := make(map[string]bool)
	for _, fault := range faults.All(large) {
		if seen[fault.Name] {
			t.Errorf("two faults have the name %q", fault.Name)
		}
		seen[fault.Name] = true
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			shows := expectations[fault.Name]
			if shows == nil {
				t.Fatal("no check for this fault")
			}
			srv := testkit.NewServer(t)
			ctx, client := connected(t, srv, testkit.Legacy)
			if endless := fault.Name == "hang" || strings.HasPrefix(fault.Name, "slow drip"); endless {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 250*time.Millisecond)
				defer cancel()
			}
			srv.Next(testkit.GetField, fault)
			o := outcome{srv: srv}
			o.answer, o.err = client.Call(ctx, testkit.GetField, `{"field_id":"F-1"}`)
			if fault.Name == "restart during the call" {
				if err := srv.Await(t.Context(), func() bool { return srv.Restarts() == 1 }); err != nil {
					t.Fatal(err)
				}
			}
			if !shows(o) {
				t.Errorf("answer %.600s, error %v", describe(o.answer), o.err)
			}
			if got, want := srv.Executions(testkit.GetField) == 1, fault.Runs; got != want {
				t.Errorf("the tool ran: %v, want %v", got, want)
			}

			after, fresh := connected(t, srv, testkit.Legacy)
			answer, err := fresh.Call(after, testkit.GetField, `{"field_id":"F-1"}`)
			if err != nil || !good(answer) {
				t.Errorf("the next call: %s, %v", describe(answer), err)
			}
		})
	}
	for name := range expectations {
		if !seen[name] {
			t.Errorf("no fault has the name %q", name)
		}
	}
}

func describe(a *testkit.Answer) string {
	if a == nil {
		return "none"
	}
	return strconv.Itoa(a.Status) + " " + strconv.FormatInt(a.Size, 10) + " bytes: " + string(a.Body[:min(len(a.Body), 500)])
}

func TestFaultsOfOtherMessages(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	ctx, client := connected(t, srv, testkit.Modern)
	srv.Next("tools/list", faults.Status(http.StatusServiceUnavailable, faults.Plain))
	srv.Always(testkit.EveryMessage, faults.Status(http.StatusBadGateway, faults.Plain))
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusBadGateway} {
		if answer, err := client.ListTools(ctx); err != nil || answer.Status != want {
			t.Errorf("tools/list: %s, %v, want HTTP %d", describe(answer), err, want)
		}
	}
	srv.Behave()
	if answer, err := client.ListTools(ctx); err != nil || answer.Status != http.StatusOK {
		t.Errorf("behaving again: %s, %v", describe(answer), err)
	}
}
