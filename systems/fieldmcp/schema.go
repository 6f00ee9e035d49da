package fieldmcp

import "encoding/json"

// The inputSchemas that Go types cannot express: allowed values, and arguments that exclude each other.
var (
	listSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["resourceType"],
		"properties": {
			"resourceType": {"type": "string", "enum": ["fields", "organizations", "equipment", "boundaries"]},
			"orgId": {"type": "string", "description": "all organizations unless said otherwise"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "how many at most; 50 unless said otherwise"},
			"cursor": {"type": "string", "minLength": 1, "description": "the nextCursor of the page before"}
		}
	}`)
	searchSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false,
		"properties": {
			"fieldId": {"type": "string"},
			"orgId": {"type": "string"},
			"operationType": {"type": "string", "enum": ["seeding", "application", "harvest"]},
			"season": {"type": "integer", "minimum": 1900, "maximum": 2100, "description": "a year, in place of the dates"},
			"startDate": {"type": "string", "format": "date"},
			"endDate": {"type": "string", "format": "date"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "how many at most; 50 unless said otherwise"},
			"cursor": {"type": "string", "minLength": 1, "description": "the nextCursor of the page before"}
		},
		"allOf": [{"not": {"required": ["season", "startDate"]}}, {"not": {"required": ["season", "endDate"]}}]
	}`)
	batchSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["fieldIds"],
		"properties": {
			"fieldIds": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 10, "uniqueItems": true}
		}
	}`)
	yieldSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["fieldId", "season"],
		"properties": {
			"fieldId": {"type": "string", "minLength": 1},
			"season": {"type": "integer", "minimum": 1900, "maximum": 2100, "description": "a year"}
		}
	}`)
	compareSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["fieldIds", "season"],
		"properties": {
			"fieldIds": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2, "maxItems": 5, "uniqueItems": true},
			"season": {"type": "integer", "minimum": 1900, "maximum": 2100, "description": "a year"}
		}
	}`)
)
