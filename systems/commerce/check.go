package commerce

import (
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
)

// A checker collects mistakes in arguments that fit their schema.
type checker struct {
	kind       recourse.Kind // of the first violation
	violations []recourse.Violation
}

// add records the violations of e; rule, if it is not empty, is the rule that they break.
func (c *checker) add(e *recourse.Error, rule string) {
	if c.kind == "" {
		c.kind = e.Kind
	}
	for _, v := range e.Violations {
		if rule != "" {
			v.Rule = rule
		}
		c.violations = append(c.violations, v)
	}
}

// err returns all violations as one failure, or nil.
func (c *checker) err() error {
	if len(c.violations) == 0 {
		return nil
	}
	messages := make([]string, len(c.violations))
	for i, v := range c.violations {
		messages[i] = v.Message
	}
	return recourse.New(c.kind, strings.Join(messages, "; ")+".").WithViolations(c.violations...)
}

// The limits on arguments.
const (
	maxQuantity  = 1_000_000 // of a line item
	maxLineItems = 100
	maxID        = 100  // characters
	maxText      = 1000 // characters of a note or a reason
)

// within records a number that is out of bounds.
func (c *checker) within(param string, n, least, most int) {
	switch {
	case n < least:
		c.add(recourse.InvalidValue(param, fmt.Sprintf("at least %d", least), nil), "minimum")
	case n > most:
		c.add(recourse.InvalidValue(param, fmt.Sprintf("at most %d", most), nil), "maximum")
	}
}

// text records a text that is too short or too long, in characters.
func (c *checker) text(param, text string, least, most int) {
	switch n := utf8.RuneCountInString(text); {
	case n < least:
		c.add(recourse.InvalidValue(param, "a text that is not empty", nil), "minLength")
	case n > most:
		c.add(recourse.InvalidValue(param, fmt.Sprintf("a text of at most %d characters", most), nil), "maxLength")
	}
}

func checkNewOrder(in createOrderArgs) error {
	var c checker
	// The message contains none of the values: they may be personal data.
	c.text("order.externalId", in.Order.ExternalID, 1, maxID)
	if a, err := mail.ParseAddress(in.Order.Customer.Email); err != nil || a.Address != in.Order.Customer.Email {
		c.add(recourse.InvalidValue("order.customer.email", "an email address", nil), "format")
	}
	if in.Order.ShippingAddress == nil {
		c.add(recourse.Missing("order.shippingAddress"), "")
	} else {
		c.address("order.shippingAddress", in.Order.ShippingAddress)
	}
	c.lineItems("order.lineItems", in.Order.LineItems)
	c.text("order.note", in.Order.Note, 0, maxText)
	return c.err()
}

func checkCancel(in cancelArgs) error {
	var c checker
	c.text("reason", in.Reason, 0, maxText)
	return c.err()
}

func checkUpdate(in updateArgs) error {
	var c checker
	if in.Updates == (OrderUpdate{}) {
		c.add(recourse.InvalidValue("updates", "an object with a shippingAddress or a note", nil), "minProperties")
	}
	if a := in.Updates.ShippingAddress; a != nil {
		c.address("updates.shippingAddress", a)
	}
	c.text("updates.note", in.Updates.Note, 0, maxText)
	return c.err()
}

func checkFulfillment(in NewFulfillment) error {
	var c checker
	if in.LineItems != nil { // otherwise all that is left
		c.lineItems("lineItems", in.LineItems)
	}
	c.text("trackingNumber", in.TrackingNumber, 0, maxID)
	return c.err()
}

func checkReturn(in createReturnArgs) error {
	var c checker
	c.lineItems("return.lineItems", in.Return.LineItems)
	c.text("return.reason", in.Return.Reason, 0, maxText)
	return c.err()
}

func (c *checker) address(param string, a *Address) {
	isOther := func(r rune) bool { return r < 'A' || r > 'Z' }
	if len(a.Country) != 2 || strings.ContainsFunc(a.Country, isOther) {
		c.add(recourse.InvalidValue(param+".country", "two capital letters", nil), "pattern")
	}
}

func (c *checker) lineItems(param string, items []LineItem) {
	switch n := len(items); {
	case n == 0:
		c.add(recourse.InvalidValue(param, "a list of at least one item", nil), "minItems")
	case n > maxLineItems:
		c.add(recourse.InvalidValue(param, fmt.Sprintf("a list of at most %d items", maxLineItems), nil), "maxItems")
		return // they need not be checked
	}
	for i, item := range items {
		c.within(fmt.Sprintf("%s.%d.quantity", param, i), item.Quantity, 1, maxQuantity)
	}
}
