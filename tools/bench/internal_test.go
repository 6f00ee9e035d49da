package main

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The program starts itself: in tests, that is this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], roleMark) {
		main()
		return
	}
	os.Exit(m.Run())
}

// Everything starts, and is measured: too shortly for good results.
func TestRun(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"-benchtime 10ms -rounds 1 -run json/1000/32|child": {pooled, most, wrapped, "added p50 through wrap", "garbage a call"},
		"-load -run hang|result":                            {"of another server", "more memory"},
		"-benchtime 0s":                                     {"must be positive"},
	} {
		if strings.HasPrefix(args, "-load") && runtime.GOOS != "linux" {
			continue
		}
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out); err != nil {
			out.WriteString(err.Error())
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%v: no %q in the report:\n%s", args, text, &out)
			}
		}
	}
}

// A ratio is the median of the rounds' ratios, and a time may miss its budget by a little.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for own, want := range map[float64]missedError{1.2: nil, 0.9: nil, 0.8: {"throughput, 1 KB, 1 caller, against a ReverseProxy with a BufferPool"}} {
		round := func(own, base float64) map[string]sample {
			return map[string]sample{gated: {rate: own}, pooled: {rate: base}}
		}
		c := &comparison{setting: setting{pathJSON, 1000, 1}, rounds: []map[string]sample{round(1, 9), round(9, 1), round(own, 1)}}
		var out bytes.Buffer
		if missed, _ := errors.AsType[missedError](printBudgets(&out, budgets(map[setting]*comparison{c.setting: c}))); !slices.Equal(missed, want) {
			t.Errorf("missed %v\n%s", missed, &out)
		}
	}
}
