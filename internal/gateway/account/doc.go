// Package account is what a call needs of its caller's account at the provider that the server goes by: the credential, and
// the link under which a person connects the account where there is none. It also has the pages behind that link.
//
// Package connection keeps the accounts. The gateway's stages connect and connected ask here for what they need.
package account
