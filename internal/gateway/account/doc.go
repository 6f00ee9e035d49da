// Package account has what a call needs of its caller's account at the server's provider: the credential or,
// if there is none, the link with which a person connects the account. It also has the pages behind that
// link.
//
// Package connection keeps the accounts. The gateway's stages connect and connected ask here for what they need.
package account
