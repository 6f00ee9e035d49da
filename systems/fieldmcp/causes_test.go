package fieldmcp_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// requestID matches request ids.
var requestID = regexp.MustCompile(`req-[0-9a-f]+`)

// Every code has its cause and its recovery, on every wire and through a gateway.
func TestCauses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool, arguments string
		want                  failure // without Error, Message, Succeeded, Failed and MissingData, which are compared separately
		check                 func(f failure) bool
		promises              []string
	}{
		{
			name: "no such field", tool: "deere_get_field", arguments: `{"fieldId":"FLD-999"}`,
			want: failure{
				Code: "FIELD_NOT_FOUND", SuggestedAction: "Use deere_list_resources with resourceType='fields' to find valid field IDs.",
				ResourceType: "field", ResourceID: "FLD-999",
			},
			promises: []string{"fieldmcp/code-field-not-found", "fieldmcp/hint-field-not-found", "fieldmcp/field-resource-id", "fieldmcp/field-resource-type"},
		},
		{
			name: "no such organization", tool: "deere_get_organization", arguments: `{"orgId":"ORG-9"}`,
			want: failure{
				Code: "ORG_NOT_FOUND", SuggestedAction: "Use deere_list_resources with resourceType='organizations' to find valid org IDs.",
				ResourceType: "organization", ResourceID: "ORG-9",
			},
			promises: []string{"fieldmcp/code-org-not-found", "fieldmcp/hint-org-not-found"},
		},
		{
			name: "no such equipment", tool: "deere_get_equipment", arguments: `{"equipmentId":"EQ-99"}`,
			want: failure{
				Code: "EQUIPMENT_NOT_FOUND", SuggestedAction: "Use deere_list_resources with resourceType='equipment' to find valid equipment IDs.",
				ResourceType: "equipment", ResourceID: "EQ-99",
			},
			promises: []string{"fieldmcp/code-equipment-not-found", "fieldmcp/hint-equipment-not-found"},
		},
		{
			name: "no such boundary", tool: "deere_get_boundary", arguments: `{"fieldId":"FLD-101","boundaryId":"BND-9"}`,
			want: failure{
				Code:            "BOUNDARY_NOT_FOUND",
				SuggestedAction: "Use deere_list_resources with resourceType='boundaries' and the field's orgId to find valid boundary IDs for that field.",
				ResourceType:    "boundary", ResourceID: "BND-9",
			},
			promises: []string{"fieldmcp/code-boundary-not-found", "fieldmcp/hint-boundary-not-found"},
		},
		{
			name: "no such farm", tool: "deere_get_farm", arguments: `{"farmId":"FRM-9"}`,
			want: failure{
				Code: "RESOURCE_NOT_FOUND", SuggestedAction: "Use deere_list_resources to discover available resources.",
				ResourceType: "farm", ResourceID: "FRM-9",
			},
			promises: []string{"fieldmcp/code-resource-not-found", "fieldmcp/hint-resource-not-found", "fieldmcp/farm-and-operation"},
		},
		{
			name: "the provider's limit", tool: "deere_get_field", arguments: `{"fieldId":"fault-429"}`,
			want: failure{
				Code: "RATE_LIMIT_PROVIDER", Retryable: true, RetryAfter: 12, Provider: "John Deere",
				SuggestedAction: "Wait 12 s: the provider limits requests for the moment.",
			},
			promises: []string{"fieldmcp/code-rate-limit-provider", "fieldmcp/hint-rate-limit-provider", "fieldmcp/field-retry-after"},
		},
		{
			name: "the provider's limit without a wait", tool: "deere_get_field", arguments: `{"fieldId":"fault-busy"}`,
			want: failure{
				Code: "RATE_LIMIT_PROVIDER", Retryable: true, RetryAfter: 2, Provider: "John Deere",
				SuggestedAction: "Wait 2 s: the provider limits requests for the moment.",
			},
			promises: []string{"fieldmcp/rate-limit-always-waits"},
		},
		{
			name: "an outage", tool: "deere_get_field", arguments: `{"fieldId":"fault-502"}`,
			want: failure{
				Code: "PROVIDER_UNAVAILABLE", Retryable: true, RetryAfter: 30, Provider: "John Deere",
				SuggestedAction: "Wait 30 s. The provider may have an outage.",
			},
			promises: []string{"fieldmcp/code-provider-unavailable", "fieldmcp/provider-unavailable-wait", "fieldmcp/hint-provider-unavailable"},
		},
		{
			name: "no answer in time", tool: "deere_get_field", arguments: `{"fieldId":"fault-slow"}`,
			want: failure{
				Code: "PROVIDER_TIMEOUT", Retryable: true, Provider: "John Deere",
				SuggestedAction: "Retry. Consider requesting less data: a shorter date range, fewer include options.",
			},
			promises: []string{"fieldmcp/code-provider-timeout", "fieldmcp/hint-provider-timeout", "fieldmcp/hint-fewer-include-options", "fieldmcp/upstream-deadline"},
		},
		{
			name: "a 500", tool: "deere_get_field", arguments: `{"fieldId":"fault-500"}`,
			want:     failure{Code: "PROVIDER_ERROR", Retryable: true, Provider: "John Deere", SuggestedAction: "Retry shortly."},
			promises: []string{"fieldmcp/code-provider-error-5xx"},
		},
		{
			name: "a 418", tool: "deere_get_field", arguments: `{"fieldId":"fault-418"}`,
			want:     failure{Code: "PROVIDER_ERROR", Provider: "John Deere", SuggestedAction: "Check the request parameters."},
			promises: []string{"fieldmcp/code-provider-error-4xx"},
		},
		{
			name: "insufficient data", tool: "deere_analyze_yield", arguments: `{"fieldId":"FLD-104","season":2025}`,
			want: failure{Code: "INSUFFICIENT_DATA", SuggestedAction: "Check the missingData array."},
			check: func(f failure) bool {
				return slices.Contains(f.MissingData, missing{"harvest", "required"}) && slices.Contains(f.MissingData, missing{"application", "optional"})
			},
			promises: []string{"fieldmcp/code-insufficient-data", "fieldmcp/hint-insufficient-data", "fieldmcp/field-missing-data"},
		},
		{
			name: "no data", tool: "deere_search_operations", arguments: `{"fieldId":"FLD-101","startDate":"1999-01-01","endDate":"1999-12-31"}`,
			want: failure{
				Code:            "NO_DATA_FOR_PERIOD",
				SuggestedAction: "Try a different time period. Use deere_search_operations to discover what data is available.",
			},
			promises: []string{"fieldmcp/code-no-data-for-period", "fieldmcp/hint-no-data-for-period"},
		},
		{
			name: "a part of a batch", tool: "deere_get_fields", arguments: `{"fieldIds":["FLD-101","FLD-999","fault-502"]}`,
			want: failure{
				Code: "PARTIAL_SUCCESS", SuggestedAction: "Use the succeeded array. Repeat only the failed items whose own error is retryable.",
			},
			check: func(f failure) bool {
				return len(f.Succeeded) == 1 && f.Succeeded[0].ID == "FLD-101" && f.Succeeded[0].Data["name"] == "North forty" && len(f.Failed) == 2 &&
					f.Failed[0].ID == "FLD-999" && f.Failed[0].Code == "FIELD_NOT_FOUND" && f.Failed[0].Message != "" && !f.Failed[0].Retryable &&
					f.Failed[1].Code == "PROVIDER_UNAVAILABLE" && f.Failed[1].Retryable
			},
			promises: []string{
				"fieldmcp/code-partial-success", "fieldmcp/hint-partial-success", "fieldmcp/field-succeeded", "fieldmcp/field-failed",
				"fieldmcp/failed-items-retryable", "fieldmcp/partial-data-usable",
			},
		},
		{
			name: "something unexpected", tool: "deere_get_field", arguments: `{"fieldId":"fault-units"}`,
			want: failure{Code: "INTERNAL_ERROR", SuggestedAction: "Include requestId REQUEST when contacting support."}, check: func(failure) bool { return true },
			promises: []string{"fieldmcp/code-internal-error", "fieldmcp/hint-internal-error"},
		},
	}
	s := newSystem(t, fieldmcp.Options{Timeout: time.Second, Quotas: plenty})
	wires := append(systemtest.Wires(), systemtest.Fronted("contract: fieldmcp", "forward: [authorization]", "timeout: 20s")...)
	for _, wire := range wires {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			declared := errorsOfTools(t, client)
			for _, tt := range tests {
				promises.Covers(t, tt.promises...)
				f := fail(t, client, tt.tool, tt.arguments)
				if !slices.Contains(declared[tt.tool], f.Code) {
					t.Errorf("%s: tools/list does not name %s among the errors of %s", tt.name, f.Code, tt.tool)
				}
				if tt.check != nil && !tt.check(f) {
					t.Errorf("%s: %+v", tt.name, f)
				}
				f.Error, f.Message, f.Succeeded, f.Failed, f.MissingData = false, "", nil, nil, nil
				f.SuggestedAction = requestID.ReplaceAllString(f.SuggestedAction, "REQUEST")
				if diff := cmp.Diff(tt.want, f); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.name, diff)
				}
			}
		})
	}
}

// errorsOfTools returns the codes that each tool can fail with, from tools/list.
func errorsOfTools(t *testing.T, client systemtest.Client) map[string][]string {
	t.Helper()
	var list struct {
		Tools []struct {
			Name string `json:"name"`
			Meta struct {
				Errors []string `json:"io.github.recoursehq/errors"`
			} `json:"_meta"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(client(t, "tools/list", `{}`).Result, &list); err != nil {
		t.Fatal(err)
	}
	errors := map[string][]string{}
	for _, tool := range list.Tools {
		errors[tool.Name] = tool.Meta.Errors
	}
	return errors
}

// The tools' pages list the errors of each tool, all of them codes of the contract.
func TestErrorsOfTools(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/errors-of-tools")

	client := systemtest.Stdio(t, newSystem(t, fieldmcp.Options{}).MCPServer())
	declared := errorsOfTools(t, client)
	var tools []contract.Tool
	for _, name := range client.Tools(t) {
		if len(declared[name]) == 0 {
			t.Errorf("no page for %s", name)
		}
		tools = append(tools, contract.Tool{Name: name, Errors: declared[name]})
	}
	page := contractdoc.ToolPages(rules(t), tools)
	_, field, _ := strings.Cut(page, "### Errors of `deere_get_field`")
	field, _, _ = strings.Cut(field, "\n## ")
	for code, want := range map[string]bool{"FIELD_NOT_FOUND": true, "PROVIDER_TIMEOUT": true, "ORG_NOT_FOUND": false, "PARTIAL_SUCCESS": false} {
		if strings.Contains(field, "`"+code+"`") != want {
			t.Errorf("deere_get_field lists %s: %t", code, !want)
		}
	}
	if strings.Contains(page, "does not list") || strings.Contains(page, "does not say") {
		t.Errorf("%s", page)
	}
}
