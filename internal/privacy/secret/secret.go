// Package secret tells from the name of a parameter or member whether its value must not be shown.
package secret

import (
	"slices"
	"strings"
	"unicode"
)

// maxName limits how much of a name is read: its end, which says what it is.
const maxName = 256

// always are words that mark a name as a secret's wherever they occur.
var always = map[string]bool{
	"password": true, "passwords": true, "passwd": true, "pwd": true, "pass": true, "passphrase": true,
	"passcode": true, "secret": true, "secrets": true, "credential": true, "credentials": true,
	"authorization": true, "cookie": true, "cookies": true, "jwt": true,
	"apikey": true, "apikeys": true, "apitoken": true, "authkey": true, "authtoken": true,
	"accesstoken": true, "accesskey": true, "refreshtoken": true, "idtoken": true, "sessiontoken": true,
	"clientsecret": true, "privatekey": true, "secretkey": true, "sessionid": true, "sessid": true,
	"connectionstring": true, "dsn": true, "mnemonic": true, "seedphrase": true, "userpass": true, "requirepass": true,
	"masterauth": true, "htpasswd": true,
	// German, French, Spanish, Portuguese, Italian, Dutch, the Nordic languages, Polish, Russian, Chinese, Japanese, Korean.
	"passwort": true, "kennwort": true, "geheimnis": true, "zugangsdaten": true, "motdepasse": true, "mdp": true,
	"contraseña": true, "contrasena": true, "contrasenya": true, "senha": true, "wachtwoord": true, "lösenord": true, "passord": true,
	"adgangskode": true, "hasło": true, "haslo": true, "пароль": true,
	"密码": true, "密碼": true, "口令": true, "パスワード": true, "비밀번호": true, //nolint:gosmopolitan // they are looked for
}

// last are words that mark a name as a secret's if they end it.
var last = map[string]bool{
	"token": true, "tokens": true, "sid": true, "geheim": true, "clave": true, "jeton": true, "creds": true,
	"pw": true, "psk": true, "otp": true, "csrf": true, "xsrf": true, "auth": true, "bearer": true,
}

// pairs are pairs of words that mark a name as a secret's if they end it.
var pairs = pairsOf(`
	api key, api keys, private key, access key, signing key, encryption key, auth key, account key,
	master key, service key, shared key, license key, subscription key, session id, sess id, session key,
	connection string, pin code, secret key, access code, security code, pass phrase, pass code, seed phrase,
	recovery phrase, de passe, api schlüssel, api schluessel, clé api, cle api, clé secrète, chave secreta,
	clave api, clave secreta, palabra clave, de api, hmac key, consumer key, storage key, admin key, bot key,
	deploy key, webhook key, recovery code, recovery codes, backup code, backup codes, functions key,
	saml response, saml assertion, jeton accès, code accès, parola ordine, ssh key
`)

// pairsOf parses pairs of words, separated by commas.
func pairsOf(list string) map[[2]string]bool {
	pairs := map[[2]string]bool{}
	for pair := range strings.SplitSeq(list, ",") {
		words := strings.Fields(pair)
		pairs[[2]string{words[0], words[1]}] = true
	}
	return pairs
}

// about are last words of names whose value says something about a secret, but is not one.
var about = map[string]bool{
	"name": true, "id": true, "ids": true, "type": true, "count": true, "length": true, "policy": true, "url": true,
	"uri": true, "expiry": true, "expires": true, "hint": true, "limit": true, "version": true, "field": true,
	"format": true, "required": true, "enabled": true, "in": true, "at": true, "rotation": true, "scope": true, "scopes": true,
	"consent": true, "banner": true, "notice": true, "preferences": true,
}

// harmless are words that make "token" after them a position in a list, a measure or a piece of syntax.
var harmless = map[string]bool{
	"page": true, "next": true, "previous": true, "prev": true, "continuation": true, "sync": true, "cursor": true,
	"max": true, "min": true, "num": true, "total": true, "prompt": true, "completion": true, "input": true,
	"output": true, "cached": true, "reasoning": true, "used": true, "remaining": true, "of": true,
	"progress": true, "design": true, "sub": true, "stop": true, "special": true, "new": true, "per": true, "each": true, "ref": true,
	"unexpected": true, "illegal": true, "syntax": true, "expected": true,
}

// A Kind is what a name says of its value.
type Kind uint8

// The kinds.
const (
	Harmless Kind = iota // it need not be hidden
	Secret               // it is a password, token, key or other credential
	Maybe                // it sometimes is one: a key, code or signature. One that looks random is.
	Digits               // it is one if it is a number: of a card, a PIN, a social security number
)

// Of returns what a name, in any case and with any separators, says of its value.
func Of(name string) Kind {
	if !mayBe(name) {
		return Harmless
	}
	var some [8]string
	words := split(some[:0], name)
	switch {
	case isSecret(words):
		return Secret
	case isWeak(words):
		return Maybe
	case isNumber(words):
		return Digits
	default:
		return Harmless
	}
}

// Name reports whether name, in any case and with any separators, is that of a password, token, key or other
// credential.
func Name(name string) bool { return Of(name) == Secret }

// Weak reports whether values of that name are sometimes secrets: keys, codes, signatures. One that looks random is.
func Weak(name string) bool { return Of(name) == Maybe }

// isSecret reports whether words are the name of a credential.
func isSecret(words []string) bool {
	if slices.Contains(words, "d") { // d'accès
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "d" })
	}
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
	return last[end] || slices.ContainsFunc(words, func(w string) bool { return always[w] || joined(w) })
}

// suffixes mark words that were written as one, such as authtoken and jsessionid.
var suffixes = []string{
	"password", "passwort", "kennwort", "passwd", "apikey", "secret", "secretkey", "accesskey", "privatekey", "sessionid",
	"sessid", "passphrase",
}

// joined reports whether w, several words that were written as one, is the name of a secret.
func joined(w string) bool {
	const longest = 40 // of a name that somebody has written
	if len(w) > longest {
		return false
	}
	if before, ok := strings.CutSuffix(w, "token"); ok && before != "" {
		for harmless := range harmless {
			if strings.HasSuffix(before, harmless) {
				return false
			}
		}
		return true
	}
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(w, suffix) })
}

// weak are last words of names that sometimes hold a secret.
var weak = map[string]bool{
	"key": true, "code": true, "sig": true, "signature": true, "session": true, "verifier": true, "assertion": true,
	"sas": true, "pat": true,
	"nonce": true, "ticket": true, "hmac": true, "keys": true, "challenge": true, "salt": true, "seed": true, "schlüssel": true,
}

// isWeak reports whether words are a name whose values are sometimes secrets.
func isWeak(words []string) bool {
	n := len(words)
	return n > 0 && weak[words[n-1]] && (n == 1 || words[n-1] != "code" || !open[words[n-2]])
}

// open are words that make "code" after them something that everybody may know.
var open = map[string]bool{
	"tracking": true, "country": true, "currency": true, "postal": true, "zip": true, "status": true, "error": true,
	"language": true, "area": true, "reason": true, "product": true, "bar": true, "http": true, "exit": true, "return": true,
}

// numbers are last words of names whose value is a secret if it is a number.
var numbers = map[string]bool{
	"pin": true, "cvv": true, "cvc": true, "cvn": true, "pan": true, "ssn": true, "tan": true, "cardnumber": true,
	"creditcard": true, "card": true, "ccnumber": true,
}

// isNumber reports whether words are a name whose value is a secret if it is a number.
func isNumber(words []string) bool {
	if len(words) == 0 {
		return false
	}
	end := words[len(words)-1]
	return numbers[end] || len(words) > 1 && end == "number" && (words[len(words)-2] == "card" || words[len(words)-2] == "security")
}

// split appends the words of a name in lower case to words. APIKey, api-key and api_key have the same.
func split(words []string, name string) []string {
	name = name[max(0, len(name)-maxName):]
	for i := range len(name) {
		if sorts[name[i]] == beyond {
			return splitRunes(words, []rune(name))
		}
	}
	lower := strings.ToLower(name)
	for i := 0; i < len(name); {
		if sorts[name[i]] != small && sorts[name[i]] != capital {
			i++
			continue
		}
		end, digits := wordEnd(name, i)
		word := lower[i:end]
		if digits {
			word = lettersOf(word)
		}
		words = append(words, word)
		i = end
	}
	return words
}

// splitRunes is split for names with letters beyond ASCII.
func splitRunes(words []string, runes []rune) []string {
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
