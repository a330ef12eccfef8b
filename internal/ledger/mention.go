package ledger

// names are the objects that a filter asks for, with the other names that they have in records.
type names struct {
	filter Filter
	// nodes and claims are the names of the Nodes and NodeClaims of the filter.
	nodes, claims map[string]bool
}

func namesOf(f Filter) names {
	n := names{filter: f, nodes: map[string]bool{}, claims: map[string]bool{}}
	if f.Node != "" {
		n.nodes[f.Node] = true
	}
	if f.NodeClaim != "" {
		n.claims[f.NodeClaim] = true
	}
	return n
}

// learn notes which NodeClaim a Node has.
func (n names) learn(r *Record) {
	switch {
	case r.NodeClaim != nil:
		n.pair(r.NodeClaim.NodeClaimState)
	case r.Fleet != nil:
		for _, s := range r.Fleet.NodeClaims {
			n.pair(s)
		}
	}
}

func (n names) pair(s NodeClaimState) {
	if s.Node == "" || s.Name == "" {
		return
	}
	if n.filter.Node == s.Node {
		n.claims[s.Name] = true
	}
	if n.filter.NodeClaim == s.Name {
		n.nodes[s.Node] = true
	}
}

// in reports whether a record mentions what the filter asks for: a node or its NodeClaim, and the NodePool. Starts concern everything.
func (n names) in(r *Record) bool {
	if r.Start != nil {
		return true
	}
	object := n.filter.Node == "" && n.filter.NodeClaim == ""
	pool := n.filter.NodePool == ""
	mention(r, func(node, claim, of string) bool {
		object = object || node != "" && n.nodes[node] || claim != "" && n.claims[claim]
		pool = pool || of != "" && of == n.filter.NodePool
		return !object || !pool
	})
	return object && pool
}

// mention calls visit with the names of Nodes, NodeClaims and NodePools in a record, any of which may be empty, until it returns false.
func mention(r *Record, visit func(node, claim, pool string) bool) {
	switch {
	case r.Fleet != nil:
		mentionAll(r.Fleet.NodeClaims, visit)
	case r.NodeClaim != nil:
		visit(r.NodeClaim.Node, r.NodeClaim.Name, r.NodeClaim.NodePool)
	case r.Provisioning != nil:
		mentionProvisioning(r.Provisioning, visit)
	case r.Disruption != nil:
		mentionDisruption(r.Disruption, visit)
	case r.Command != nil:
		c := r.Command
		for _, name := range c.Nodes {
			visit(name, "", "")
		}
		for _, name := range c.NodePools {
			visit("", "", name)
		}
		for _, list := range [][]string{c.NodeClaims, c.Launched} {
			for _, name := range list {
				visit("", name, "")
			}
		}
	case r.Plan != nil:
		p := r.Plan
		for i := range p.Nodes {
			visit(p.Nodes[i], "", "")
		}
		for i := range p.NodeClaims {
			visit("", p.NodeClaims[i], "")
		}
		for i := range p.NodePools {
			visit("", "", p.NodePools[i])
		}
	case r.Saving != nil:
		mentionAll(r.Saving.Removed, visit)
		mentionAll(r.Saving.Launched, visit)
		for name := range r.Saving.ByNodePool {
			visit("", "", name)
		}
	}
}

func mentionAll(list []NodeClaimState, visit func(node, claim, pool string) bool) {
	for _, s := range list {
		if !visit(s.Node, s.Name, s.NodePool) {
			return
		}
	}
}

func mentionProvisioning(p *Provisioning, visit func(node, claim, pool string) bool) {
	for _, c := range p.NodeClaims {
		visit("", c.Name, c.NodePool)
	}
	for _, at := range p.Placements {
		visit(at.Node, at.NodeClaim, "")
	}
	for _, u := range p.Unschedulable {
		for _, why := range u.Reasons {
			visit("", "", why.NodePool)
		}
	}
}

func mentionDisruption(d *Disruption, visit func(node, claim, pool string) bool) {
	for _, c := range d.Commands {
		mentionAll(c.Nodes, visit)
		for _, replacement := range c.Replacements {
			visit("", "", replacement.NodePool)
		}
	}
	for _, l := range d.LeftAlone {
		for _, name := range l.Nodes {
			// It is the name of either object.
			if !visit(name, name, "") {
				return
			}
		}
	}
}
