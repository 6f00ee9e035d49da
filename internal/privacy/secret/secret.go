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
var always = WordsIn(`
	password passwords passwd pwd pass passphrase passcode secret secrets credential credentials authorization cookie cookies jwt
	apikey apikeys apitoken authkey authtoken accesstoken accesskey refreshtoken idtoken sessiontoken clientsecret privatekey
	secretkey sessionid sessid connectionstring dsn mnemonic seedphrase userpass requirepass masterauth htpasswd
` +
	// German, French, Spanish, Portuguese, Italian, Dutch, the Nordic languages, Polish, Russian, Chinese, Japanese, Korean.
	"passwort kennwort geheimnis zugangsdaten motdepasse mdp contraseña contrasena contrasenya senha wachtwoord " +
	"lösenord passord adgangskode hasło haslo пароль " +
	"密码 密碼 口令 パスワード 비밀번호") //nolint:gosmopolitan // they are looked for

// last are words that mark a name as a secret's if they end it.
var last = WordsIn("token tokens sid geheim clave jeton creds pw psk otp csrf xsrf auth bearer")

// WordsIn returns the words of a list.
func WordsIn(list string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		words[word] = true
	}
	return words
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
var about = WordsIn(`
	name id ids type count length policy url uri expiry expires hint limit version field format required enabled in at rotation
	scope scopes consent banner notice preferences
`)

// harmless are words that make "token" after them a position in a list, a measure or a piece of syntax.
var harmless = WordsIn(`
	page next previous prev continuation sync cursor max min num total prompt completion input output cached reasoning used
	remaining of progress design sub stop special new per each ref unexpected illegal syntax expected
`)

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
var weak = WordsIn(`
	key code sig signature session verifier assertion sas pat nonce ticket hmac keys challenge salt seed schlüssel
`)

// isWeak reports whether words are a name whose values are sometimes secrets.
func isWeak(words []string) bool {
	n := len(words)
	return n > 0 && weak[words[n-1]] && (n == 1 || words[n-1] != "code" || !open[words[n-2]])
}

// open are words that make "code" after them something that everybody may know.
var open = WordsIn("tracking country currency postal zip status error language area reason product bar http exit return")

// numbers are last words of names whose value is a secret if it is a number.
var numbers = WordsIn("pin cvv cvc cvn pan ssn tan cardnumber creditcard card ccnumber")

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
