package ledger

// list is a list of a record that may be cut.
type list struct {
	name string
	size int
	// keep keeps the first n entries.
	keep func(n int)
}

// of makes a list from a slice. The slice of the caller is not changed.
func of[T any](name string, at *[]T) list {
	return list{name, len(*at), func(n int) { *at = (*at)[:n:n] }}
}

// cut removes the second half of the longest list of a record, and counts the entries that are left out. It reports whether there was
// anything to cut.
func cut(r *Record) bool {
	own(r)
	longest := list{}
	for _, l := range lists(r) {
		if l.size > longest.size {
			longest = l
		}
	}
	if longest.size == 0 {
		return false
	}
	longest.keep(longest.size / 2)
	if r.Cut == nil {
		r.Cut = map[string]int{}
	}
	r.Cut[longest.name] += longest.size - longest.size/2
	return true
}

// own makes the contents of a record a copy, as deep as cut changes them: they belong to the caller.
func own(r *Record) {
	switch {
	case r.Cut != nil: // a copy already
	case r.Fleet != nil:
		r.Fleet = copied(r.Fleet)
	case r.Provisioning != nil:
		r.Provisioning = copied(r.Provisioning)
	case r.Disruption != nil:
		r.Disruption = copied(r.Disruption)
		r.Disruption.LeftAlone = append([]LeftAlone(nil), r.Disruption.LeftAlone...)
		r.Disruption.Commands = append([]Command(nil), r.Disruption.Commands...)
	case r.Command != nil:
		r.Command = copied(r.Command)
	case r.Saving != nil:
		r.Saving = copied(r.Saving)
	case r.Plan != nil:
		r.Plan = copied(r.Plan)
	}
}

func copied[T any](p *T) *T {
	c := *p
	return &c
}

// lists are the lists of a record whose length depends on the size of the cluster.
func lists(r *Record) []list {
	switch {
	case r.Fleet != nil:
		return []list{of("nodeclaims", &r.Fleet.NodeClaims)}
	case r.Provisioning != nil:
		p := r.Provisioning
		return []list{of("nodeclaims", &p.NodeClaims), of("placements", &p.Placements), of("unschedulable", &p.Unschedulable)}
	case r.Disruption != nil:
		out := []list{of("commands", &r.Disruption.Commands)}
		for i := range r.Disruption.LeftAlone {
			out = append(out, of("leftAlone.nodes", &r.Disruption.LeftAlone[i].Nodes))
		}
		for i := range r.Disruption.Commands {
			out = append(out, of("commands.nodes", &r.Disruption.Commands[i].Nodes))
		}
		return out
	case r.Command != nil:
		c := r.Command
		return []list{of("nodes", &c.Nodes), of("nodeclaims", &c.NodeClaims), of("launched", &c.Launched), of("obstacles", &c.Obstacles)}
	case r.Plan != nil:
		return []list{of("nodes", &r.Plan.Nodes), of("nodeclaims", &r.Plan.NodeClaims)}
	case r.Saving != nil:
		s := r.Saving
		return []list{of("removed", &s.Removed), of("launched", &s.Launched), of("unpriced", &s.Unpriced)}
	}
	return nil
}
