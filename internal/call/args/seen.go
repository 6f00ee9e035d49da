package args

// seen records which members and items of one value some rule has evaluated, for unevaluatedProperties and
// unevaluatedItems. A nil seen records nothing.
type seen struct {
	members map[string]bool
	items   map[int]bool
	every   bool // every item
}

func newSeen() *seen { return &seen{members: map[string]bool{}, items: map[int]bool{}} }

// fork returns a seen for a rule that only counts if it is met.
func (s *seen) fork() *seen {
	if s == nil {
		return nil
	}
	return newSeen()
}

func (s *seen) merge(o *seen) {
	if s == nil || o == nil {
		return
	}
	for name := range o.members {
		s.members[name] = true
	}
	for i := range o.items {
		s.items[i] = true
	}
	s.every = s.every || o.every
}

func (s *seen) property(name string) {
	if s != nil {
		s.members[name] = true
	}
}

func (s *seen) item(i int) {
	if s != nil {
		s.items[i] = true
	}
}

func (s *seen) allItems() {
	if s != nil {
		s.every = true
	}
}

func (s *seen) hasProperty(name string) bool { return s != nil && s.members[name] }

func (s *seen) hasItem(i int) bool { return s != nil && (s.every || s.items[i]) }
