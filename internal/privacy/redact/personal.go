package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// Classes that a contract keeps out of its failures, in addition to what the mode hides.
const (
	Personal  = "personal"  // data about people
	Addresses = "addresses" // of machines, whoever wrote them
)

// With returns a Masker that also masks these classes, in each mode but [Off]: a contract's `mask`. Unknown classes are
// ignored.
func (m *Masker) With(classes ...string) *Masker {
	if len(classes) == 0 {
		return m
	}
	with := *m
	if with.mode == Off { // classes that are asked for are masked even then, and so are credentials
		with.mode = Secrets
	}
	with.personal = with.personal || slices.Contains(classes, Personal)
	with.addresses = with.addresses || slices.Contains(classes, Addresses)
	return &with
}

// accountForm is the form of an IBAN (ISO 13616), grouped or not. It may also match words after one.
const accountForm = `[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?`

var (
	// domain is what follows the name in an address of RFC 5321, section 4.1.2, as people write it.
	domain = lazily(`^@(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}\-]{0,61}[\p{L}\p{M}\p{N}])?\.){1,8}` +
		`(?:xn--[A-Za-z0-9\-]{1,59}|[\p{L}\p{M}]{2,24})`)

	// labelled is a number in groups after a word that says what it is. In another form a label's value ends at the first blank.
	labelled = lazily(`(?i)^(?:(?:phone|telephone|tel|mobile|cell|fax|account|acct|card|iban|ssn|social security|passport)` +
		`(?:[ _-]?(?:numbers?|no|nr|num))?|` +
		`(?:tax|vat|national|personal)[ _-]?(?:id|numbers?|no|nr))\b(?:["']?[.:=#]{0,2}["']? {0,2}|\. ?(?:[:#] ?)?| is | was )` +
		`(\+?\(?\d[\d()./\x{a0} \-]{4,28}\d)`)

	labels = newWords("phone", "telephone", "tel", "mobile", "cell", "fax", "account", "acct", "card", "iban", "ssn", "social security",
		"passport", "tax", "vat", "national", "personal")

	// account is an IBAN, and words after it.
	account = lazily(`^` + accountForm + `\b`)
)

// people finds personal data that is recognised by its form.
func people(s string) []span {
	found := emails(s)
	if strings.ContainsAny(s, "0123456789") {
		found = append(found, labelledNumbers(s)...)
		found = append(found, numbers(s)...)
		found = append(found, accounts(s)...)
	}
	found = append(found, valuesOf(s, isPersonal)...)
	slices.SortFunc(found, bySpan)
	return found
}

// emails finds addresses of people.
func emails(s string) []span {
	const longest, longestDomain = 64, 2 << 10 // characters of the name, and bytes
	var found []span
	done := 0
	for at := range places(s, "@") {
		if at < done {
			continue
		}
		start := at
		for range longest {
			r, size := utf8.DecodeLastRuneInString(s[done:start])
			if size == 0 || !ofEmail(r) {
				break
			}
			start -= size
		}
		if start == at {
			continue
		}
		if match := domain().FindStringIndex(s[at:min(len(s), at+longestDomain)]); match != nil {
			done = at + match[1]
			found = append(found, span{at - len(strings.TrimLeft(s[start:at], "'.{=")), done})
		}
	}
	return found
}

// ofEmail reports whether a character may be part of the name in an address.
func ofEmail(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byte(r)) || isDigit(byte(r)) || strings.IndexByte("!#$&'*+/=?^_{|}~`.%-", byte(r)) >= 0
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// labelledNumbers finds numbers after a word that says what they are.
func labelledNumbers(s string) []span {
	var found []span
	labels.each(s, func(at int, _ string) int {
		match := matchAt(labelled(), s, at)
		if match == nil {
			return at + 1
		}
		if len(digitsOf(s[match[2]:match[3]])) >= fewDigits && alone(s, match[2], match[3]) {
			found = append(found, span{match[2], match[3]})
		}
		return match[1]
	})
	return found
}

// numbers finds card and phone numbers, and social security numbers of the United States.
func numbers(s string) []span {
	var found []span
	done := 0 // the end of the last group of digits
	for i := range len(s) {
		if !beginsNumber[s[i]] {
			continue
		}
		if isSocial(s, i) && alone(s, i, i+len(social)) {
			found = append(found, span{i, i + len(social)})
		}
		if i < done {
			continue
		}
		end, ok := digitGroups(s, i)
		if !ok {
			done = end // nothing that begins before it is one, either
			continue
		}
		done = end
		if alone(s, i, end) && (isCard(s[i:end]) || isPhone(s[i:end])) {
			found = append(found, span{i, end})
		}
	}
	return found
}

// social is the form of a social security number.
const social = "000-00-0000"

func isSocial(s string, at int) bool {
	if len(s)-at < len(social) || at > 0 && isWord(s[at-1]) || at+len(social) < len(s) && isWord(s[at+len(social)]) {
		return false
	}
	for i := range len(social) {
		if c := s[at+i]; (social[i] == '-') != (c == '-') || c != '-' && !isDigit(c) {
			return false
		}
	}
	return true
}

var beginsNumber, ofGroups = setOf("+(0123456789"), setOf("0123456789(). -")

// digitGroups returns the end of the digits in groups that begin at a position, as in card and phone numbers: a digit, 5 to 28 signs and
// digits, and a digit. If there are none, end is where the next could begin.
func digitGroups(s string, at int) (end int, ok bool) {
	const few, most, blank = 5, 28, "\u00a0"
	i := skip(s, at, 1, func(c byte) bool { return c == '+' })
	i = skip(s, i, 1, func(c byte) bool { return c == '(' })
	if i == len(s) || !isDigit(s[i]) {
		return at + 1, false
	}
	n := 0
	for i++; i < len(s) && n <= most; n++ {
		switch {
		case isDigit(s[i]):
			i++
			if n >= few {
				end = i
			}
		case ofGroups[s[i]]:
			i++
		case strings.HasPrefix(s[i:], blank):
			i += len(blank)
		default:
			return max(end, at+1), end > 0
		}
	}
	return max(end, at+1), end > 0
}

// fewDigits is how many digits a number has at least that is personal data.
const fewDigits = 6

// mayBePersonal is a fast test that lets too much pass.
func mayBePersonal(s string) bool {
	return strings.IndexByte(s, '@') >= 0 || countDigits(s) >= fewDigits
}

// alone reports whether a part of s is not part of a longer word or number: no letter or digit, nor a dot or hyphen of
// a number, is next to it.
func alone(s string, start, end int) bool {
	if start > 0 && (isWord(s[start-1]) || start > 1 && strings.IndexByte("-.", s[start-1]) >= 0 && isWord(s[start-2])) {
		return false
	}
	return end == len(s) || !isWord(s[end]) && (end+1 == len(s) || strings.IndexByte("-.", s[end]) < 0 || !isWord(s[end+1]))
}

func countDigits(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// isCard reports whether s is a payment card number: 13 to 19 digits with the first digits of a card scheme and the
// check digit of ISO/IEC 7812-1 (Luhn).
func isCard(s string) bool {
	if n := countDigits(s); n < 13 || n > 19 || strings.ContainsAny(s, "+().") {
		return false
	}
	digits := digitsOf(s)
	if digits[0] < '2' || digits[0] > '6' {
		return false
	}
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isPhone reports whether s is a phone number: international (ITU-T E.164, at most 15 digits), or North American in
// groups of three, three and four.
func isPhone(s string) bool {
	n := countDigits(s)
	if strings.HasPrefix(s, "+") {
		return n >= 8 && n <= 15
	}
	return (n == 10 || n == 11) && northAmerican().MatchString(s)
}

var northAmerican = lazily(`^(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}$`)

// accounts finds IBANs among other words.
func accounts(s string) []span {
	const least = len("DE00")
	var found []span
	isCapital := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	for at := 0; at+least <= len(s); {
		if !isCapital(s[at]) || !isCapital(s[at+1]) || !isDigit(s[at+2]) || !isDigit(s[at+3]) || at > 0 && isWord(s[at-1]) {
			at++
			continue
		}
		match := matchAt(account(), s, at)
		if match == nil {
			at++
			continue
		}
		if text := accountIn(s[at:match[1]]); text != "" {
			found = append(found, span{at, at + len(text)})
			at += len(text)
		} else { // it may have begun before the IBAN
			at += indexOr(s[at:match[1]], " ")
		}
	}
	return found
}

// accountIn returns the IBAN that a text begins with, up to the end of a word; "" if there is none.
func accountIn(s string) string {
	for !isAccount(s) {
		end := strings.LastIndexByte(s, ' ')
		if end < 0 {
			return ""
		}
		s = s[:end]
	}
	return s
}

// isAccount checks the check digits of an IBAN (ISO 7064, MOD 97-10).
func isAccount(s string) bool {
	s = strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1
}

// personalNames are names of members and parameters with personal data: their words in lower case, written as one.
var personalNames = secret.WordsIn(`
	email emailaddress mail phone phonenumber telephone mobile fax firstname lastname fullname surname givenname familyname
	middlename maidenname customername recipientname cardholder cardholdername contactname buyername billingname shippingname street
	streetaddress address1 address2 addressline1 addressline2 line1 line2 postcode postalcode zip zipcode birthdate dateofbirth dob
	birthday cardnumber iban ssn socialsecuritynumber passport passportnumber taxid nationalid accountnumber cvv cvc
`)

// isPersonal reports whether a name, or the last part of a path, is that of personal data.
func isPersonal(name string) bool {
	const longest = 80
	last := len(name)
	for last > 0 && name[last-1] != '.' && name[last-1] != '/' {
		last--
	}
	if name = name[last:]; len(name) > longest {
		return false
	}
	var plain [longest]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c == '_' || c == '-' || c == ' ' {
			continue
		}
		plain[n] = c
		n++
	}
	return personalNames[string(plain[:n])]
}

// asOneWord returns the words of a name in lower case, written as one.
func asOneWord(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name))
}
