package contractform

import (
	"reflect"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Schema returns the JSON Schema of contract files.
func Schema() ([]byte, error) {
	return strictyaml.Schema(reflect.TypeFor[File](), "contract", "Contract of Recourse")
}

// FamilySchema returns the JSON Schema of family files.
func FamilySchema() ([]byte, error) {
	return strictyaml.Schema(reflect.TypeFor[FamilyFile](), "family", "Family of failures, for Recourse")
}
