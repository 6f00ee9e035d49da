package studies

// fill adds the initial state from the package's documentation.
func (b *backend) fill() {
	acme := b.addWorkspace(tokens[Token], "Acme", planTeam, 40, 100)
	solo := b.addWorkspace(tokens[Token], "Solo", planFree, 1, 0)
	rival := b.addWorkspace(tokens[OtherToken], "Rival", planTeam, 10, 0)

	breakfast := b.addStudy(acme, "Breakfast", "What do you have for breakfast, and why?")
	for _, p := range []struct {
		name, country string
		age           int
	}{{"Ana", "PT", 34}, {"Bruno", "PT", 51}, {"Chloé", "FR", 27}, {"Dmitri", "DE", 45}, {"Elif", "DE", 38}} {
		b.addPerson(acme, p.name, p.country, &p.age)
	}
	b.addPerson(acme, "Frank", "US", nil).declines = true

	first := b.addIteration(breakfast, "A picture of oat porridge", "")
	for _, p := range b.people {
		if p.Name != "Elif" {
			first.PersonIDs = append(first.PersonIDs, p.ID)
		}
	}
	for _, title := range []string{"Names", "Prices", "Colors"} {
		b.addStudy(solo, title, "Which do you prefer?")
	}
	var names []string
	for _, name := range []string{"Gus", "Hanna", "Ines", "Jo", "Kim"} {
		names = append(names, b.addPerson(solo, name, "AT", nil).ID)
	}
	b.addStudy(rival, "Lunch", "What do you have for lunch?")
	b.asks = append(b.asks, &asking{
		Type: "ask", ID: b.newID(), WorkspaceID: acme.ID, Question: "Tea or coffee?",
		PersonIDs: []string{b.people[0].ID}, Answers: []string{b.people[0].answer("Tea or coffee?")}, Status: statusCompleted,
	})
	b.addIteration(b.studies[1], "A list of names", "").PersonIDs = names
}

func (b *backend) addWorkspace(owner, name, plan string, period, purchased int) *workspace {
	w := &workspace{Type: "workspace", ID: b.newID(), Name: name, Plan: plan, owner: owner, Credits: credits{
		PeriodBalance: period, RefreshDate: "2026-12-01", PurchasedBalance: purchased, TotalAvailable: period + purchased,
	}}
	b.workspaces = append(b.workspaces, w)
	return w
}

func (b *backend) addStudy(w *workspace, title, question string) *study {
	s := &study{Type: "study", ID: b.newID(), WorkspaceID: w.ID, Title: title, Question: question, RuntimeStatus: statusIdle}
	b.studies = append(b.studies, s)
	return s
}

func (b *backend) addIteration(s *study, stimulus, mediaURL string) *iteration {
	i := &iteration{Type: "iteration", ID: b.newID(), StudyID: s.ID, Stimulus: stimulus, MediaURL: mediaURL, PersonIDs: []string{}}
	s.Iterations = append(s.Iterations, i)
	return i
}

func (b *backend) addPerson(w *workspace, name, country string, age *int) *person {
	p := &person{Type: "person", ID: b.newID(), WorkspaceID: w.ID, Name: name, Country: country, Age: age}
	b.people = append(b.people, p)
	return p
}

// ids returns all ids, by type.
func (b *backend) ids() []typedID {
	var ids []typedID
	for _, w := range b.workspaces {
		ids = append(ids, typedID{w.Type, w.ID})
	}
	for _, s := range b.studies {
		ids = append(ids, typedID{s.Type, s.ID})
		for _, i := range s.Iterations {
			ids = append(ids, typedID{i.Type, i.ID})
		}
	}
	for _, p := range b.people {
		ids = append(ids, typedID{p.Type, p.ID})
	}
	for _, a := range b.asks {
		ids = append(ids, typedID{a.Type, a.ID})
	}
	return ids
}
