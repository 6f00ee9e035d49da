package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The program starts itself: in tests, that is this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == roleGateway || os.Args[1] == roleBare) {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every subject is measured, at sizes that are too small for good results.
func TestRun(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                   "streams -n 1000,9000",
		"streams -n 2,4":     "goroutines a stream",
		"console -n 20,200":  "SQLite /failures?server=rare, ms",
		"streams -n 100000":  "is no size",
		"streams -for 1ns":   "deadline",
		"streams --unknown":  "not defined",
		"something -n 1,2,3": "name one of these",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %q in the report:\n%s", args, want, &out)
		}
	}
}
