package contractdoc

import "github.com/recoursehq/recourse/contract"

// masked documents what is kept out of failures.
func (p *pageWriter) masked() {
	if len(p.c.Mask) == 0 {
		return
	}
	p.heading("What is not shown")
	var texts []string
	for _, class := range p.c.Mask {
		switch class {
		case contract.MaskPersonal:
			texts = append(texts, "Personal data: `[personal data]` replaces e-mail addresses, phone, card, account and social "+
				"security numbers, and values whose names mark them as such. "+
				"Names and postal addresses in a sentence cannot be recognised.")
		case contract.MaskAddresses:
			texts = append(texts, "Network addresses: `[address]` replaces them, even if the caller wrote them.")
		}
	}
	p.list(texts...)
}

// session documents what a request must have.
func (p *pageWriter) session() {
	rule := p.c.Session
	var texts []string
	if rule.Path != "" {
		texts = append(texts, "Path: "+code(rule.Path)+".")
	}
	if len(rule.Credentials) > 0 {
		texts = append(texts, "Required headers with the client's credentials: "+codesText(rule.Credentials)+".")
	}
	if rule.UserHeader != "" {
		texts = append(texts, "The MCP server gets the path's user in the header "+code(rule.UserHeader)+
			". A client's own header of that name is dropped.")
	}
	if len(texts) == 0 {
		return
	}
	p.heading("A request")
	p.list(texts...)
	p.linef("The checks are made in this order: the credentials are present, they are valid, the user is present, the user is valid.")
}
