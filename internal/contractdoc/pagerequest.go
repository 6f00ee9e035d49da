package contractdoc

import "github.com/recoursehq/recourse/contract"

// masked tells what is kept out of failures.
func (p *page) masked() {
	if len(p.c.Mask) == 0 {
		return
	}
	p.heading("What is not shown")
	var texts []string
	for _, class := range p.c.Mask {
		switch class {
		case contract.MaskPersonal:
			texts = append(texts, "Personal data: `[personal data]` stands in place of e-mail addresses, of phone, card, account and "+
				"social security numbers, and of values that are named for such data. "+
				"Names and postal addresses in a sentence cannot be told from other words.")
		case contract.MaskAddresses:
			texts = append(texts, "Addresses of machines: `[address]` stands in their place, also where the caller wrote them.")
		}
	}
	p.list(texts...)
}

// session tells what a request has to bring.
func (p *page) session() {
	rule := p.c.Session
	var texts []string
	if rule.Path != "" {
		texts = append(texts, "Path: "+code(rule.Path)+".")
	}
	if len(rule.Credentials) > 0 {
		texts = append(texts, "Headers with the client's credentials, each of which has to be there: "+codesText(rule.Credentials)+".")
	}
	if rule.UserHeader != "" {
		texts = append(texts, "The user of the path reaches the MCP server in the header "+code(rule.UserHeader)+
			". A header of that name that the client sends is dropped.")
	}
	if len(texts) == 0 {
		return
	}
	p.heading("A request")
	p.list(texts...)
	p.linef("Checked in this order: the credentials are there, they are valid, the user is there, the user is valid.")
}
