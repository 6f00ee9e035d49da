package config

import (
	"reflect"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Schema returns the JSON Schema of configuration files.
func Schema() ([]byte, error) {
	return strictyaml.Schema(reflect.TypeFor[Config](), "config", "Configuration of Recourse")
}
