// Package studies is a reference system for the contract studies: a service that asks
// simulated people the question of a study, and an MCP server for it.
//
// # Tools
//
// There are workspaces with their brand, sites that people can sign in at and files; studies with iterations;
// people; asks; and chatbots. run_dispatch asks people, simulation_extend asks one of them more,
// study_analyze analyzes their answers, chatbot_setup connects a chatbot, and connect_start, connect_status
// and connect_stop manage a tunnel to the user's own machine. Ids are aliases such as w-1 for UUIDs, which
// are also accepted. Whatever can be checked without calling the service is checked first; an empty argument
// (0, "", []) does not count as left out. Each participant who answers costs a credit, which is reserved from
// the moment they are asked.
//
// Tools that take long have the arguments wait and timeout: failures that may pass do not end the wait. Other
// failures do, and say that the work was still started. study_get has the views summary, full,
// per_participant, transcripts and insights, and shows a failed analysis like any other: it is how writes are
// verified.
//
// # Who calls
//
// The MCP server sends the service a token of its own. With Options.Hosted it sends its caller's token from
// Authorization, [Token] or [OtherToken], and answers callers without a token with HTTP 401.
//
// # How to make it fail
//
// At first there are the workspaces w-1, of a team, with 140 credits; w-2, of a free plan that is full of
// studies and people, with one credit; and w-3, which belongs to somebody else. Study s-1 of w-1 has the
// iteration i-1, to which tp-1 to tp-4 and tp-6 are attached, and tp-5 is not; tp-6 never answers. s-2 to s-4
// belong to w-2, s-2 with the iteration i-2 to which all people of w-2 are attached; s-5 belongs to w-3.
//
// A text of a call (title, name, question, stimulus, instructions, focus) makes the service fail if it
// contains the word fault-WHAT:
//
//	fault-drop         network_error: the work is done and the connection breaks
//	fault-slow         timeout: the work is done and no answer comes
//	fault-garbled      server_error: an answer that the MCP layer cannot read
//	fault-html         server_error: a proxy's page, with status 200
//	fault-400          client_error, as any status of the 400s without a code of its own
//	fault-401          auth_failed
//	fault-402          insufficient_credits
//	fault-403          auth_failed
//	fault-404          not_found
//	fault-408          timeout
//	fault-422          validation_error
//	fault-429          rate_limited, with a wait of 12 s
//	fault-500          server_error, as any status of the 500s
//	fault-forbidden    forbidden: 403 with that code
//	fault-credits      insufficient_credits: 403 with that code
//	fault-locked       study_locked: 409 with a code that the contract does not list
//	fault-maintenance  maintenance: the same with 503
//	fault-overload     rate_limited: 503 with that code
//	fault-odd          http_error: 409 with a code that is not a word
//	fault-laterWHAT    the first two reads of the run's or analysis' progress fail
//	fault-stuck        the run or analysis never ends
//
// An id 00000000-0000-4000-8000-000000000NNN does the same: NNN is a status, or 001 for drop,
// 002 for slow, 003 for garbled, 004 for maintenance.
//
// The other failures: an analysis without answers is analysis_failed, a country where nobody lives
// empty_audience, a media_url with "silent" in it no_audio_track and with "gone" media_download_failed, as for
// a file to upload; chatbot_setup returns config_detection_failed unless the url ends with /chat, and
// smoke_test_failed with "mute" in it. connect_start needs the program cloudflared; ports below 1024 are not
// registered, and while one tunnel is up, another port is port_conflict. Options.Token, Options.Hosted and
// Options.Tunnel, which `recourse demo studies --with` sets, cause the rest.
package studies
