package recourse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
)

// A tool's author returns a record; its caller checks the kind or the class.
func Example() {
	findField := func(id string) error { return recourse.NotFound("field", id).WithHint("List the fields first.") }

	err := fmt.Errorf("read the field: %w", findField("17"))
	switch {
	case errors.Is(err, recourse.KindNotFound):
		fmt.Println("not there:", recourse.From(err).Sentence())
	case errors.Is(err, recourse.ClassAuth):
		fmt.Println("sign in first")
	}
	// Output: not there: There is no field "17".
}

// The cause is for the operator, and clients do not see it.
func ExampleError_CausedBy() {
	err := recourse.Unavailable("John Deere").CausedBy(errors.New("dial tcp 10.0.0.1:443: connection refused"))

	fmt.Println(err)
	fmt.Println(err.Cause())
	// Output:
	// unavailable: John Deere is not available at the moment.
	// dial tcp 10.0.0.1:443: connection refused
}

// A write that was sent and never answered is not safe to repeat, whatever its kind.
func ExampleError_RetryAdvice() {
	err := recourse.Timeout("John Deere", 20*time.Second).
		WithEffect(recourse.EffectUnknown).
		WithVerify(recourse.Verify{Tool: "order_get", Args: recourse.Args{}.With("reference", "A-17"), LookAt: "status"})

	fmt.Println(err.RetryAdvice(), "with", err.Verify)
	// Output: re_read with order_get(reference='A-17')
}

func ExampleError_MarshalJSON() {
	raw, err := json.Marshal(recourse.RateLimited(12 * time.Second).WithOrigin(recourse.OriginGateway))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(string(raw))
	// Output:
	// {"v":1,"kind":"rate_limited","retry":"same_call","afterMs":12000,"origin":"gateway"}
}

func ExampleFromHTTP() {
	resp := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}}

	err := recourse.FromHTTP("John Deere", resp)
	fmt.Println(err.Kind, err.RetryAfter, err.Effect)
	// Output: rate_limited 7s none
}

func ExampleMissing() {
	err := recourse.Missing("order.items.0.sku")

	fmt.Println(err.Message)
	fmt.Println(err.Violations[0].Pointer)
	// Output:
	// Parameter order.items.0.sku is required.
	// /order/items/0/sku
}

func ExampleWait() {
	fmt.Println(recourse.FormatWait(90*time.Second), "/", recourse.FormatWait(250*time.Millisecond))
	// Output: 1 min 30 s / 250 ms
}
