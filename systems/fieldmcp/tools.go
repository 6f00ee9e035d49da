package fieldmcp

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// The tools.
const (
	listResources    = "deere_list_resources"
	searchOperations = "deere_search_operations"
	getOrganization  = "deere_get_organization"
	getFarm          = "deere_get_farm"
	getField         = "deere_get_field"
	getFields        = "deere_get_fields"
	getBoundary      = "deere_get_boundary"
	getEquipment     = "deere_get_equipment"
	getOperation     = "deere_get_operation"
	analyzeYield     = "deere_analyze_yield"
	compareYields    = "deere_compare_yields"
)

type listArgs struct {
	pageArgs

	ResourceType string `json:"resourceType"`
	OrgID        string `json:"orgId"`
}

type searchArgs struct {
	pageArgs

	FieldID       string `json:"fieldId"`
	OrgID         string `json:"orgId"`
	OperationType string `json:"operationType"`
	Season        int    `json:"season"`
	StartDate     string `json:"startDate"`
	EndDate       string `json:"endDate"`
}

type orgArgs struct {
	OrgID string `json:"orgId"`
}

type farmArgs struct {
	FarmID string `json:"farmId"`
}

type fieldArgs struct {
	FieldID string `json:"fieldId"`
}

type boundaryArgs struct {
	FieldID    string `json:"fieldId"`
	BoundaryID string `json:"boundaryId,omitempty" jsonschema:"the field's own unless said otherwise"`
}

type equipmentArgs struct {
	EquipmentID string `json:"equipmentId"`
}

type operationArgs struct {
	OperationID string `json:"operationId"`
}

type fieldsArgs struct {
	FieldIDs []string `json:"fieldIds"`
}

type yieldArgs struct {
	FieldID string `json:"fieldId"`
	Season  int    `json:"season"`
}

type yieldsArgs struct {
	FieldIDs []string `json:"fieldIds"`
	Season   int      `json:"season"`
}

// A success is the answer of every tool.
type success struct {
	Error       bool                   `json:"error"` // always false
	Data        any                    `json:"data"`
	DataQuality string                 `json:"dataQuality"` // COMPLETE, PARTIAL or INSUFFICIENT
	MissingData []recourse.MissingData `json:"missingData"`
	NextCursor  string                 `json:"nextCursor,omitempty"` // of a list with more items
}

func complete(data any) success { return lacking(data, nil) }

// The impacts of missing data.
const (
	impactRequired = "required"
	impactDegraded = "degraded"
	impactOptional = "optional"
)

// lacking returns a success whose quality is the worst that the missing data allows.
func lacking(data any, missing []recourse.MissingData) success {
	is := func(impact string) bool {
		return slices.ContainsFunc(missing, func(m recourse.MissingData) bool { return m.Impact == impact })
	}
	quality := "COMPLETE"
	switch {
	case is(impactRequired):
		quality = "INSUFFICIENT"
	case is(impactDegraded):
		quality = "PARTIAL"
	}
	return success{Data: data, DataQuality: quality, MissingData: append([]recourse.MissingData{}, missing...)}
}

func (s *System) addTools() {
	add(s, &mcp.Tool{Name: listResources, Description: "Lists resources.", InputSchema: listSchema}, s.list)
	add(s, &mcp.Tool{Name: searchOperations, Description: "Finds what was done on fields.", InputSchema: searchSchema}, s.search)
	add(s, &mcp.Tool{Name: getOrganization, Description: "Returns an organization."},
		func(ctx context.Context, caller string, in orgArgs) (success, error) {
			return lookUp[organization](ctx, s, caller, "/organizations/"+url.PathEscape(in.OrgID), "organization", in.OrgID)
		})
	add(s, &mcp.Tool{Name: getFarm, Description: "Returns a farm."},
		func(ctx context.Context, caller string, in farmArgs) (success, error) {
			return lookUp[farm](ctx, s, caller, "/farms/"+url.PathEscape(in.FarmID), "farm", in.FarmID)
		})
	add(s, &mcp.Tool{Name: getField, Description: "Returns a field."},
		func(ctx context.Context, caller string, in fieldArgs) (success, error) {
			f, err := s.field(ctx, caller, in.FieldID)
			return complete(f), err
		})
	add(s, &mcp.Tool{Name: getFields, Description: "Returns up to 10 fields.", InputSchema: batchSchema}, s.fields)
	add(s, &mcp.Tool{Name: getBoundary, Description: "Returns the boundary of a field."}, s.boundary)
	add(s, &mcp.Tool{Name: getEquipment, Description: "Returns a machine."},
		func(ctx context.Context, caller string, in equipmentArgs) (success, error) {
			return lookUp[equipment](ctx, s, caller, "/equipment/"+url.PathEscape(in.EquipmentID), "equipment", in.EquipmentID)
		})
	add(s, &mcp.Tool{Name: getOperation, Description: "Returns an operation."}, s.operation)
	add(s, &mcp.Tool{Name: analyzeYield, Description: "Computes the yield of a field.", InputSchema: yieldSchema}, s.analyze)
	add(s, &mcp.Tool{Name: compareYields, Description: "Computes the yields of up to 5 fields.", InputSchema: compareSchema}, s.compare)
}

const fieldNotFound = "FIELD_NOT_FOUND"

// commonErrors are the codes with which every tool can fail, and ownErrors those of single tools. They are
// listed in tools/list, for the tools' pages.
var (
	commonErrors = []string{
		"MISSING_REQUIRED_PARAM", "INVALID_PARAM_TYPE", "INVALID_PARAM_VALUE",
		"TOKEN_EXPIRED", "TOKEN_REVOKED", "MISSING_SCOPE", "PROVIDER_NOT_CONNECTED", "429", "RATE_LIMIT_ORG", "RATE_LIMIT_PROVIDER",
		"PROVIDER_UNAVAILABLE", "PROVIDER_TIMEOUT", "PROVIDER_ERROR", "INTERNAL_ERROR",
	}
	ownErrors = map[string][]string{
		listResources:    {"ORG_NOT_FOUND"},
		searchOperations: {"MUTUALLY_EXCLUSIVE_PARAMS", fieldNotFound, "ORG_NOT_FOUND", "NO_DATA_FOR_PERIOD"},
		getOrganization:  {"ORG_NOT_FOUND"},
		getFarm:          {"RESOURCE_NOT_FOUND"},
		getField:         {fieldNotFound},
		getFields:        {fieldNotFound, "PARTIAL_SUCCESS"},
		getBoundary:      {fieldNotFound, "BOUNDARY_NOT_FOUND"},
		getEquipment:     {"EQUIPMENT_NOT_FOUND"},
		getOperation:     {"RESOURCE_NOT_FOUND"},
		analyzeYield:     {fieldNotFound, "INSUFFICIENT_DATA", "NO_DATA_FOR_PERIOD"},
		compareYields:    {fieldNotFound, "INSUFFICIENT_DATA", "NO_DATA_FOR_PERIOD", "PARTIAL_SUCCESS"},
	}
)

// add adds a tool that reads on behalf of the caller.
func add[In any](s *System, tool *mcp.Tool, do func(ctx context.Context, caller string, in In) (success, error)) {
	tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	tool.Meta = mcp.Meta{contract.ErrorsKey: slices.Concat(ownErrors[tool.Name], commonErrors)}
	mcp.AddTool(s.server, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		caller := s.caller(req)
		if caller == suspended { // on stdio, where there is no HTTP status for it
			return nil, nil, recourse.PermissionDenied().WithMessage("The access of this organization is suspended.")
		}
		out, err := do(ctx, caller, in)
		if err != nil {
			return nil, nil, err
		}
		return nil, out, nil
	})
}

// lookUp returns the provider's resource at a path.
func lookUp[T any](ctx context.Context, s *System, caller, path, resourceType, id string) (success, error) {
	var out T
	err := s.deere.get(ctx, caller, path, resourceType, id, &out)
	return complete(out), err
}

func (s *System) list(ctx context.Context, caller string, in listArgs) (success, error) {
	organizations, err := s.organizations(ctx, caller, in.OrgID)
	if err != nil {
		return success{}, err
	}
	switch in.ResourceType {
	case "organizations":
		return pageOf(organizations, in.pageArgs)
	case "fields":
		return listOf(ctx, s, caller, organizations, in, field.measure)
	case "equipment":
		return listOf(ctx, s, caller, organizations, in, asItIs[equipment])
	default:
		return listOf(ctx, s, caller, organizations, in, asItIs[boundary])
	}
}

// organizations returns the organization with that id, or all of them.
func (s *System) organizations(ctx context.Context, caller, id string) ([]organization, error) {
	if id == "" {
		var all []organization
		err := s.deere.get(ctx, caller, "/organizations", "", "", &all)
		return all, err
	}
	var one organization
	err := s.deere.get(ctx, caller, "/organizations/"+url.PathEscape(id), "organization", id, &one)
	return []organization{one}, err
}

func asItIs[T any](item T) (T, error) { return item, nil }

// listOf returns the converted items of some organizations.
func listOf[T, Out any](
	ctx context.Context, s *System, caller string, organizations []organization, in listArgs, convert func(T) (Out, error),
) (success, error) {
	all := []Out{}
	for _, o := range organizations {
		var items []T
		path := "/organizations/" + url.PathEscape(o.ID) + "/" + in.ResourceType
		if err := s.deere.get(ctx, caller, path, "organization", o.ID, &items); err != nil {
			return success{}, err
		}
		for _, item := range items {
			out, err := convert(item)
			if err != nil {
				return success{}, err
			}
			all = append(all, out)
		}
	}
	return pageOf(all, in.pageArgs)
}

func (s *System) search(ctx context.Context, caller string, in searchArgs) (success, error) {
	if in.StartDate != "" && in.EndDate != "" && in.EndDate < in.StartDate { // both are days, by the schema
		return success{}, recourse.InvalidValue("endDate", "a day that is not before startDate, "+in.StartDate, in.EndDate)
	}
	if in.OrgID != "" {
		if _, err := s.organizations(ctx, caller, in.OrgID); err != nil {
			return success{}, err
		}
	}
	if in.FieldID != "" {
		f, err := s.field(ctx, caller, in.FieldID)
		if err == nil && in.OrgID != "" && f.OrgID != in.OrgID {
			err = recourse.NotFound("field", in.FieldID).WithMessage("The organization %s has no field %s.", in.OrgID, in.FieldID)
		}
		if err != nil {
			return success{}, err
		}
	}
	if in.Season != 0 {
		in.StartDate, in.EndDate = seasonOf(in.Season)
	}
	found, err := s.operations(ctx, caller, in)
	if err != nil {
		return success{}, err
	}
	if len(found) == 0 {
		return success{}, recourse.NoData("There are no operations in that period.")
	}
	return pageOf(found, in.pageArgs)
}

func seasonOf(year int) (start, end string) {
	return fmt.Sprintf("%d-01-01", year), fmt.Sprintf("%d-12-31", year)
}

func (s *System) operations(ctx context.Context, caller string, in searchArgs) ([]operation, error) {
	query := url.Values{
		"fieldId": {in.FieldID}, "orgId": {in.OrgID}, "type": {in.OperationType}, "from": {in.StartDate}, "to": {in.EndDate},
	}
	var found []operation
	err := s.deere.get(ctx, caller, "/operations?"+query.Encode(), "", "", &found)
	return found, err
}

// A measuredField is a field with its area in hectares.
type measuredField struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	OrgID    string  `json:"orgId"`
	FarmID   string  `json:"farmId"`
	Hectares float64 `json:"hectares"`
}

func (s *System) field(ctx context.Context, caller, id string) (measuredField, error) {
	var f field
	if err := s.deere.get(ctx, caller, "/fields/"+url.PathEscape(id), "field", id, &f); err != nil {
		return measuredField{}, err
	}
	return f.measure()
}

// measure converts the area of a field.
func (f field) measure() (measuredField, error) {
	m := measuredField{ID: f.ID, Name: f.Name, OrgID: f.OrgID, FarmID: f.FarmID}
	switch f.Area.Unit {
	case "ha":
		m.Hectares = f.Area.Value
	case "ac":
		const hectares, places = 0.404686, 100
		m.Hectares = math.Round(f.Area.Value*hectares*places) / places
	default: // an ordinary error: its text is not revealed
		return m, fmt.Errorf("the area of %s is in the unknown unit %q", f.ID, f.Area.Unit)
	}
	return m, nil
}

func (s *System) boundary(ctx context.Context, caller string, in boundaryArgs) (success, error) {
	f, err := s.field(ctx, caller, in.FieldID)
	if err != nil {
		return success{}, err
	}
	path, id := "/fields/"+url.PathEscape(in.FieldID)+"/boundary", ""
	if in.BoundaryID != "" {
		path, id = "/boundaries/"+url.PathEscape(in.BoundaryID), in.BoundaryID
	}
	var b boundary
	err = s.deere.get(ctx, caller, path, "boundary", id, &b)
	switch {
	case err == nil && b.FieldID != in.FieldID:
		err = recourse.NotFound("boundary", id)
	case err == nil:
		return complete(b), nil
	}
	e := recourse.From(err)
	if e.Kind != recourse.KindNotFound {
		return success{}, e
	}
	// For the recovery: where to list the field's boundaries.
	if id == "" {
		return success{}, e.WithMessage("The field %s has no boundary. Its orgId is %s.", f.ID, f.OrgID)
	}
	return success{}, e.WithMessage("The field %s has no boundary %s. Its orgId is %s.", f.ID, id, f.OrgID)
}

// operation returns an operation. Without a harvest's weight, there is not enough data to compute anything.
func (s *System) operation(ctx context.Context, caller string, in operationArgs) (success, error) {
	var o operation
	err := s.deere.get(ctx, caller, "/operations/"+url.PathEscape(in.OperationID), "operation", in.OperationID, &o)
	if err != nil {
		return success{}, err
	}
	var missing []recourse.MissingData
	if o.Type == "harvest" && o.Tonnes == 0 {
		missing = append(missing, recourse.MissingData{
			What: "tonnes", Impact: impactRequired, Message: "There is no yield without a weight: upload that of the harvest.",
		})
	}
	return lacking(o, missing), nil
}
