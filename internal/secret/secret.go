// Package secret knows by its name whether a parameter or member holds something
// that must not be shown.
package secret

import (
	"slices"
	"strings"
	"unicode"
)

// maxName bounds how much of a name is looked at: the end of it, which says what
// it is.
const maxName = 256

// always are words that make a secret of whatever they are part of.
var always = map[string]bool{
	"password": true, "passwords": true, "passwd": true, "pwd": true, "pass": true, "passphrase": true,
	"passcode": true, "secret": true, "secrets": true, "credential": true, "credentials": true,
	"authorization": true, "cookie": true, "cookies": true, "jwt": true,
	"apikey": true, "apikeys": true, "apitoken": true, "authkey": true, "authtoken": true,
	"accesstoken": true, "accesskey": true, "refreshtoken": true, "idtoken": true, "sessiontoken": true,
	"clientsecret": true, "privatekey": true, "secretkey": true, "sessionid": true, "sessid": true,
	"connectionstring": true, "dsn": true,
}

// last are words that make a secret of a name that ends in them.
var last = map[string]bool{"token": true, "tokens": true, "otp": true, "csrf": true, "xsrf": true, "auth": true, "bearer": true}

// pairs are two words that make a secret together, at the end of a name.
var pairs = map[[2]string]bool{
	{"api", "key"}: true, {"api", "keys"}: true, {"private", "key"}: true, {"access", "key"}: true,
	{"signing", "key"}: true, {"encryption", "key"}: true, {"auth", "key"}: true, {"account", "key"}: true,
	{"master", "key"}: true, {"service", "key"}: true, {"shared", "key"}: true, {"license", "key"}: true,
	{"subscription", "key"}: true, {"session", "id"}: true, {"sess", "id"}: true, {"session", "key"}: true,
	{"connection", "string"}: true, {"pin", "code"}: true, {"recovery", "code"}: true, {"ssh", "key"}: true,
}

// about are last words that say something of a secret, not the secret itself.
var about = map[string]bool{
	"name": true, "id": true, "ids": true, "type": true, "count": true, "length": true, "policy": true, "url": true,
	"uri": true, "expiry": true, "expires": true, "hint": true, "limit": true, "version": true, "field": true,
	"format": true, "required": true, "enabled": true, "in": true, "at": true, "rotation": true, "scope": true, "scopes": true,
}

// harmless are words before "token" that make it a place in a list, a measure or
// a piece of syntax.
var harmless = map[string]bool{
	"page": true, "next": true, "previous": true, "prev": true, "continuation": true, "sync": true, "cursor": true,
	"max": true, "min": true, "num": true, "total": true, "prompt": true, "completion": true, "input": true,
	"output": true, "cached": true, "reasoning": true, "used": true, "remaining": true, "of": true,
	"unexpected": true, "illegal": true, "syntax": true, "expected": true,
}

// Name reports whether name, in whatever case and with whatever separators, is
// that of a password, token, key or other credential.
func Name(name string) bool {
	words := split(name)
	if len(words) == 0 {
		return false
	}
	end := words[len(words)-1]
	if len(words) > 1 {
		before := words[len(words)-2]
		if pairs[[2]string{before, end}] {
			return true
		}
		if about[end] || harmless[before] && last[end] {
			return false
		}
	}
	return last[end] || slices.ContainsFunc(words, func(w string) bool {
		return always[w] || strings.HasSuffix(w, "password") || strings.HasSuffix(w, "apikey") || strings.HasSuffix(w, "secret")
	})
}

// split returns the words of a name in lower case: those of APIKey, api-key and
// api_key are the same.
func split(name string) []string {
	runes := []rune(name[max(0, len(name)-maxName):])
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			if !unicode.IsDigit(r) {
				flush()
			}
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			afterLower := unicode.IsLower(runes[i-1])
			beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || unicode.IsUpper(runes[i-1]) && beforeLower {
				flush()
			}
		}
		word.WriteRune(unicode.ToLower(r))
	}
	flush()
	return words
}
