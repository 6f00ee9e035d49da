package inject

import (
	"embed"
	"reflect"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// documentation has the structs that a file is read into. The comments above their fields are its documentation.
//
//go:embed plan.go
var documentation embed.FS

var _ = strictyaml.DocumentFields(reflect.TypeFor[Plan](), documentation)
