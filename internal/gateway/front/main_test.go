package front_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }
