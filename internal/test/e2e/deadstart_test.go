package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Every client starts although its server has never been there, and is told so by its first call; also at an endpoint with several.
func TestClientsStartWithoutAServer(t *testing.T) {
	t.Parallel()
	fronts := map[string]struct {
		open func(testing.TB, string) *front
		says string // by the list of tools
	}{
		"one": {func(tb testing.TB, url string) *front { tb.Helper(); return start(tb, url) }, `"kind":"unreachable"`},
		"many": {func(tb testing.TB, url string) *front {
			tb.Helper()
			return amongMany(func(testing.TB) string { return url })(tb)
		}, `"kind":"unavailable"`},
	}
	for name, front := range fronts {
		for _, client := range clients() {
			t.Run(name+"/"+client.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				server := testkit.NewServer(t)
				if err := server.Stop(); err != nil {
					t.Fatal(err)
				}
				program := client.open(t)
				if err := program.connect(ctx, front.open(t, server.URL()).url, nil); err != nil {
					t.Fatalf("connect: %v", err)
				}
				list, err := program.request(ctx, "tools/list", "")
				if err != nil || !strings.Contains(string(list), front.says) {
					t.Errorf("tools/list: got %s, %v", list, err)
				}
				result, err := program.call(ctx, testkit.GetField, testkit.FieldArgs, 0)
				if err != nil || !strings.Contains(string(result), "could not be reached") {
					t.Errorf("the call: got %s, %v", result, err)
				}
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
				if result, err := program.call(ctx, testkit.GetField, testkit.FieldArgs, 0); err != nil || strings.Contains(string(result), `"isError":true`) {
					t.Errorf("the server is there: got %s, %v", result, err)
				}
			})
		}
	}
}
