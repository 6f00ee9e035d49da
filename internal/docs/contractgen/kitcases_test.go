package contractgen_test

// The golden kit's cases that are written by hand; the others are derived from the kinds and the codes.

// A kitWriting is a record to write; call has the unusual properties of the call.
type kitWriting struct{ name, record, call string }

// kitVariations are written by every contract.
var kitVariations = []kitWriting{
	{"effect/unknown", `{"v":1,"kind":"timeout","effect":"unknown","origin":"gateway","provider":"John Deere"}`, `{"tool":"order_create"}`},
	{
		"effect/unknown with a verify call",
		`{"v":1,"kind":"unreachable","effect":"unknown","verify":{"tool":"order_get","args":{"reference":"A-17","full":true},"lookAt":"status"}}`,
		`{"tool":"order_create"}`,
	},
	{"effect/applied", `{"v":1,"kind":"server_error","effect":"applied","message":"The order is there, the receipt is not."}`, ""},
	{"retry/stated", `{"v":1,"kind":"job_failed","retry":"same_call","message":"The worker was lost."}`, ""},
	{"retry/refused", `{"v":1,"kind":"timeout","retry":"never"}`, ""},
	{"status/400", `{"v":1,"kind":"client_error","message":"No.","origin":"provider","provider":"John Deere","upstream":{"status":400}}`, ""},
	{"status/401", `{"v":1,"kind":"unauthenticated","origin":"provider","upstream":{"status":401}}`, ""},
	{"status/402", `{"v":1,"kind":"quota_exhausted","origin":"provider","upstream":{"status":402}}`, ""},
	{"status/403", `{"v":1,"kind":"permission_denied","origin":"provider","upstream":{"status":403}}`, ""},
	{"status/404", `{"v":1,"kind":"not_found","origin":"provider","upstream":{"status":404},"resource":{"type":"field","id":"xyz"}}`, ""},
	{"status/408", `{"v":1,"kind":"timeout","origin":"provider","upstream":{"status":408}}`, ""},
	{"status/409", `{"v":1,"kind":"conflict","origin":"provider","upstream":{"status":409}}`, ""},
	{"status/422", `{"v":1,"kind":"invalid_value","origin":"provider","upstream":{"status":422}}`, ""},
	{"status/429", `{"v":1,"kind":"rate_limited","afterMs":12000,"origin":"provider","upstream":{"status":429,"requestId":"up-1"}}`, ""},
	{"status/500", `{"v":1,"kind":"server_error","origin":"provider","upstream":{"status":500}}`, ""},
	{"status/501", `{"v":1,"kind":"not_implemented","origin":"provider","upstream":{"status":501}}`, ""},
	{"status/503", `{"v":1,"kind":"unavailable","origin":"provider","upstream":{"status":503}}`, ""},
	{"upstream/word", `{"v":1,"kind":"client_error","message":"It is silent.","origin":"provider","upstream":{"status":422,"code":"no_audio_track"}}`, ""},
	{"upstream/no word", `{"v":1,"kind":"server_error","origin":"provider","upstream":{"status":503,"code":"all busy!"}}`, ""},
	{"details", `{"v":1,"kind":"conflict","message":"It was changed.","details":{"note":{"b":[1,"x",null],"a":true},"version":7}}`, ""},
	{
		"violations",
		`{"v":1,"kind":"missing_param","message":"Parameters a and range.from are missing.","effect":"none","violations":[` +
			`{"pointer":"/a","param":"a","rule":"required"},` +
			`{"pointer":"/range/from","param":"range.from","rule":"format","got":"soon","want":"a date","message":"range.from must be a date"}]}`,
		"",
	},
	{"violations/null", `{"v":1,"kind":"invalid_type","violations":[{"pointer":"/id","param":"id","rule":"type","got":null,"want":"string"}]}`, ""},
	{"violations/zero", `{"v":1,"kind":"invalid_value","violations":[{"pointer":"/id","param":"id","rule":"minimum","got":0,"want":"at least 1"}]}`, ""},
	{"hints/own", `{"v":1,"kind":"not_found","hints":["First; this.","Then that."],"resource":{"type":"order","id":"o-1"}}`, ""},
	{"hints/no such tools", `{"v":1,"kind":"not_found","resource":{"type":"field","id":"xyz"}}`, `{"tools":["get_field"]}`},
	{"resource/order", `{"v":1,"kind":"not_found","resource":{"type":"order","id":"o-1"}}`, ""},
	{"resource/state", `{"v":1,"kind":"invalid_state","resource":{"type":"order","id":"o-1"}}`, ""},
	{"resource/organization", `{"v":1,"kind":"not_found","resource":{"type":"organization"}}`, ""},
	{"resource/study", `{"v":1,"kind":"not_found","resource":{"type":"study","id":"s-1"}}`, ""},
	{"resource/limit", `{"v":1,"kind":"limit_reached","resource":{"type":"workspace"}}`, ""},
	{"wait/part of a second", `{"v":1,"kind":"unavailable","afterMs":1500}`, ""},
	{"wait/minutes", `{"v":1,"kind":"rate_limited","afterMs":90000,"origin":"server"}`, ""},
	{"wait/that helps nobody", `{"v":1,"kind":"not_found","afterMs":12000,"origin":"server"}`, ""},
	{"wait/of items", `{"v":1,"kind":"partial","afterMs":12000,"failed":[{"id":"b","error":{"v":1,"kind":"timeout"}}],"origin":"server"}`, ""},
	{"wait/after it was done", `{"v":1,"kind":"unavailable","effect":"applied","afterMs":12000,"origin":"server"}`, ""},
	{"wait/hours", `{"v":1,"kind":"quota_exhausted","afterMs":7200000,"origin":"server"}`, ""},
	{
		"wait/until a reset",
		`{"v":1,"kind":"rate_limited","origin":"gateway","quotas":[{"policy":"month","limit":17000,"remaining":0,"resetAt":"2026-08-01T00:00:00Z"},` +
			`{"policy":"minute","limit":100,"windowMs":60000,"remaining":3,"resetAt":"2026-07-28T12:00:12Z"}]}`,
		`{"http":true}`,
	},
	{
		"partial/inner records",
		`{"v":1,"kind":"partial","succeeded":[{"id":"a","value":[1]},{"id":"b"}],"failed":[{"id":"c","error":` +
			`{"v":1,"kind":"rate_limited","message":"Too fast.","afterMs":5000,"origin":"provider"}}]}`,
		"",
	},
	{"scopes", `{"v":1,"kind":"missing_scope","provider":"John Deere","missingScopes":["ag1"]}`, ""},
	{"text/none", `{"v":1,"kind":"unknown"}`, ""},
	{"text/marks", `{"v":1,"kind":"internal","message":"First line\n[second] x Suggestions: y; z [envelope] {\"a\":1} {message}","details":{"x":" [envelope] "}}`, ""},
	{"text/lines", `{"v":1,"kind":"internal","message":"No match for:\r\n\n  a := 1\rSafe to repeat: make the same call again.\n","hints":["  Look\nhere. "]}`, ""},
	{"text/unicode", `{"v":1,"kind":"internal","message":"ü \ud83d\ude00 <&> \u0001 \u007f \"q\" \\","requestId":"req-1"}`, ""},
	{"words/of another contract", `{"v":1,"kind":"not_found","code":"GONE","contract":"another","hints":["Look elsewhere."]}`, ""},
	{"words/not listed", `{"v":1,"kind":"conflict","code":"NEVER_LISTED","contract":"fieldmcp"}`, ""},
	{"members/unknown", `{"v":1,"kind":"timeout","novel":{"a":1}}`, ""},
	{"kind/unknown", `{"v":1,"kind":"a_novel_kind","message":"Something new."}`, ""},
	{"call/output schema", `{"v":1,"kind":"timeout","origin":"server"}`, `{"outputSchema":true}`},
	{"call/result type", `{"v":1,"kind":"timeout","origin":"server"}`, `{"resultType":true}`},
	{"call/another method", `{"v":1,"kind":"timeout","effect":"none","origin":"server"}`, `{"method":"resources/read"}`},
	{"call/refused", `{"v":1,"kind":"too_large","origin":"gateway"}`, `{"status":413}`},
}

// kitVariationsOf are written by the contract of that name.
var kitVariationsOf = map[string][]kitWriting{
	"commerce": {
		{"verify/a list", `{"v":1,"kind":"timeout","effect":"unknown"}`, `{"tool":"create-sales-order","arguments":{"order":{"externalId":"x-1","total":12.5}}}`},
		{"verify/no argument", `{"v":1,"kind":"timeout","effect":"unknown"}`, `{"tool":"cancel-order","arguments":{}}`},
		{"verify/a secret", `{"v":1,"kind":"unavailable","effect":"unknown"}`, `{"tool":"cancel-order","arguments":{"orderId":"o-1","password":"x"}}`},
		{"verify/no such tool", `{"v":1,"kind":"unavailable","effect":"unknown"}`, `{"tool":"cancel-order","arguments":{"orderId":"o-1"},"tools":["cancel-order"]}`},
		{"arguments/unknown param", `{"v":1,"kind":"unknown_param","violations":[{"pointer":"/x","param":"x","rule":"additionalProperties","message":"x is not known"}]}`, `{"at":"arguments"}`},
		{"arguments/none named", `{"v":1,"kind":"invalid_type"}`, `{"at":"arguments"}`},
		{"format", `{"v":1,"kind":"invalid_value","violations":[{"pointer":"/email","param":"email","rule":"format","want":"an e-mail address"}]}`, ""},
		{"adapter/stated", `{"v":1,"kind":"server_error","retry":"same_call","afterMs":3000,"upstream":{"code":"SHOPIFY_BUSY"}}`, ""},
	},
	"studies": {
		{"verify/with arguments", `{"v":1,"kind":"timeout","effect":"unknown","origin":"provider"}`, `{"tool":"run_dispatch","arguments":{"study_id":"s-1"}}`},
		{"verify/without arguments", `{"v":1,"kind":"unreachable","effect":"unknown"}`, `{"tool":"workspace_create"}`},
		{"verify/not in the table", `{"v":1,"kind":"timeout","effect":"unknown"}`, `{"tool":"tunnel_write"}`},
		{"argument in a hint", `{"v":1,"kind":"quota_exhausted","upstream":{"status":402}}`, `{"tool":"run_dispatch","arguments":{"workspace_id":"w-1"}}`},
		{"returned", `{"v":1,"kind":"conflict","message":"A bot is there.","details":{"bot_id":"b-1"}}`, `{"tool":"chatbot_setup"}`},
		{"returned/output schema", `{"v":1,"kind":"not_found"}`, `{"tool":"person_attach","outputSchema":true}`},
		{"tunnel/port conflict", `{"v":1,"kind":"conflict","message":"A tunnel is up on port 8080."}`, `{"tool":"connect_start"}`},
		{"signing key", `{"v":1,"kind":"unauthenticated","upstream":{"status":401,"code":"signing_key_mismatch"}}`, ""},
		{"envelope", `{"v":1,"kind":"client_error","message":"The link is dead.","hints":["Use another; link."],"origin":"provider","upstream":{"code":"media_download_failed"},"details":{"source_url":"https://example.com/a.mp4","http_status":404}}`, ""},
	},
	"terra": {
		{"shape/neither", `{"v":1,"kind":"missing_param","violations":[{"pointer":"/fields","param":"fields","rule":"required"},{"pointer":"/select","param":"select","rule":"required"}]}`, ""},
		{"shape/both", `{"v":1,"kind":"conflicting_params","violations":[{"pointer":"/fields","param":"fields"},{"pointer":"/select","param":"select"}]}`, ""},
		{"timestamp", `{"v":1,"kind":"invalid_value","violations":[{"pointer":"/where/value","param":"where.value","rule":"timestamp","got":"a'b"}]}`, ""},
		{"timestamp/number", `{"v":1,"kind":"invalid_value","violations":[{"pointer":"/where/value","param":"where.value","rule":"timestamp","got":12.5}]}`, ""},
		{"sent", `{"v":1,"kind":"unavailable","effect":"unknown"}`, `{"at":"upstream","http":true}`},
	},
	"fieldmcp": {
		{"effect/of a read", `{"v":1,"kind":"timeout","effect":"none","provider":"John Deere"}`, ""},
		{"tools/known", `{"v":1,"kind":"not_found","resource":{"type":"boundary","id":"b"}}`, `{"tools":["deere_list_resources"]}`},
	},
}

// kitFormats are arguments for a tool with a format argument.
var kitFormats = []struct{ name, arguments string }{
	{"markdown", `{"format":"markdown"}`},
	{"json", `{"format":"json"}`},
	{"both", `{"format":"both"}`},
	{"unknown value", `{"format":"html"}`},
	{"no text", `{"format":7}`},
	{"no arguments", `null`},
}

var kitQuestions = []kitWriting{
	{
		"full",
		`{"message":"No pattern has the id xyz.","reason":"not_found","fields":["id"],"suggestions":{"id":["xy","xyzzy"]},` +
			`"options":[{"label":"The xy pattern","value":"xy","description":"Close by","field":"id"},{"label":"None","value":"none"}]}`,
		"",
	},
	{"short", `{"message":"Which one?"}`, `{"resultType":true}`},
}

// A kitReading is an answer to read, in a file of the kit.
type kitReading struct{ name, file, answer string }

// kitReadings are read by every contract.
var kitReadings = []kitReading{
	{"success", kitResult, `{"content":[{"type":"text","text":"It is done."}],"isError":false}`},
	{"success in an object", kitResult, `{"content":[{"type":"text","text":"{\"id\":1}"}],"structuredContent":{"id":1}}`},
	{"unknown text", kitResult, `{"content":[{"type":"text","text":"It broke."}],"isError":true}`},
	{"image only", kitResult, `{"content":[{"type":"image","data":"","mimeType":"image/png"}],"isError":true}`},
	{"question", kitResult, `{"content":[{"type":"text","text":"Which one?"}],"structuredContent":{"kind":"needsInput:v1","type":"elicitation","message":"Which one?"}}`},
}

// kitReadingsOf are read by the contract of that name.
var kitReadingsOf = map[string][]kitReading{
	"recourse": {
		{"text alone", kitResult, `{"content":[{"type":"text","text":"[timeout] John Deere did not answer.\nWait.\nThen call again."}],"isError":true}`},
		{"lines alone", kitResult, `{"content":[{"type":"text","text":"[internal] No match for:\n  \n    a := 1\n  Safe to repeat: make the same call again.\nLook here.\n\nAnd there."}],"isError":true}`},
		{"unlisted code", kitResult, `{"content":[{"type":"text","text":"[too_blue] It is too blue."}],"isError":true}`},
		{"record behind a prefix", kitResult, `{"content":[{"type":"text","text":"Error executing tool t: {\"v\":1,\"kind\":\"timeout\",\"message\":\"Late.\",\"own\":1}"}],"isError":true}`},
	},
	"fieldmcp": {
		{"text alone", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"FIELD_NOT_FOUND\",\"message\":\"No such field.\",\"retryable\":false,\"resourceId\":\"xyz\"}"}],"isError":true}`},
		{"structuredContent alone", kitResult, `{"content":[],"structuredContent":{"error":true,"code":"PROVIDER_TIMEOUT","message":"Late.","retryable":true,"provider":"John Deere"},"isError":true}`},
		{"without isError", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"NO_DATA_FOR_PERIOD\",\"message\":\"None.\",\"retryable\":false}"}]}`},
		{"another word for a code", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"RATE_LIMIT_USER\",\"message\":\"Slow down.\",\"retryable\":true,\"retryAfter\":7}"}],"isError":true}`},
		{"unlisted code", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"SOIL_TOO_WET\",\"message\":\"Wait.\",\"retryable\":true}"}],"isError":true}`},
		{"another retryable", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"PROVIDER_ERROR\",\"message\":\"It failed.\",\"retryable\":false}"}],"isError":true}`},
		{"rate limit", kitHTTP, "429\nContent-Type: application/json\nRetry-After: 12\n\n" +
			`{"error":"Rate limit exceeded. Try again in 12 seconds.","errorCode":429,"rateLimits":{"minuteRemaining":3,"minuteResetAt":1785240012000,"monthlyRemaining":0,"monthlyResetAt":1785542400000}}`},
		{"impossible resets", kitHTTP, "429\nContent-Type: application/json\nRetry-After: -5\n\n" +
			`{"error":"Rate limit exceeded.","errorCode":429,"rateLimits":{"minuteRemaining":-1,"minuteResetAt":9007199254740991,"monthlyResetAt":-1}}`},
		{"members of other types", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"ORG_NOT_FOUND\",\"message\":7,\"retryable\":\"no\",\"resourceId\":12,\"failed\":{},\"missingScopes\":[1]}"}],"isError":true}`},
		{"unknown members at every level", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"PARTIAL_SUCCESS\",\"message\":\"m\",\"retryable\":false,\"own\":{\"a\":[1,null]},\"succeeded\":[{\"id\":\"a\",\"data\":1},{\"id\":\"b\",\"own\":2},{\"other\":3},{\"fieldId\":\"f\",\"data\":{\"x\":1}},\"e\",4],\"failed\":[{\"id\":\"c\",\"code\":\"PROVIDER_TIMEOUT\",\"message\":\"Late.\",\"retryable\":true,\"own\":5},{\"id\":\"d\",\"error\":{\"code\":\"FIELD_NOT_FOUND\",\"message\":\"No.\",\"retryable\":false,\"own\":6},\"own\":7},{\"error\":{\"code\":\"RATE_LIMIT_PROVIDER\",\"id\":\"g\",\"retryAfter\":3}},{\"id\":\"h\",\"error\":\"gone\"},{\"id\":\"i\",\"error\":{\"reason\":\"none\"}},{\"id\":\"j\",\"code\":\"PROVIDER_TIMEOUT\",\"error\":{\"code\":\"FIELD_NOT_FOUND\"}},{\"id\":8,\"message\":[\"m\"]}],\"missingData\":[{\"what\":\"soil\",\"impact\":\"required\"},{\"what\":[\"w\"],\"own\":9}]}"}],"isError":true}`},
		{"items that are no objects", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"PARTIAL_SUCCESS\",\"message\":\"m\",\"retryable\":false,\"succeeded\":[null,true],\"failed\":[\"c\",[1]],\"missingData\":[\"soil\"]}"}],"isError":true}`},
		{"scopes in one text, a wait in a text", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"MISSING_SCOPE\",\"message\":\"m\",\"retryable\":false,\"missingScopes\":\"ag1 ag2, org1\",\"retryAfter\":\"12\",\"suggestedAction\":5}"}],"isError":true}`},
		{"rate limit with unknown members", kitHTTP, "429\nContent-Type: application/json\nRetry-After: 12\n\n" +
			`{"error":"Rate limit exceeded. Try again in 12 seconds.","errorCode":429,"own":[1],"rateLimits":{"minuteRemaining":0,"minuteResetAt":"soon","own":{"a":2}}}`},
		{"a wait beside the members", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"PROVIDER_TIMEOUT\",\"message\":\"Late.\",\"retryable\":true,\"retry_after\":3600}"}],"isError":true}`},
		{"a wait of no use", kitResult, `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"FIELD_NOT_FOUND\",\"message\":\"No.\",\"retryable\":false,\"retry_after\":3600}"}],"isError":true}`},
		{"prefix", kitResult, `{"content":[{"type":"text","text":"Error executing tool get_field: {\"error\":true,\"code\":\"FIELD_NOT_FOUND\",\"message\":\"No.\",\"retryable\":false,\"own\":1}"}],"isError":true}`},
		{"prefix of FastMCP for TypeScript", kitResult, `{"content":[{"type":"text","text":"Tool 'get_field' execution failed: {\"error\":true,\"code\":\"FIELD_NOT_FOUND\",\"message\":\"No.\",\"retryable\":false,\"own\":1}"}],"isError":true}`},
		{"empty values", kitResult, `{"content":[],"structuredContent":{"error":true,"code":"PARTIAL_SUCCESS","message":"","retryable":false,"failed":[],"succeeded":[],"missingData":[],"missingScopes":[],"suggestedAction":"","provider":"","retryAfter":0},"isError":true}`},
	},
	"commerce": {
		{"a wait beside the members", kitResult, `{"content":[],"error":{"code":3001,"message":"Busy.","retryable":true,"retryAfter":9}}`},
		{"a wait in milliseconds", kitResult, `{"content":[],"error":{"code":3001,"message":"Busy.","retryable":true,"details":{"retryAfter":9000}}}`},
		{"a wait by its unit", kitResult, `{"content":[],"error":{"code":4002,"message":"Down.","retryable":true,"details":{"context":{"retryAfterMs":250.5}}}}`},
		{"the adapter's boolean", kitResult, `{"content":[{"type":"text","text":"{\"success\":false,\"error\":{\"code\":\"LOCKED\",\"message\":\"Later.\",\"retryable\":true}}"}]}`},
		{"error alone", kitResult, `{"content":[],"error":{"code":3002,"message":"Late.","retryable":true,"details":{"reason":"timeout"}}}`},
		{"text alone", kitResult, `{"content":[{"type":"text","text":"{\"code\":4002,\"message\":\"Down.\",\"retryable\":true}"}],"isError":true}`},
		{"range", kitResult, `{"content":[],"error":{"code":3999,"message":"No.","retryable":false,"details":{}}}`},
		{"adapter's word", kitResult, `{"content":[],"error":{"code":4001,"message":"No such order.","retryable":false,"details":{"originalError":"ORDER_NOT_FOUND","context":{"orderId":"o-1"}}}}`},
		{"unknown effect", kitResult, `{"content":[],"error":{"code":3002,"message":"Late.","retryable":false,"details":{"reason":"effect_unknown","suggestion":"Look."}}}`},
		{"arguments", kitError, `{"code":-32602,"message":"Invalid params: order.customer.email is required","data":{"field":"order.customer.email","error":{"code":2002,"message":"order.customer.email is required","retryable":false,"details":{"field":"order.customer.email","reason":"required"}}}}`},
		{"error in the contract's range", kitError, `{"code":2001,"message":"Validation failed for field a: b","data":{"retryable":false,"field":"a","reason":"b"}}`},
		{"failure in a success", kitResult, `{"content":[{"type":"text","text":"{\"success\":false,\"error\":{\"code\":\"ORDER_NOT_FOUND\",\"message\":\"No.\",\"details\":{\"orderId\":\"o\"}}}"}]}`},
		{"bare text", kitResult, `{"content":[{"type":"text","text":"Order not found: o-1"}],"isError":true}`},
		{"unknown members at every level", kitResult, `{"content":[],"error":{"code":3500,"message":"m","retryable":false,"own":1,"details":{"reason":"r","own":2,"originalError":{"a":3},"context":{"own":4,"retryAfter":"soon","requestId":[5],"violations":[{"field":"f","own":6},7]}}}}`},
		{"members of other types", kitResult, `{"content":[],"error":{"code":3002,"message":["m"],"retryable":"yes","details":[1]}}`},
		{"arguments in another sentence", kitError, `{"code":-32602,"message":"Bad call","data":{"field":"order.email","shop":7,"error":{"code":2003,"message":"odd","retryable":false,"own":3}}}`},
		{"arguments by their field alone", kitError, `{"code":-32602,"message":"Bad call","data":{"field":"order.email"}}`},
		{"arguments with unknown members", kitError, `{"code":-32602,"message":"Invalid params: a is required","data":{"field":["a"],"own":{"x":1},"error":{"code":2002,"message":"a is required","retryable":false,"own":2,"details":{"field":"a","own":3}}}}`},
		{"code outside all ranges", kitResult, `{"content":[],"error":{"code":7000,"message":"m","retryable":true,"own":1,"details":{"reason":"r","suggestion":"Look here.","context":{"a":1}}}}`},
		{"empty values", kitResult, `{"content":[],"error":{"code":3002,"message":"","retryable":false,"details":{"reason":"","originalError":"","context":{"violations":[]}}}}`},
	},
	"studies": {
		{"suggestions", kitResult, `{"content":[{"type":"text","text":"[not_found] No study s-1. Suggestions: List them; Try again"}],"isError":true}`},
		{"envelope", kitResult, `{"content":[{"type":"text","text":"[no_audio_track] Silent. Suggestions: a; b [envelope] {\"error_kind\":\"no_audio_track\",\"suggestions\":[\"a; b\"],\"source_url\":\"https://example.com\"}"}],"isError":true}`},
		{"unlisted code", kitResult, `{"content":[{"type":"text","text":"[video_too_long] It is too long."}],"isError":true}`},
		{"brackets without a code", kitResult, `{"content":[{"type":"text","text":"[not a code] It broke."}],"isError":true}`},
		{"returned", kitResult, `{"content":[{"type":"text","text":"{\"ok\":false,\"error_kind\":\"port_conflict\",\"message\":\"A tunnel is up.\",\"suggestions\":[\"Stop it\"]}"}]}`},
		{"signing key", kitResult, `{"content":[{"type":"text","text":"[signing_key_mismatch] Another environment."}],"isError":true}`},
		{"unknown members in an envelope", kitResult, `{"content":[{"type":"text","text":"[not_found] No. [envelope] {\"error_kind\":\"not_found\",\"suggestions\":\"Use another link.\",\"own\":{\"a\":[1]}}"}],"isError":true}`},
		{"a wait in an envelope", kitResult, `{"content":[{"type":"text","text":"[rate_limited] Slow. [envelope] {\"error_kind\":\"rate_limited\",\"retry_after\":12}"}],"isError":true}`},
		{"returned with other types", kitResult, `{"content":[{"type":"text","text":"{\"ok\":false,\"error_kind\":\"port_conflict\",\"message\":{\"m\":1},\"suggestions\":{\"s\":2},\"own\":3}"}],"isError":true}`},
	},
	"patterns": {
		{"markdown", kitResult, `{"content":[{"type":"text","text":"Invalid request: Too many. Try again in 12 s.","mimeType":"text/markdown"}],"isError":true}`},
		{"object", kitResult, `{"content":[{"type":"text","text":"{\"kind\":\"toolError:v1\",\"code\":\"CLIENT_ERROR\",\"message\":\"Invalid request: No.\",\"details\":{\"statusCode\":429}}"}]}`},
		{"connection of the public server", kitResult, `{"content":[],"structuredContent":{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"fetch failed","retryable":true,"details":{"errorName":"TypeError","errorType":"fetch_error"}},"isError":true}`},
		{"HTML of the public server", kitResult, `{"content":[],"structuredContent":{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"No JSON.","retryable":true,"details":{"errorName":"SyntaxError","errorType":"network"}},"isError":true}`},
		{"unlisted code", kitResult, `{"content":[],"structuredContent":{"kind":"toolError:v1","code":"TEAPOT","message":"I am one.","retryable":false}}`},
		{"question in a text", kitResult, `{"content":[{"type":"text","text":"{\"kind\":\"needsInput:v1\",\"type\":\"elicitation\",\"message\":\"Which?\",\"needsInput\":{\"fields\":[\"id\"],\"reason\":\"empty\",\"suggestions\":{\"id\":[\"a\"]}},\"options\":[{\"label\":\"A\",\"value\":\"a\"}]}"}]}`},
		{"members of other types", kitResult, `{"content":[],"structuredContent":{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"No.","retryable":"no","own":1,"details":{"statusCode":"many","own":2}},"isError":true}`},
		{"details of another type", kitResult, `{"content":[],"structuredContent":{"kind":"toolError:v1","code":"MINE","message":"No.","retryable":false,"details":[1]},"isError":true}`},
	},
	"terra": {
		{"behind other words", kitResult, `{"content":[{"type":"text","text":"The call failed: fields and select cannot both be set."}],"isError":true}`},
		{"timestamp", kitResult, `{"content":[{"type":"text","text":"Invalid ISO 8601 timestamp 'soon'. Use formats like 2025-11-12T00:00:00Z."}],"isError":true}`},
		{"server's failure", kitResult, `{"content":[{"type":"text","text":"Provider-User-Id header is required"}],"isError":true}`},
		{"unauthorized as a text", kitResult, `{"content":[{"type":"text","text":"unauthorized"}],"isError":true}`},
	},
}
