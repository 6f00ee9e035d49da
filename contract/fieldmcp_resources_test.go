package contract_test

import (
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// What does not exist is named by the call where the answer does not say it: the code and the advice are those of the resource.
func TestFieldMCPNamesWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("fieldmcp")
	for _, tt := range []struct{ message, arguments, code, id string }{
		{"Not here.", `{"fieldId":"F-7"}`, "FIELD_NOT_FOUND", "F-7"},
		{"Not here.", `{"orgId":"O-7"}`, "ORG_NOT_FOUND", "O-7"},
		{"Not here.", `{"orgId":"O-7","equipment_id":"E-1"}`, "RESOURCE_NOT_FOUND", ""},
		{"E-1 is gone.", `{"orgId":"O-7","equipment_id":"E-1"}`, "EQUIPMENT_NOT_FOUND", "E-1"},
		{"There is no boundary for field F-7.", `{"fieldId":"F-7"}`, "BOUNDARY_NOT_FOUND", ""},
		{"Boundary not found: F-7", `{"fieldId":"F-7"}`, "BOUNDARY_NOT_FOUND", ""},
		{"Field F-7 has no boundary B-1.", `{"fieldId":"F-7","boundaryId":"B-1"}`, "BOUNDARY_NOT_FOUND", "B-1"},
		{"Not here.", `{"fieldIds":["F-1","F-2"]}`, "FIELD_NOT_FOUND", ""},
		{"F-2 is gone.", `{"fieldIds":["F-1","F-2"]}`, "FIELD_NOT_FOUND", "F-2"},
		{"Not here.", `{"farmId":"M-1"}`, "RESOURCE_NOT_FOUND", "M-1"},
		{"Not here.", `{"name":"x"}`, "RESOURCE_NOT_FOUND", ""},
		{"Equipment E-77 was not found", `{"fieldId":"F-7"}`, "EQUIPMENT_NOT_FOUND", "E-77"},
		{"equipment 'tr 5' does not exist", `{"name":"x"}`, "EQUIPMENT_NOT_FOUND", "tr 5"},
		{"Could not find organization with id 55.", `{"fieldId":"F-7"}`, "ORG_NOT_FOUND", "55"},
		{"No field with ID F-9 exists", `{"fieldId":"F-7"}`, "FIELD_NOT_FOUND", "F-9"},
		{"The field you asked for was not found", `{"fieldId":"F-7"}`, "FIELD_NOT_FOUND", "F-7"},
		{"Unknown equipment: nothing", `{"fieldId":"F-7"}`, "EQUIPMENT_NOT_FOUND", ""},
	} {
		e := recourse.New(recourse.KindNotFound, tt.message).WithOrigin(recourse.OriginProvider)
		record := c.Write(e, &contract.Call{Method: "tools/call", Tool: "get", Arguments: []byte(tt.arguments)}).Record
		if record.Code != tt.code || record.Resource.ID != tt.id {
			t.Errorf("%q, %s: got %s %q, want %s %q", tt.message, tt.arguments, record.Code, record.Resource.ID, tt.code, tt.id)
		}
	}
}

// The name of the other side is no word about what does not exist.
func TestFieldMCPProviderIsNoResource(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("fieldmcp")
	e := recourse.FromStatus("Green Farm", 404).WithOrigin(recourse.OriginProvider).WithProvider("Green Farm")
	call := &contract.Call{Method: "tools/call", Tool: "get", Arguments: []byte(`{"fieldId":"F-7","orgId":"O-7"}`)}
	if record := c.Write(e, call).Record; record.Resource.Type != "" {
		t.Errorf("got %s %q, want no type", record.Code, record.Resource.Type)
	}
}
