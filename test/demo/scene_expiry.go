package main

import (
	"fmt"
	"time"
)

// expiryScene shows node expiry, which ignores budgets.
func expiryScene() scene {
	const pods, age = 9, 20 * time.Second
	return scene{
		name:  "expiry",
		lines: []string{expired, "deleted node"},
		perform: func(p *play) (fmt.Stringer, error) {
			// Budgets do not apply to expiration: the nodes expire under this budget of 0.
			none := set([]any{map[string]any{"nodes": "0"}}, "spec", "disruption", "budgets")
			if err := p.pool(cores("4"), none, set(age.String(), "spec", "template", "spec", "expireAfter")); err != nil {
				return nil, err
			}
			before, err := p.launch(pods)
			if err != nil {
				return nil, err
			}
			begin := time.Now()
			first, err := p.nodes()
			if err != nil {
				return nil, err
			}
			// Nodes launched from now on do not expire: the expireAfter of a node is the one it was launched with.
			if err := p.editPool(cores("4"), none); err != nil {
				return nil, err
			}
			p.show.line(fmt.Sprintf("the nodes were launched with expireAfter %s", age))
			old := map[string]bool{}
			for i := range first {
				old[first[i].Name] = true
			}
			_, err = p.await("all pods run on new nodes", func(c counts) (bool, error) {
				now, err := p.nodes()
				for i := range now {
					if old[now[i].Name] {
						return false, err
					}
				}
				return c.running == pods && c.pending == 0 && c.claims == c.nodes && c.initialized == c.claims, err
			})
			if err != nil {
				return nil, err
			}
			if n := p.logged.count(expired); n != before.nodes {
				return nil, fmt.Errorf("%d nodes were replaced, and the controller logged that %d expired", before.nodes, n)
			}
			return figureLine(fmt.Sprintf("expiry: %d nodes with expireAfter %s were replaced within %.1f s of running, under a budget of 0",
				before.nodes, age, time.Since(begin).Seconds())), nil
		},
	}
}

// expired is what the controller logs for each expired NodeClaim.
const expired = "deleted expired nodeclaim"
