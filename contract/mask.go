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
