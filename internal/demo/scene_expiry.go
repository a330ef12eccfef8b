package demo

import (
	"fmt"
	"time"
)

// expiryScene shows node expiry, which ignores budgets.
func expiryScene() Scene {
	const pods, age = 9, 20 * time.Second
	return Scene{
		Name:  "expiry",
		Lines: []string{expired, "deleted node"},
		Perform: func(p *Play) (fmt.Stringer, error) {
			// Budgets do not apply to expiration: the nodes expire under this budget of 0.
			none := Set([]any{map[string]any{"nodes": "0"}}, "spec", "disruption", "budgets")
			if err := p.Pool(cores("4"), none, Set(age.String(), "spec", "template", "spec", "expireAfter")); err != nil {
				return nil, err
			}
			before, err := p.Launch(pods)
			if err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			first, err := p.Nodes()
			if err != nil {
				return nil, err
			}
			// Nodes launched from now on do not expire: the expireAfter of a node is the one it was launched with.
			if err := p.EditPool(cores("4"), none); err != nil {
				return nil, err
			}
			p.Show.Line(fmt.Sprintf("the nodes were launched with expireAfter %s", age))
			old := map[string]bool{}
			for i := range first {
				old[first[i].Name] = true
			}
			_, err = p.Await("all pods run on new nodes", func(c Counts) (bool, error) {
				now, err := p.Nodes()
				for i := range now {
					if old[now[i].Name] {
						return false, err
					}
				}
				return c.Running == pods && c.Pending == 0 && c.Claims == c.Nodes && c.Initialized == c.Claims, err
			})
			if err != nil {
				return nil, err
			}
			if n := p.Logged.Count(expired); n != before.Nodes {
				return nil, fmt.Errorf("%d nodes were replaced, and the controller logged that %d expired", before.Nodes, n)
			}
			return FigureLine(fmt.Sprintf("expiry: %d nodes with expireAfter %s were replaced within %.1f s of running, under a budget of 0",
				before.Nodes, age, sinceThen().Seconds())), nil
		},
	}
}

// expired is what the controller logs for each expired NodeClaim.
const expired = "deleted expired nodeclaim"
