package config

import (
	"embed"
	"reflect"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// documentation has the structs that a file is read into. The comments above their fields are its documentation.
//
//go:embed access.go api.go config.go endpoints.go limits.go once.go protect.go providers.go store.go tls.go tracing.go users.go
var documentation embed.FS

var _ = strictyaml.DocumentFields(reflect.TypeFor[Config](), documentation)
