package disrupt

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

func TestClosedPoolsAreNotDisrupted(t *testing.T) {
	for _, test := range []struct {
		name    string
		closure policy.Closure
		code    Code
		text    string
	}{
		{
			"outside of maintenance windows",
			policy.Closure{Kind: policy.OutsideWindow, Policy: "nights", Until: noon.Add(14 * time.Hour)},
			outsideWindow,
			`OperationsPolicy "nights" allows no disruption of NodePool "default" for Drifted: no maintenance window is open, the next one opens at ` + noon.Add(14*time.Hour).UTC().Format(time.RFC3339),
		},
		{
			"without another window",
			policy.Closure{Kind: policy.OutsideWindow, Policy: "once"},
			outsideWindow,
			`OperationsPolicy "once" allows no disruption of NodePool "default" for Drifted: no maintenance window is open, and none will open`,
		},
		{
			"in a freeze",
			policy.Closure{Kind: policy.Frozen, Policy: "sale", Until: noon.Add(time.Hour), Why: "Black Friday"},
			frozen,
			`OperationsPolicy "sale" allows no disruption of NodePool "default" for Drifted: frozen until ` + noon.Add(time.Hour).UTC().Format(time.RFC3339) + `, Black Friday`,
		},
		{
			"with an invalid policy",
			policy.Closure{Kind: policy.Invalid, Policy: "typo", Why: "no such zone"},
			invalidPolicy,
			`OperationsPolicy "typo" allows no disruption of NodePool "default" for Drifted: the policy cannot be evaluated, no such zone`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Closed = map[Reason]policy.Closure{Drifted: test.closure} })
			drifted(f.node("a", onDemand, "x1", 500), 1)
			f.node("b", onDemand, "x1", 500)
			d := f.decide(drift(), 2)
			f.want(d, "")
			f.wantObstacle(d, "a", test.code, "")
			f.wantObstacle(d, "b", NotDrifted, "")
			for _, o := range d.Obstacles {
				if o.Code == test.code && o.String() != test.text {
					t.Errorf("text %q, want %q", o, test.text)
				}
			}
		})
	}
	t.Run("other reasons are not affected", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand), func(p *Pool) { p.Closed = map[Reason]policy.Closure{Empty: {Kind: policy.Frozen}} })
		drifted(f.node("a", onDemand, "x1"), 1)
		f.want(f.decide(drift(), 1), "delete a")
		d := f.decide(emptiness(), 1)
		f.want(d, "")
		f.wantObstacle(d, "a", frozen, "")
	})
	t.Run("a command that waited is dropped", func(t *testing.T) {
		if failure := (Obstacle{Code: outsideWindow}).Failure(); failure != OverBudget {
			t.Errorf("failure %q", failure)
		}
	})
}

func TestExpiry(t *testing.T) {
	day := func(p *Pool) { p.SoftExpiry = &policy.SoftExpiry{Before: 24 * time.Hour} }
	t.Run("nodes near their end are replaced, the oldest first", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand), day)
		for name, age := range map[string]time.Duration{"old": 71 * time.Hour, "older": 71*time.Hour + time.Minute, "young": 47 * time.Hour} {
			n := f.node(name, onDemand, "x1", 900)
			n.Disruption.Created, n.Disruption.ExpireAfter = noon.Add(-age).UnixNano(), 72*time.Hour
		}
		n := f.node("endless", onDemand, "x1", 900)
		n.Disruption.Created = noon.Add(-1000 * time.Hour).UnixNano()
		d := f.decide(expiry(), 2)
		f.want(d, "replace older -> x1 on-demand; replace old -> x1 on-demand")
		f.wantObstacle(d, "young", notExpired, "")
		f.wantObstacle(d, "endless", notExpired, "")
		f.want(f.decide(expiry(), 1), "replace older -> x1 on-demand")
		for _, command := range d.Commands {
			if command.Reason != Expired {
				t.Errorf("reason %s", command.Reason)
			}
		}
	})
	t.Run("without a policy no node expires softly", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand))
		n := f.node("a", onDemand, "x1", 900)
		n.Disruption.Created, n.Disruption.ExpireAfter = noon.Add(-71*time.Hour).UnixNano(), 72*time.Hour
		f.want(f.decide(expiry(), 1), "")
	})
	t.Run("a node whose pods have no place stays until its end", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand), day)
		n := f.node("stuck", onDemand, "x4", 3000)
		n.Disruption.Created, n.Disruption.ExpireAfter = noon.Add(-71*time.Hour).UnixNano(), 72*time.Hour
		d := f.decide(expiry(), 1)
		f.want(d, "")
		f.wantObstacle(d, "stuck", noPlaceToExpire, "")
	})
	t.Run("nodes of static pools are replaced one for one", func(t *testing.T) {
		f := newFleet(t, sizes(1, onDemand), day, func(p *Pool) { p.Static = true })
		n := f.node("a", onDemand, "x1", 900)
		n.Disruption.Created, n.Disruption.ExpireAfter = noon.Add(-71*time.Hour).UnixNano(), 72*time.Hour
		d := f.decide(staticExpiry(), 1)
		if len(d.Commands) != 1 || !d.Commands[0].Static || d.Commands[0].Reason != Expired {
			t.Errorf("decided %+v", d.Commands)
		}
		f.wantObstacle(f.decide(expiry(), 1), "a", Static, "")
	})
	t.Run("it is tried after drift and before consolidation of nodes in use", func(t *testing.T) {
		var order []string
		for _, m := range WithExpiry(Methods()) {
			order = append(order, m.Name)
		}
		want := []string{"static drift", "drift", "static expiry", "expiry"}
		for i, name := range want {
			if order[2+i] != name {
				t.Fatalf("methods %q", order)
			}
		}
		if len(order) != len(Methods())+2 {
			t.Errorf("methods %q", order)
		}
	})
}
