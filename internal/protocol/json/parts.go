package json

// Parts calls do for each member of an object, or without a name for each item of an array, with its value as a part
// of raw. Other values have no parts. raw is read leniently; the error is that of the first place that is not JSON, and
// do may have been called by then.
func Parts(raw Value, do func(name string, part Value)) error {
	return UnmarshalLenient(raw, &parts{raw, do})
}

type parts struct {
	text Value
	do   func(name string, part Value)
}

// UnmarshalJSONFrom reads a value.
func (p *parts) UnmarshalJSONFrom(d *Decoder) error {
	open := d.PeekKind()
	if open != '{' && open != '[' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != open+2 { // ] follows [ at this distance, and } follows {
		name := ""
		if open == '{' {
			token, err := d.ReadToken()
			if err != nil {
				return err
			}
			name = token.String()
		}
		part, err := readValue(d, p.text)
		if err != nil {
			return err
		}
		p.do(name, part)
	}
	_, err := d.ReadToken()
	return err
}
