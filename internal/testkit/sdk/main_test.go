package sdk_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// within bounds every wait of these tests; none comes near it unless something is wrong.
const within = 20 * time.Second

func eras() []testkit.Era { return []testkit.Era{testkit.Legacy, testkit.Modern} }
