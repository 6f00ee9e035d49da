package connection

import "strings"

// The owners of accounts.
const (
	GatewayOwner = "gateway" // for accounts that the gateway connects itself
	AnybodyOwner = "anybody" // if there is no access control
)

// CallerOwner owns what belongs to a single verified caller.
func CallerOwner(who Person) string { return "caller " + who.Access + " " + who.Name }

// OrgOwner owns what an organisation's callers share.
func OrgOwner(access, org string) string { return "org " + access + " " + org }

// UserOwner owns what belongs to a user named in the path, whom nobody has verified.
func UserOwner(server, user string) string { return "user " + server + " " + user }

// connects returns who may reconnect an account.
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
