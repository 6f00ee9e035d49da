package contract

import "github.com/recoursehq/recourse/internal/strictyaml"

// Classes of what a contract keeps out of its failures.
const (
	// MaskPersonal are e-mail addresses, phone, card, account and social security
	// numbers, and values that are named for such data.
	MaskPersonal = "personal"
	// MaskAddresses are addresses of machines, also those that the caller wrote.
	MaskAddresses = "addresses"
)

// masks reads the classes that a contract keeps out of its failures.
func (k *compiler) masks(n *strictyaml.Node) []string {
	var classes []string
	for _, item := range items(n) {
		if class := k.oneOf(item, MaskPersonal, MaskAddresses); class != "" {
			classes = append(classes, class)
		}
	}
	return classes
}

// masked tells what is kept out of failures.
func (p *page) masked() {
	if len(p.c.Mask) == 0 {
		return
	}
	p.heading("What is not shown")
	var texts []string
	for _, class := range p.c.Mask {
		switch class {
		case MaskPersonal:
			texts = append(texts, "Personal data: `[personal data]` stands in place of e-mail addresses, of phone, card, account and "+
				"social security numbers, and of values that are named for such data. "+
				"Names and postal addresses in a sentence cannot be told from other words.")
		case MaskAddresses:
			texts = append(texts, "Addresses of machines: `[address]` stands in their place, also where the caller wrote them.")
		}
	}
	p.list(texts...)
}
