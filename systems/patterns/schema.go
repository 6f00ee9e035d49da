package patterns

import "encoding/json"

// The inputSchemas that Go types cannot express. A format may be anything, since a wrong one means the
// default; tools without formats ignore it.
var (
	searchSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false,
		"properties": {
			"q": {"type": "string", "description": "words to look for, such as undo"},
			"category": {"type": "string", "enum": ["creational", "structural", "behavioral", "concurrency", "architectural"]},
			"difficulty": {"type": "string", "enum": ["beginner", "intermediate", "advanced"]},
			"limit": {"type": "integer", "description": "most hits to return, from 1 to 100; 20 unless said otherwise"},
			"format": {"description": "markdown (the default), json or both"}
		}
	}`)
	getSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false,
		"properties": {
			"id": {"type": "string", "description": "the pattern's id, such as observer"},
			"format": {"description": "markdown (the default), json or both"}
		}
	}`)
	rulesSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "patternProperties": {"^format$": {}},
		"properties": {
			"category": {"type": "string", "description": "size, coupling or state"}
		}
	}`)
	codeSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "patternProperties": {"^format$": {}}, "required": ["code"],
		"properties": {
			"code": {"type": "string", "description": "the source text"},
			"language": {"type": "string", "enum": ["go", "java", "javascript", "python", "rust", "typescript"]}
		}
	}`)
	skillsSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "patternProperties": {"^format$": {}},
		"properties": {
			"q": {"type": "string", "description": "words to look for; all skills unless there are any"},
			"category": {"type": "string", "enum": ["creational", "structural", "behavioral", "concurrency", "architectural"]}
		}
	}`)
	skillSchema = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "patternProperties": {"^format$": {}}, "required": ["slug"],
		"properties": {
			"slug": {"type": "string", "minLength": 1, "description": "the skill's slug, such as add-undo"}
		}
	}`)
)
