package main

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A cost is the cost of one operation.
type cost struct {
	time   float64 // in nanoseconds
	bytes  float64 // on the heap
	allocs float64
}

func costOf(operation func()) cost {
	result := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			operation()
		}
	})
	return cost{
		time:   float64(result.T.Nanoseconds()) / float64(result.N),
		bytes:  float64(result.AllocedBytesPerOp()),
		allocs: float64(result.AllocsPerOp()),
	}
}

// translation returns the highest cost of writing a failure as a result, or of reading it back, of all built-in
// contracts.
func translation() cost {
	var most cost
	set := contract.Builtin()
	failure := failedCall()
	call := contract.Call{Method: "tools/call", Tool: "echo"}
	reader := contract.Reader{Contracts: set.All()}
	for _, c := range set.All() {
		result := c.Write(failure, &call).Result
		for _, operation := range []func(){
			func() { c.Write(failure, &call) },
			func() { reader.Result(result) },
		} {
			one := costOf(operation)
			most = cost{max(most.time, one.time), max(most.bytes, one.bytes), max(most.allocs, one.allocs)}
		}
	}
	return most
}

// masking returns the cost of masking a failing text of 1 MB: sentences, and an address.
func masking() cost {
	const size, sentence = 1 << 20, "The order could not be created, since the field is closed for the season.\n"
	text := "dial tcp 10.0.0.1:5432: connect: connection refused\n" + strings.Repeat(sentence, size/len(sentence))
	masker := redact.New(redact.All)
	return costOf(func() { masker.String(text) })
}

// failedCall returns a record of 1 KB.
func failedCall() *recourse.Error {
	return recourse.Unavailable("John Deere").WithRetryAfter(12*time.Second).WithOrigin(recourse.OriginProvider).
		WithEffect(recourse.EffectNone).WithRequestID("req-0123456789abcdef").
		WithUpstream(recourse.Upstream{Status: 503, Code: "maintenance"}).
		WithResource("field", "f-4711").
		WithDetail("notice", strings.Repeat("The service is being maintained. ", 20))
}

// classification returns the cost of recognising an answer of 1 KB as a success.
func classification() (cost, error) {
	text := append(appendOpening(nil, []byte("17")), echoText(900)+closing...)
	var scan wire.Scanner
	var err error
	c := costOf(func() {
		scan.Reset()
		_, broken := scan.Write(text)
		err = cmp.Or(err, broken, scan.Close())
	})
	if signs := scan.Signs(); err == nil && (signs.IsError || signs.Result.IsZero()) {
		err = errors.New("a success is taken for a failure")
	}
	return c, err
}
