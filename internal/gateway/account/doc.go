// Package account has what a call needs of its caller's account at the server's provider: the credential or,
// if there is none, the link with which a person connects the account. It also has the pages behind that
// link.
//
//	stage connect     LookUp   finds the credential, or why there is none (Missing)
//	  v
//	stage connected            without a credential, the call fails here
//	  v
//	stage send                 sends the credential along
//	  v
//	the server refuses it
//	       Replace             another credential, and the call is sent again, once
//
//	a failure that connecting would fix
//	  |    Invite              adds the link to the failure
//	  v
//	the client                 shows it to its person (link.go); a call that is repeated waits for them (Await)
//	  v
//	the person                 opens the link: NewPages
//
// Package connection keeps the accounts.
package account
