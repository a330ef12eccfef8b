package disrupt

import "testing"

// TestAPoolInBackoff: the pool launches no replacement for nodes of any pool; nodes whose pods fit elsewhere are deleted.
func TestAPoolInBackoff(t *testing.T) {
	rests := func(p *Pool) { p.InBackoff = true }
	t.Run("replaces no node", func(t *testing.T) {
		f := newFleet(t, sizes(3, onDemand), rests)
		drifted(f.node("a", onDemand, "x4", 500), 1)
		for _, m := range []Method{singleNode(), drift()} {
			d := f.decide(m, 1)
			f.want(d, "")
			f.wantObstacle(d, "a", PoolInBackoff, `replacements of NodePool "default" failed recently`)
		}
	})
	t.Run("deletes nodes whose pods fit elsewhere", func(t *testing.T) {
		f := newFleet(t, sizes(3, onDemand), rests)
		drifted(f.node("a", onDemand, "x4", 500), 1)
		f.node("b", onDemand, "x4", 2500).Disruption.Consolidatable = false
		for _, m := range []Method{singleNode(), drift()} {
			f.want(f.decide(m, 1), "delete a")
		}
	})
	t.Run("does not prevent replacements from other pools", func(t *testing.T) {
		f := newFleet(t, nil, rests)
		f.pool("other", sizes(3, onDemand))
		f.nodeOf("other", "a", onDemand, "x4", 500)
		f.want(f.decide(singleNode(), 1), "replace a -> x1,x2 on-demand")
	})
	t.Run("replaces no node of a static pool", func(t *testing.T) {
		n := drifted(node("a"), 1)
		for _, idle := range []bool{false, true} {
			_, refused := staticDrift().FilterNodes([]Candidate{newCandidate(n, Pool{Static: true, InBackoff: idle})})
			if got := len(refused) == 1 && refused[0].Code == PoolInBackoff; got != idle {
				t.Errorf("rests %t: refused %v", idle, refused)
			}
		}
	})
}
