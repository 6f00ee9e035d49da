package toollist_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }
