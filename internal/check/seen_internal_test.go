package check

import "testing"

// A draft has its parameter where a word of the text names it, not where its letters happen to stand.
func TestDraftsCutWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Input validation error: expected a number at a": "Input validation error: expected a number at |",
		"a: Input validation error":                      "|: Input validation error",
		"Input validation error":                         "",
		"validation of data_a failed":                    "",
	} {
		before, after, found := cutWord(text, "a")
		if got := before + "|" + after; found != (want != "") || found && got != want {
			t.Errorf("%s: got %q, %t", text, got, found)
		}
	}
}

// A schema may have a property without a name: nothing names it.
func TestDraftsOfNamelessParameters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Input validation error", "No. It is missing."} {
		if before, after, found := cutWord(text, ""); found {
			t.Errorf("%s: got %q, %q", text, before, after)
		}
	}
}

// What a verify call asks for by the same name as the write is of the write, and not of the sandbox.
func TestDraftedVerifyIsOfTheWrite(t *testing.T) {
	t.Parallel()
	write := &listedTool{Name: "append"}
	seen := &transcript{writes: []*writeSeen{{tool: write, write: &Write{
		Args: []byte(`{"path":"a.txt","text":"{mark}"}`), Verify: VerifyCall{Tool: "read", Args: []byte(`{"path":"a.txt","lines":3}`)},
	}}}}
	v := seen.verified(write)
	if v == nil || v.From["path"] != "/path" || len(v.With) != 1 || string(v.With["lines"]) != "3" {
		t.Errorf("verify: %+v", v)
	}
}
