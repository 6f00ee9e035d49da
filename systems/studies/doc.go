// Package studies is a reference system for the contract studies: a service that asks
// simulated people the question of a study, and an MCP server for it.
//
// # Tools
//
// There are workspaces with their brand, sites that people can sign in at and files;
// studies with iterations; people; asks; and chatbots. run_dispatch asks people,
// simulation_extend asks one of them more, study_analyze looks at what they have
// answered, chatbot_setup connects a chatbot, and connect_start, connect_status and
// connect_stop hold a tunnel to the user's own machine. Ids are aliases such as w-1,
// which stand for UUIDs; those are taken, too. Whatever can be checked without asking
// the service is checked first; what is given and is nothing (0, "", []) was not left
// out. Each participant who answers costs a credit, which is kept for them from the
// moment they are asked.
//
// What takes long takes wait and timeout: failures that may pass do not end the wait.
// Another one does, and says that the work was begun all the same. study_get has the
// views summary, full, per_participant, transcripts and insights, and shows a failed
// analysis as it shows any other: it is how writes are verified.
//
// # Who calls
//
// The MCP server shows the service a token of its own. With Options.Hosted it shows
// what its caller brings in Authorization, [Token] or [OtherToken], and whoever brings
// none is answered with HTTP 401.
//
// # How to make it fail
//
// To begin with there are the workspaces w-1, of a team, with 140 credits; w-2, of a
// free plan that is full of studies and people, with one credit; and w-3, which is
// somebody else's. Study s-1 of w-1 has the iteration i-1, to which tp-1 to tp-4 and
// tp-6 are attached, and tp-5 is not; tp-6 never answers. s-2 to s-4 are of w-2, s-2
// with the iteration i-2 to which all people of w-2 are attached; s-5 is of w-3.
//
// A text that a call brings (title, name, question, stimulus, instructions, focus)
// makes the service fail when the word fault-WHAT stands in it:
//
//	fault-drop         network_error: the work is done and the connection breaks
//	fault-slow         timeout: the work is done and no answer comes
//	fault-garbled      server_error: an answer that the MCP layer cannot make sense of
//	fault-html         server_error: a page of some proxy, with status 200
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
//	fault-odd          http_error: 409 with a code that is no word
//	fault-laterWHAT    the first two looks at the run's or analysis' progress fail
//	fault-stuck        the run or analysis never ends
//
// So does an id 00000000-0000-4000-8000-000000000NNN: NNN is a status, or 001 for drop,
// 002 for slow, 003 for garbled, 004 for maintenance.
//
// Other failures are what they are elsewhere: an analysis without answers is
// analysis_failed, a country where nobody lives empty_audience, a media_url with
// "silent" in it no_audio_track and with "gone" media_download_failed, as of a file to
// upload; chatbot_setup
// returns config_detection_failed unless the url ends with /chat, and
// smoke_test_failed with "mute" in it. connect_start needs the program cloudflared;
// ports below 1024 are not registered, and while one tunnel is up, another port is
// port_conflict. Options.Token, Options.Hosted and Options.Tunnel make the rest, which
// `recourse demo studies --with` sets.
package studies
