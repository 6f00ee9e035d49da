package commerce

import (
	"fmt"
	"net/mail"
	"strings"

	"github.com/recoursehq/recourse"
)

// A checker collects what is wrong with arguments that fit their schema.
type checker struct {
	kind       recourse.Kind // of the first violation
	violations []recourse.Violation
}

// add notes the violations of e; rule, where it is not empty, is the one they break.
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

// err returns all of it as one failure, or nil.
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

func checkNewOrder(in createOrderArgs) error {
	var c checker
	// None of the values is told back: that is where people's data is.
	if a, err := mail.ParseAddress(in.Order.Customer.Email); err != nil || a.Address != in.Order.Customer.Email {
		c.add(recourse.InvalidValue("order.customer.email", "an email address", nil), "format")
	}
	if in.Order.ShippingAddress == nil {
		c.add(recourse.Missing("order.shippingAddress"), "")
	} else {
		c.address("order.shippingAddress", in.Order.ShippingAddress)
	}
	if len(in.Order.LineItems) == 0 {
		c.add(recourse.InvalidValue("order.lineItems", "a list of at least one item", nil), "minItems")
	}
	c.lineItems("order.lineItems", in.Order.LineItems)
	return c.err()
}

func checkUpdate(in updateArgs) error {
	var c checker
	if a := in.Updates.ShippingAddress; a != nil {
		c.address("updates.shippingAddress", a)
	}
	return c.err()
}

func checkFulfillment(in NewFulfillment) error {
	var c checker
	c.lineItems("lineItems", in.LineItems)
	return c.err()
}

func checkReturn(in createReturnArgs) error {
	var c checker
	c.lineItems("return.lineItems", in.Return.LineItems)
	return c.err()
}

func (c *checker) address(param string, a *Address) {
	isNoLetter := func(r rune) bool { return r < 'A' || r > 'Z' }
	if len(a.Country) != 2 || strings.ContainsFunc(a.Country, isNoLetter) {
		c.add(recourse.InvalidValue(param+".country", "two capital letters", nil), "pattern")
	}
}

func (c *checker) lineItems(param string, items []LineItem) {
	for i, item := range items {
		if item.Quantity < 1 {
			c.add(recourse.InvalidValue(fmt.Sprintf("%s.%d.quantity", param, i), "at least 1", nil), "minimum")
		}
	}
}
