package once_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// BenchmarkOnce makes calls that are made once, each with a key of its own, of 32 callers on two processors, with all that
// belongs to it: client and server are in the same process.
func BenchmarkOnce(b *testing.B) {
	srv := testkit.NewServer(b, testkit.InMemory())
	s, _ := onceStore(b)
	front := startOnce(b, srv, s, "once: {key: /reference}")
	c := front.Client(b, testkit.Modern)
	c.MustListTools(b)
	var n atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a, err := c.Call(b.Context(), testkit.OrderCreate, fmt.Sprintf(`{"reference":"R-%d","amount":1}`, n.Add(1)))
			if err != nil || !a.Succeeded() {
				b.Fatalf("got %+v, %v", a, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
