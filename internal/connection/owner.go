package connection

import "strings"

// The owners of accounts.
const (
	GatewayOwner = "gateway" // of what the gateway connects itself
	AnybodyOwner = "anybody" // where nobody is asked who they are
)

// CallerOwner owns what is a verified caller's own.
func CallerOwner(who Person) string { return "caller " + who.Access + " " + who.Name }

// OrgOwner owns what the callers of an organisation share.
func OrgOwner(access, org string) string { return "org " + access + " " + org }

// UserOwner owns what belongs to a user by the server's word, whom nobody has verified.
func UserOwner(server, user string) string { return "user " + server + " " + user }

// connects returns who may connect an account again.
func connects(a Account) Person {
	kind, rest, _ := strings.Cut(a.Owner, " ")
	access, name, _ := strings.Cut(rest, " ")
	switch kind {
	case "caller":
		return Person{Access: access, Name: name}
	case "org":
		return Person{Access: access, Name: a.By}
	default:
		return Person{}
	}
}
