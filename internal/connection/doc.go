// Package connection keeps the accounts that callers have connected at providers: OAuth tokens and API keys, sealed at rest,
// refreshed before they expire, and told apart by who may use them.
//
// A [Manager] hands out a provider's [Credential] for an owner. If there is none it fails with an Error that says what is
// missing, and [Manager.Invite] makes the link under which a person can connect the account.
//
//	absent --link--> connected --refresh--> connected
//	                     |  refused, or lost in a crash
//	                     v
//	              reconnect_needed --link--> connected
//
// A refresh token may count only once. So a refresh is done by one goroutine of one process at a time: it takes a lease on the
// row, redeems the token, and stores the new one if the row is still the one it took. If a process ends in between, the token may
// have been redeemed: the account has to be connected again, since to redeem it twice would make many providers revoke
// everything.
package connection
