package redact_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

func TestPersonal(t *testing.T) {
	t.Parallel()
	m := redact.New(redact.Secrets).With(redact.Personal)
	for text, want := range map[string]string{
		"no order of ada.l+x@example.co.uk.":             "no order of [personal data].",
		"the card 4111 1111 1111 1111 was declined":      "the card [personal data] was declined",
		"card 4111-1111-1111-1111, 4111111111111111":     "card [personal data], [personal data]",
		"call +49 30 901820 or (555) 010-0199":           "call [personal data] or [personal data]",
		"IBAN DE89 3704 0044 0532 0130 00 is not ours":   "IBAN [personal data] is not ours",
		"pay AB12 CODE BE68 5390 0754 7034 NOW OR LATER": "pay AB12 CODE [personal data] NOW OR LATER",
		"to GB29NWBK60161331926819 and BE68539007547034": "to [personal data] and [personal data]",
		"DE00 3704 0044 0532 0130 00 is no account":      "DE00 3704 0044 0532 0130 00 is no account",
		"SSN 078-05-1120 is taken":                       "SSN [personal data] is taken",
		"firstName=Ada and customer.phone: 12345":        "firstName=[personal data] and customer.phone: [personal data]",
		`body {"email":"x","first_name":"Ada","qty":3}`:  `body {"email":"[personal data]","first_name":"[personal data]","qty":3}`,
		"order 4111111111111112 of 2026-01-31T12:00:00Z": "order 4111111111111112 of 2026-01-31T12:00:00Z",
		"order.customer.email is required":               "order.customer.email is required",
		"SKU 12-345-678 at 10.50 EUR, 3 of 1,000,000":    "SKU 12-345-678 at 10.50 EUR, 3 of 1,000,000",
	} {
		if got := m.String(text); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
		if got := m.String(m.String(text)); got != want {
			t.Errorf("%q, twice: %q", text, got)
		}
	}
	const raw = `{"customer":{"email":"a@b.de","lastName":"L","zip":123},"name":"tool","path":"order.customer.email"}`
	const want = `{"customer":{"email":"[personal data]","lastName":"[personal data]","zip":"[personal data]"},"name":"tool","path":"order.customer.email"}`
	if got := string(m.JSON([]byte(raw))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if text := "a@example.com"; redact.New(redact.Off).With().String(text) != text || redact.New(redact.All).String(text) != text {
		t.Error("masked without the option")
	}
	if got := redact.New(redact.Off).With(redact.Personal).String("a@example.com"); got != "[personal data]" {
		t.Errorf("with mode off: %s", got)
	}
}

func TestAddressesOfTheCaller(t *testing.T) {
	t.Parallel()
	m := redact.New(redact.All, `{"host":"10.0.0.9:80","file":"/srv/data/x"}`).With(redact.Addresses)
	if got, want := m.String("10.0.0.9:80 has no /srv/data/x"), "[address] has no /srv/data/x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
