package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The record in _meta is limited in size. The members that a contract defines are not, however often they are read and
// written.
func TestBatchesComeWhole(t *testing.T) {
	t.Parallel()
	testBatchesComeWhole(t, 10, 200) // 200 items are longer than what is read ahead
}

// More sizes, one of them of megabytes.
func TestLongBatchesComeWhole(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testBatchesComeWhole(t, 100, 1000)
}

func testBatchesComeWhole(t *testing.T, sizes ...int) {
	t.Helper()
	places := []string{"fieldmcp", "recourse"} // the contracts that define batches
	reader := contract.Reader{Contracts: contract.Builtin().All()}
	for _, n := range sizes {
		want := contracttest.Batch(n)
		for _, from := range places {
			t.Run(fmt.Sprint(n, " ", from), func(t *testing.T) {
				t.Parallel()
				call := contracttest.ToolCall()
				result, by := contract.MustBuiltin(from).Write(want, &call).Result, from
				for _, to := range slices.Concat(places, places) {
					reading, ok := reader.Result(result)
					if !ok {
						t.Fatalf("%s: not read as a failure", by)
					}
					if diff := cmp.Diff(contracttest.Items(want), contracttest.Items(reading.Error())); diff != "" {
						t.Fatalf("from %s by %s (-want +got): %.2000s", by, reading.Sign, diff)
					}
					if meta := metaOf(t, result); len(meta) > recourse.MaxJSON {
						t.Errorf("%s: the record in _meta has %d bytes", by, len(meta))
					}
					if at := bytes.Index(result, []byte(`"isError":true`)); len(result) > 256<<10 && at > 1<<10 {
						t.Errorf("%s: in a result of %d bytes the sign is at %d", by, len(result), at)
					}
					call.Relay.Original, call.Relay.OriginalContract = result, reading.Contract
					result, by = contract.MustBuiltin(to).Write(reading.Error(), &call).Result, to
				}
			})
		}
	}
}

// A text that nobody can read is kept, even if there is a truncated record.
func TestCutRecordKeepsTheText(t *testing.T) {
	t.Parallel()
	record, err := json.Marshal(contracttest.Batch(100).WithCode("ours", "HALF_DONE"))
	if err != nil {
		t.Fatal(err)
	}
	text := "HALF_DONE, see " + strings.Repeat("what there is, ", 2000)
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	original := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true,"_meta":{%q:%s}}`, quoted, recourse.MetaKey, record)
	reader := contract.Reader{Contracts: contract.Builtin().All()}
	reading, ok := reader.Result(original)
	if !ok || !reading.Error().Truncated() {
		t.Fatalf("read as %v", reading.Failure)
	}
	for _, c := range contracttest.Every(t) {
		call := contracttest.ToolCall()
		call.Relay.Original, call.Relay.OriginalContract = original, reading.Contract
		if result := c.Write(reading.Error(), &call).Result; !bytes.Contains(result, quoted) {
			t.Errorf("%s: the text is not in %.300s", c.Name, result)
		}
	}
}

// A message only loses the prefix of an SDK.
func TestReadMessages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Error executing tool get_field: no such file": "no such file",
		"MCP error -32000: it broke":                   "it broke",
		"**Error:** it broke":                          "it broke",
		"it broke\nin two lines":                       "it broke\nin two lines",
		"[unheard_of] it broke":                        "[unheard_of] it broke",
		"[timeout] it took too long":                   "it took too long",
		`{"message":"it broke","code":"E1"}`:           "it broke\n{\"code\":\"E1\"}",
		`{"error":{"message":"it broke","code":"E1"}}`: "it broke\n{\"code\":\"E1\"}",
		`{"error":"it broke"}`:                         "it broke",
		// Any length, up to what the gateway reads.
		strings.Repeat("x", 256<<10):                                      strings.Repeat("x", 256<<10),
		strings.Repeat("x", 256<<10+9):                                    strings.Repeat("x", 256<<10) + " … (The text is cut here: 9 bytes of it are left out.)",
		"Error executing tool get_field: " + strings.Repeat("x", 200<<10): strings.Repeat("x", 200<<10),
		"MCP error -32000: " + strings.Repeat("x", 200<<10):               strings.Repeat("x", 200<<10),
		`{"error":{"message":"` + strings.Repeat("x", 200<<10) + `"}}`:    strings.Repeat("x", 200<<10),
		"[timeout] " + strings.Repeat("x", 200<<10):                       strings.Repeat("x", 200<<10),
		"1 validation error for f\nx\n  " + strings.Repeat("x", 200<<10):  "1 validation error for f\nx\n  " + strings.Repeat("x", 200<<10),
	} {
		reading, ok := reader().Result(textResult(t, text, true))
		if !ok || reading.Error().Message != want {
			t.Errorf("%.60q: %.60q, want %.60q", text, reading.Error().Message, want)
		}
	}
}

// A failure's text is written in full up to the limit of what is read, in every built-in contract; a longer one says
// that it was cut. This is a sample: half of the contracts for each size.
func TestTextsComeWhole(t *testing.T) {
	t.Parallel()
	testTextsComeWhole(t)
}

// The remaining combinations.
func TestLongTextsComeWhole(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testTextsComeWhole(t)
}

func testTextsComeWhole(t *testing.T) {
	t.Helper()
	for row, size := range []int{9 << 10, 70 << 10, 256 << 10, 300 << 10} {
		text := "The order was refused. " + strings.Repeat("because ", size/8)
		text = text[:size]
		for column, to := range contract.Builtin().All() {
			if !testkit.Sampled(t, row+column, 2) {
				continue
			}
			t.Run(fmt.Sprint(size, " ", to.Name), func(t *testing.T) {
				t.Parallel()
				reading, ok := reader().Result(textResult(t, text, true))
				if !ok {
					t.Fatal("not read")
				}
				call := contracttest.ToolCall()
				result := to.Write(reading.Error(), &call).Result
				want := text[:min(size, 256<<10)]
				if !bytes.Contains(result, []byte(want)) {
					t.Errorf("%d bytes for a text of %d, which is incomplete", len(result), size)
				}
				if said := bytes.Contains(result, []byte("is cut here")); said != (size > 256<<10) {
					t.Errorf("says that it was cut: %t", said)
				}
			})
		}
	}
}

// An answer that was cut is read as far as it goes, and says so.
func TestReadCut(t *testing.T) {
	t.Parallel()
	reader := contract.Reader{Contracts: contract.Builtin().All(), Cut: "4MiB"}
	for _, name := range []string{"fieldmcp", "recourse"} {
		call := contracttest.ToolCall()
		whole := contract.MustBuiltin(name).Write(contracttest.Batch(100), &call).Result
		for _, at := range []int{len(whole) / 8, len(whole) / 4, len(whole) / 2} {
			completed := internaljson.Complete(whole[:at])
			reading, ok := reader.Result(completed)
			if !ok {
				t.Fatalf("%s, %d bytes: not read: %.300s", name, at, completed)
			}
			e := reading.Error()
			if e.Kind != recourse.KindPartial || !e.Truncated() || !strings.HasSuffix(e.Message, "(The answer is cut here: it is longer than 4MiB.)") {
				t.Errorf("%s, %d bytes: by %s %s, truncated %t: %.300s", name, at, reading.Sign, e.Kind, e.Truncated(), e.Message)
			}
			if name == "fieldmcp" && (len(e.Succeeded) == 0 || len(e.Succeeded) > 50) {
				t.Errorf("%d items", len(e.Succeeded))
			}
		}
	}
}

// Lists beyond the limit are cut, which the message says.
func TestLongListsSaySo(t *testing.T) {
	t.Parallel()
	items := strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, 10_001), ",")
	text := `{"error":true,"code":"PARTIAL_SUCCESS","message":"Some failed.","retryable":false,"succeeded":[` + items + `]}`
	reading, ok := reader().Result(textResult(t, text, true))
	if !ok {
		t.Fatal("not read")
	}
	e := reading.Error()
	if len(e.Succeeded) != 10_000 || !e.Truncated() || e.Message != "Some failed. (Of the 10001 items of succeeded only the first 10000 are kept.)" {
		t.Errorf("%d items, truncated %t: %s", len(e.Succeeded), e.Truncated(), e.Message)
	}
}

func metaOf(t *testing.T, result []byte) []byte {
	t.Helper()
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatal(err)
	}
	return r.Meta[recourse.MetaKey]
}
