// Package fieldmcp is a reference system for the contract fieldmcp: a gateway in front of John Deere, a
// provider of field data, which it calls on behalf of organisations that have connected their accounts.
//
// Over HTTP a client sends an API key, see [APIKey], or a JSON Web Token of the identity provider in Options.
// The eleven tools, deere_*, only read. A success is {"error": false, "data", "dataQuality", "missingData"}.
//
// The provider is an HTTP API in the same process. Its access tokens last 30 minutes, and are refreshed when
// less than 5 remain. A request that it answers with 429 or 5xx is repeated, after the wait that it asks for,
// until Options.Patience is used up or three requests have failed; then the failure is reported.
//
// # How to make it fail
//
// By the organisation whose key is used (on stdio: Options.Organisation):
//
//	willow     works
//	lapsed     TOKEN_EXPIRED: its access cannot be refreshed any more
//	revoked    TOKEN_REVOKED: the farmer has taken it back
//	narrow     MISSING_SCOPE for operations (ag2) and equipment (ag3)
//	new        PROVIDER_NOT_CONNECTED
//	suspended  HTTP 403; on stdio PROVIDER_ERROR
//
// These connections change while the system runs: by [System.Connect] and related methods, or by POST
// /dashboard/ connect, disconnect, lapse, revoke or narrow?scopes=ag1 with the organisation's key. A
// connection that is not used for 90 days lapses by itself.
//
// Behind a gateway that keeps the accounts (Options.Provider) there are no organisations: each request has an
// access token, and the provider, which may be a [StandIn], decides what it allows.
//
// A missing or unknown key is HTTP 401; after 25 failures of an address within 900 s, 429.
//
// By identifier:
//
//	orgId ORG-9, fieldId FLD-999, equipmentId EQ-99   ORG_NOT_FOUND, FIELD_NOT_FOUND, EQUIPMENT_NOT_FOUND
//	fieldId FLD-104 or boundaryId BND-9 of deere_get_boundary   BOUNDARY_NOT_FOUND
//	farmId FRM-9, operationId OP-999                  RESOURCE_NOT_FOUND
//	fault-502, fault-503, fault-drop                  PROVIDER_UNAVAILABLE; fault-503 with a wait of 12 s
//	fault-408, fault-504, fault-slow                  PROVIDER_TIMEOUT
//	fault-429                                         RATE_LIMIT_PROVIDER, with a wait of 12 s
//	fault-busy                                        the same, and the provider does not say for how long
//	fault-limited                                     the same, with 1 s: it is repeated twice first
//	fault-brief                                       503 once: the caller does not notice it
//	fault-outage                                      503 at first; the repeated call succeeds
//	fault-500, fault-501                              PROVIDER_ERROR, retryable
//	fault-400, fault-418                              PROVIDER_ERROR, not retryable
//	fault-units                                       INTERNAL_ERROR
//
// By arguments: MISSING_REQUIRED_PARAM, INVALID_PARAM_TYPE and INVALID_PARAM_VALUE (more
// than 10 fields in a batch) of any tool; MUTUALLY_EXCLUSIVE_PARAMS of
// deere_search_operations with season and startDate; NO_DATA_FOR_PERIOD of the
// same in 1999; INSUFFICIENT_DATA of deere_analyze_yield for FLD-104 in 2025, while FLD-103
// is analyzed with what there is; OP-12 is a success of INSUFFICIENT quality. PARTIAL_SUCCESS is a batch with one of these
// identifiers among good ones.
//
// By the number of calls: HTTP 429, or RATE_LIMIT_ORG on stdio, from the 101st call in a
// minute on, and from the 17,001st in a month; Options.Quotas.
package fieldmcp
