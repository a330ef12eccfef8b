package main

import (
	"fmt"
	"time"
)

// expiryScene shows nodes that go when they are too old, whatever budgets say.
func expiryScene() scene {
	const pods, age = 9, 20 * time.Second
	return scene{
		name:  "expiry",
		lines: []string{expired, "deleted node"},
		perform: func(p *play) (fmt.Stringer, error) {
			// Budgets do not bind expiry: the nodes go although this one lets none go.
			none := set([]any{map[string]any{"nodes": "0"}}, "spec", "disruption", "budgets")
			if err := p.pool(machines("4"), none, set(age.String(), "spec", "template", "spec", "expireAfter")); err != nil {
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
			// Those that are launched from now on may grow old: the age that counts is the one a node was launched with.
			if err := p.editPool(machines("4"), none); err != nil {
				return nil, err
			}
			p.show.line(fmt.Sprintf("the nodes were launched with expireAfter %s", age))
			old := map[string]bool{}
			for i := range first {
				old[first[i].Name] = true
			}
			_, err = p.await("all pods run on young nodes", func(c counts) (bool, error) {
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
			if n := p.said.count(expired); n != before.nodes {
				return nil, fmt.Errorf("%d nodes were replaced, and the controller said of %d that they expired", before.nodes, n)
			}
			return figureLine(fmt.Sprintf("expiry: %d nodes with expireAfter %s were replaced within %.1f s of running, under a budget of 0",
				before.nodes, age, time.Since(begin).Seconds())), nil
		},
	}
}

// expired is what the controller says of each NodeClaim that is too old.
const expired = "deleted expired nodeclaim"
