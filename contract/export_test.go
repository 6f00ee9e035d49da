package contract

import "github.com/recoursehq/recourse"

// A ListedCode is a code of a contract with the kind that it is read as.
type ListedCode struct {
	Code string
	Kind recourse.Kind
	HTTP bool // it has an HTTP form
}

// ListedCodes returns the codes of c, those aside that are another's word.
func (c *Contract) ListedCodes() []ListedCode {
	var list []ListedCode
	for _, en := range c.codes {
		if en.open == nil {
			list = append(list, ListedCode{en.code, en.kind, en.http != nil})
		}
	}
	return list
}
