package sdk_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// within is the time limit of every wait in these tests; none comes near it.
const within = 20 * time.Second
