package promises_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/promises"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := promises.Parse("shop", []byte("# Promises\n\nshop/sold-out A text begins with `[sold_out]`. [Codes, row 1]\r\n"+
		"shop/gone (reading) GONE is read as sold_out. [settled]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []promises.Promise{
		{ID: "shop/sold-out", Text: "A text begins with `[sold_out]`.", Place: "Codes, row 1"},
		{ID: "shop/gone", Text: "GONE is read as sold_out.", Place: "settled", Reading: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseNamesEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := promises.Parse("shop", []byte("shop/a A. [x]\nshop/a A. [x]\nshop/Bad B. [x]\nother/c C. [x]\nshop/d D.\nshop/e [x]\nshop/f\n"))
	const placeMissing = ": write what is promised, and in brackets at the end where the source says so"
	want := []string{
		"shop.txt:2: shop/a is listed twice",
		`shop.txt:3: "shop/Bad" is not an id: write shop/ and lower-case words joined by hyphens`,
		`shop.txt:4: "other/c" is not an id: write shop/ and lower-case words joined by hyphens`,
		"shop.txt:5: shop/d" + placeMissing,
		"shop.txt:6: shop/e" + placeMissing,
		"shop.txt:7: shop/f" + placeMissing,
	}
	if diff := cmp.Diff(want, strings.Split(fmt.Sprint(err), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A recorder is a test that records its failures.
type recorder struct {
	testing.TB

	skipped bool
	cleanup []func()
	faults  []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Skipped() bool       { return r.skipped }
func (r *recorder) Cleanup(done func()) { r.cleanup = append(r.cleanup, done) }
func (r *recorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *recorder) end() {
	for _, done := range r.cleanup {
		done()
	}
}

func TestCoversRefuses(t *testing.T) {
	t.Parallel()
	listed, err := promises.Read(root)
	if err != nil || len(listed) == 0 {
		t.Fatalf("%d promises: %v", len(listed), err)
	}
	known := []string{listed[0].ID}
	tests := map[string]struct {
		ids     []string
		skipped bool
		want    []string
	}{
		"a listed promise":         {ids: known},
		"no promise":               {skipped: true},
		"an unknown promise":       {ids: []string{"shop/sold-out"}, want: []string{"shop/sold-out is not in contract/testdata/promises/shop.txt"}},
		"a test that skips itself": {ids: known, skipped: true, want: []string{"claims " + known[0] + " and is skipped"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := &recorder{TB: t}
			covers := promises.Covers // under another name, so that these count as no claims
			covers(test, tt.ids...)
			test.skipped = tt.skipped
			test.end()
			if diff := cmp.Diff(tt.want, test.faults); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindClaims(t *testing.T) {
	t.Parallel()
	const head = "package p_test\nimport \"github.com/recoursehq/recourse/internal/promises\"\n"
	tests := map[string]struct {
		src       string
		elsewhere bool // a file that not every platform builds
		claims    []string
		faults    []string
	}{
		"a call": {
			src:    head + "func TestA(t *testing.T) { t.Run(``, func(t *testing.T) { promises.Covers(t, \"shop/a\", `shop/b`) }) }",
			claims: []string{"shop/a by p.TestA", "shop/b by p.TestA"},
		},
		"rows": {
			src: head + "var table = []row{{promises: []string{\"shop/b\"}}, {promises: []string{\"shop/a\", \"shop/b\"}}}\n" +
				"func TestA(t *testing.T) { for _, tt := range table { promises.Covers(t, tt.promises...) } }",
			claims: []string{"shop/a by p.table", "shop/b by p.table"},
		},
		"readings": {
			src: head + "var table = []row{{readings: []string{\"shop/b\"}}}\n" +
				"func TestA(t *testing.T) { promises.Reads(t, \"shop/a\"); promises.Reads(t, tt.readings...) }",
			claims: []string{"shop/a read by p.TestA", "shop/b read by p.table"},
		},
		"rows that are claimed in another way": {
			src:    head + "var table = []row{{readings: []string{\"shop/b\"}}}\nfunc TestA(t *testing.T) { promises.Covers(t, tt.promises...) }",
			faults: []string{"p.table: shop/b is claimed by a row, and no test calls promises.Reads(t, row.readings...)"},
		},
		"rows that no test claims": {
			src:    head + "var table = []row{{promises: []string{\"shop/b\"}}}",
			faults: []string{"p.table: shop/b is claimed by a row, and no test calls promises.Covers(t, row.promises...)"},
		},
		"computed": {
			src: head + "func TestA(t *testing.T) { promises.Covers(t, \"shop/\"+name); promises.Covers(t, ids...); _ = row{promises: ids} }",
			faults: []string{
				"p/p_test.go:3:47: a claim has to be a literal, so that it is found without running the test",
				"p/p_test.go:3:62: only a field named promises can be spread: what it holds is found in the rows",
				"p/p_test.go:3:98: a field named promises holds []string{...}",
			},
		},
		"a helper": {
			src:    head + "func check(t *testing.T) { promises.Covers(t, \"shop/a\") }",
			faults: []string{"p/p_test.go:3:47: shop/a is claimed outside of a function Test..."},
		},
		"a test that may skip": {
			src:    head + "func TestA(t *testing.T) { if testing.Short() { t.Skip() }; promises.Covers(t, \"shop/a\") }",
			faults: []string{"p/p_test.go:3:80: shop/a is claimed by TestA, which may skip"},
		},
		"a file of one platform": {
			src:       head + "func TestA(t *testing.T) { promises.Covers(t, \"shop/a\") }",
			elsewhere: true,
			faults:    []string{"p/p_test.go:3:47: shop/a is claimed in a file that is not built on every platform"},
		},
		"another package of that name": {
			src: "package p_test\nimport \"example.com/promises\"\nfunc TestA(t *testing.T) { promises.Covers(t, \"shop/a\") }",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := finder{spread: map[spread]bool{}}
			if err := f.file("p/p_test.go", []byte(tt.src), !tt.elsewhere); err != nil {
				t.Fatal(err)
			}
			f.finish()
			var claims []string
			for _, c := range f.claims {
				how := " by "
				if c.way == reads {
					how = " read by "
				}
				claims = append(claims, c.id+how+c.String())
			}
			if diff := cmp.Diff(tt.claims, claims); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.faults, f.faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnclaimed(t *testing.T) {
	t.Parallel()
	listed := []promises.Promise{
		{ID: "shop/a", Text: "A."},
		{ID: "shop/b"},
		{ID: "shop/c"},
		{ID: "shop/d"},
		{ID: "shop/e"},
		{ID: "shop/f", Reading: true},
		{ID: "shop/g", Reading: true},
		{ID: "shop/h", Text: "H.", Reading: true},
	}
	claims := []claim{
		{id: "shop/b", pkg: "p", test: "TestB", way: provokes},
		{id: "shop/b", pkg: "p", test: "TestB", way: reads},
		{id: "shop/c", way: provokes},
		{id: "shop/x", pkg: "p", test: "TestX", way: provokes},
		{id: "shop/e", pkg: "p", test: "TestE", way: reads},
		{id: "shop/f", pkg: "p", test: "TestF", way: reads},
		{id: "shop/g", pkg: "p", test: "TestG", way: provokes},
	}
	got := compareClaims(listed, claims, []string{"shop/c", "shop/d", "shop/y"})
	want := []string{
		"no test claims shop/a: A.",
		"shop/c is claimed: take it out of open.txt (-update does)",
		"shop/e is only read, by p.TestE: bring its cause about, or list it as a reading",
		"p.TestG provokes shop/g, which is listed as a reading: claim it by promises.Reads",
		"no test claims shop/h: H.",
		"p.TestX claims shop/x, which is not listed",
		"shop/y is open and not listed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
