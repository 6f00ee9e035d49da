// Package connection keeps the accounts that callers have connected at providers: OAuth tokens and API keys,
// sealed at rest, refreshed before they expire, and kept apart by owner.
//
// A [Manager] returns a provider's [Credential] for an owner. If there is none it fails with an Error that
// says what is missing, and [Manager.Invite] creates the link with which a person can connect the account.
//
//	absent --link--> connected --refresh--> connected
//	                     |  refused, or lost in a crash
//	                     v
//	              reconnect_needed --link--> connected
//
// A refresh token may be valid only once. So only one goroutine of one process refreshes at a time: it takes
// a lease on the row, redeems the token, and stores the new one if the row has not changed. If a process dies
// in between, the token may have been redeemed: the account has to be connected again, since redeeming it
// twice would make many providers revoke everything.
package connection
