package repair

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// fixture is a claim with its Node, in a cloud that tolerates a Node that is not ready for ten minutes and a broken disk for two.
type fixture struct {
	*fakecluster.Cluster
	claim *v1.NodeClaim
	node  *corev1.Node
	r     *Repair
}

const broken corev1.NodeConditionType = "DiskBroken"

func newFixture(t *testing.T, changes ...func(*fixture)) *fixture {
	t.Helper()
	w := fakecluster.New(t, fakecluster.Pool())
	w.Cloud.RepairPolicies = []cloud.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: 10 * time.Minute},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, TolerationDuration: 10 * time.Minute},
		{ConditionType: broken, ConditionStatus: corev1.ConditionTrue, TolerationDuration: 2 * time.Minute},
	}
	d := &fixture{Cluster: w, claim: w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), node: w.RegisteredNode("a")}
	d.claim.Status.ImageID = "image-1"
	for _, change := range changes {
		change(d)
	}
	w.Add(d.claim, d.node)
	r, err := New(w.Shared, w.Cloud.RepairPolicies)
	if err != nil {
		t.Fatal(err)
	}
	d.r = r
	return d
}

// says sets a condition with a status since this duration.
func says(name corev1.NodeConditionType, status corev1.ConditionStatus, since time.Duration) func(*fixture) {
	return func(d *fixture) {
		d.node.Status.Conditions = condition(d.Cluster, d.node.Status.Conditions, name, status, since)
	}
}

func condition(w *fakecluster.Cluster, have []corev1.NodeCondition, name corev1.NodeConditionType, status corev1.ConditionStatus, since time.Duration) []corev1.NodeCondition {
	have = slices.DeleteFunc(slices.Clone(have), func(c corev1.NodeCondition) bool { return c.Type == name })
	return append(have, corev1.NodeCondition{Type: name, Status: status, LastTransitionTime: metav1.NewTime(w.Time.Now().Add(-since))})
}

func notReady(since time.Duration) func(*fixture) {
	return says(corev1.NodeReady, corev1.ConditionFalse, since)
}

func (d *fixture) pass() reconcile.Result { d.Helper(); return d.Run(d.r, d.node) }

// claimNow is the claim as the API server has it; nil when it has none.
func (d *fixture) claimNow() *v1.NodeClaim {
	d.Helper()
	got, there := fakecluster.Get(d.Cluster, d.claim)
	if !there {
		return nil
	}
	return got
}

func (d *fixture) deleted() bool { c := d.claimNow(); return c == nil || c.DeletionTimestamp != nil }

func (d *fixture) deadline() string {
	return d.claimNow().Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]
}

func TestWhoIsRepaired(t *testing.T) {
	t.Attr("covers", "C500 C501 C502 C503 C506")
	for name, c := range map[string]struct {
		change  []func(*fixture)
		deleted bool
		after   time.Duration
	}{
		"a healthy node":                            {},
		"not ready for ten minutes":                 {change: []func(*fixture){notReady(10 * time.Minute)}, deleted: true},
		"unknown for ten minutes":                   {change: []func(*fixture){says(corev1.NodeReady, corev1.ConditionUnknown, 10*time.Minute)}, deleted: true},
		"a second too early":                        {change: []func(*fixture){notReady(10*time.Minute - time.Second)}, after: time.Second},
		"a condition without a policy":              {change: []func(*fixture){says("KernelPanic", corev1.ConditionTrue, time.Hour)}},
		"a status that is not objected to":          {change: []func(*fixture){says(broken, corev1.ConditionUnknown, time.Hour)}},
		"the one that is due first, not the older":  {change: []func(*fixture){notReady(3 * time.Minute), says(broken, corev1.ConditionTrue, time.Minute)}, after: time.Minute},
		"one is due, the other is not":              {change: []func(*fixture){notReady(3 * time.Minute), says(broken, corev1.ConditionTrue, 2*time.Minute)}, deleted: true},
		"do-not-disrupt on the node does not count": {change: []func(*fixture){notReady(time.Hour), protected}, deleted: true},
		"a pool that allows nothing does not count": {change: []func(*fixture){notReady(time.Hour), blockedPool}, deleted: true},
		"a node without the label of our class":     {change: []func(*fixture){notReady(time.Hour), func(d *fixture) { delete(d.node.Labels, fakecluster.ClassLabel) }}},
		"a claim of another installation": {change: []func(*fixture){notReady(time.Hour), func(d *fixture) {
			d.claim.Spec.NodeClassRef = fakecluster.Unmanaged()
		}}},
		"a node without a claim": {change: []func(*fixture){notReady(time.Hour), func(d *fixture) { d.node.Spec.ProviderID = "test://other" }}},
		"a node with two claims": {change: []func(*fixture){notReady(time.Hour), func(d *fixture) {
			second := d.LaunchedClaim("b")
			second.Status.ProviderID = d.claim.Status.ProviderID
			d.Add(second)
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, c.change...)
			if result := d.pass(); result != requeue.After(c.after) {
				t.Errorf("result %+v, want to look again after %v", result, c.after)
			}
			if got := d.deleted(); got != c.deleted {
				t.Errorf("deleted: %v, want %v", got, c.deleted)
			}
			if got := d.deadline() != ""; got != c.deleted {
				t.Errorf("the deadline is %q", d.deadline())
			}
			if len(d.Events()) != 0 {
				t.Errorf("events %q", d.Events())
			}
		})
	}
}

// TestStuckWatch covers nodes that have become healthy, or that are gone, while the cache shows what was before.
func TestStuckWatch(t *testing.T) {
	t.Attr("covers", "N489")
	for name, change := range map[string]func(*fixture){
		"healthy again": func(d *fixture) {
			fakecluster.Change(d.Cluster, d.node, func(n *corev1.Node) { n.Status.Conditions = nil })
		},
		"unhealthy again, but not for long": func(d *fixture) {
			fakecluster.Change(d.Cluster, d.node, func(n *corev1.Node) {
				n.Status.Conditions = condition(d.Cluster, n.Status.Conditions, corev1.NodeReady, corev1.ConditionUnknown, time.Minute)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, says(corev1.NodeReady, corev1.ConditionUnknown, time.Hour))
			d.Freeze(d.node)
			change(d)
			if d.pass(); d.deleted() {
				t.Error("the claim is deleted")
			}
		})
	}
}

func protected(d *fixture) {
	d.node.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
	d.claim.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
}

func blockedPool(d *fixture) {
	fakecluster.Change(d.Cluster, fakecluster.Pool(), func(p *v1.NodePool) { p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0"}} })
}

func TestWhatIsCounted(t *testing.T) {
	t.Attr("covers", "N074")
	t.Attr("covers", "N196")
	t.Attr("covers", "C510")
	d := newFixture(t, notReady(time.Hour), func(d *fixture) {
		d.claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
		daemon := d.Pod("daemon", "a")
		daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
		d.Add(d.Pod("x", "a"), d.Pod("y", "a"), daemon)
	})
	thaw := d.Freeze(d.claim)
	d.pass()
	d.pass() // from a cache that lags
	thaw()
	d.pass()
	labels := []string{"reason=unhealthy", "nodepool=pool", "capacity_type=spot", "consolidation_policy=", "termination_mode=eventual"}
	for metric, want := range map[string]float64{"karpenter_nodeclaims_disrupted_total": 1, "karpenter_pods_disruption_initiated_total": 2} {
		if got := d.Count(metric, labels...); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if got := d.Count("karpenter_nodeclaims_unhealthy_disrupted_total", "condition=ready", "nodepool=pool", "capacity_type=spot", "image_id=image-1", "termination_mode=eventual"); got != 1 {
		t.Errorf("counted as unhealthy %v times", got)
	}
}

func TestDeadline(t *testing.T) {
	t.Attr("covers", "C504 C505")
	const past = "2020-01-01T00:00:00Z"
	for name, c := range map[string]struct{ have, want string }{
		"none yet":         {"", "now"},
		"one to come":      {"2999-01-01T00:00:00Z", "now"},
		"invalid":          {"tomorrow", "now"},
		"one that is past": {past, past},
	} {
		for _, going := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deleted before: %v", name, going), func(t *testing.T) {
				d := newFixture(t, notReady(time.Hour))
				if c.have != "" {
					fakecluster.Change(d.Cluster, d.claim, func(n *v1.NodeClaim) {
						n.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: c.have}
					})
				}
				if going {
					d.Delete(d.claim)
				}
				d.pass()
				want := c.want
				if want == "now" {
					want = d.Time.Now().Format(time.RFC3339)
				}
				if got := d.deadline(); got != want || !d.deleted() {
					t.Errorf("deadline %q, want %q; deleted: %v", got, want, d.deleted())
				}
				if got := d.Count("karpenter_nodeclaims_disrupted_total"); got != map[bool]float64{false: 1}[going] {
					t.Errorf("counted %v times", got)
				}
			})
		}
	}
}

// among adds other Nodes beside that of the fixture, of which some have been unhealthy for a moment.
func among(others, unhealthy int, change func(*corev1.Node)) func(*fixture) {
	return func(d *fixture) {
		for i := range others {
			node := d.RegisteredNode(fmt.Sprint("other-", i))
			if change != nil {
				change(node)
			}
			if i < unhealthy {
				node.Status.Conditions = condition(d.Cluster, node.Status.Conditions, corev1.NodeReady, corev1.ConditionUnknown, time.Second)
			}
			d.Add(node)
		}
	}
}

func TestTooManyStopRepair(t *testing.T) {
	t.Attr("covers", "C507 C508 C509")
	elsewhere := func(n *corev1.Node) { n.Labels[v1.NodePoolLabelKey] = "other" }
	foreign := func(n *corev1.Node) { n.Labels = nil }
	alone := func(d *fixture) {
		delete(d.claim.Labels, v1.NodePoolLabelKey)
		delete(d.node.Labels, v1.NodePoolLabelKey)
	}
	const inPool, inCluster = "more than 20% nodes are unhealthy in the nodepool", "more then 20% nodes are unhealthy in the cluster"
	told := func(message string, names ...string) (out []string) {
		for _, name := range names {
			out = append(out, "Warning NodeRepairBlocked "+name+": "+message)
		}
		return out
	}
	for name, c := range map[string]struct {
		change  []func(*fixture)
		blocked bool
		events  []string
	}{
		"the only one":                        {},
		"one of three":                        {change: []func(*fixture){among(2, 0, nil)}},
		"one of five":                         {change: []func(*fixture){among(4, 0, nil)}},
		"two of five":                         {change: []func(*fixture){among(4, 1, nil)}, blocked: true, events: told(inPool, "a", "a", "pool")},
		"two of six":                          {change: []func(*fixture){among(5, 1, nil)}},
		"two of ten":                          {change: []func(*fixture){among(9, 1, nil)}},
		"three of ten":                        {change: []func(*fixture){among(9, 2, nil)}, blocked: true, events: told(inPool, "a", "a", "pool")},
		"three of eleven":                     {change: []func(*fixture){among(10, 2, nil)}},
		"those of other pools":                {change: []func(*fixture){among(9, 9, elsewhere)}},
		"without a pool":                      {change: []func(*fixture){alone, among(4, 1, foreign)}, blocked: true, events: told(inCluster, "a", "a")},
		"few without a pool":                  {change: []func(*fixture){alone, among(9, 1, foreign)}},
		"the pool is gone: no event about it": {change: []func(*fixture){among(4, 1, nil), func(d *fixture) { d.Delete(fakecluster.Pool()) }}, blocked: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, append(c.change, notReady(time.Hour))...)
			result := d.pass()
			if d.deleted() == c.blocked || (result == requeue.After(5*time.Minute)) != c.blocked {
				t.Errorf("deleted: %v, result %+v; want it blocked: %v", d.deleted(), result, c.blocked)
			}
			if !slices.Equal(d.Events(), c.events) {
				t.Errorf("events %q, want %q", d.Events(), c.events)
			}
			if got := d.deadline() != ""; got == c.blocked {
				t.Errorf("the deadline is %q", d.deadline())
			}
		})
	}
}

func TestFaults(t *testing.T) {
	onFire := errors.New("the server is on fire")
	for name, c := range map[string]struct {
		op  string
		obj runtime.Object
		err error
	}{
		"the nodes around cannot be listed": {"list", &corev1.NodeList{}, onFire},
		"the deadline cannot be written":    {"patch", &v1.NodeClaim{}, onFire},
		"the deletion fails":                {"delete", &v1.NodeClaim{}, onFire},
		"the pods cannot be counted":        {"list", &corev1.PodList{}, onFire},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, notReady(time.Hour))
			d.Fail = fakecluster.Always(c.op, c.obj, c.err)
			if _, err := d.Try(d.r, d.node); !errors.Is(err, c.err) {
				t.Errorf("error %v", err)
			}
			d.Fail = nil
			if d.deleted() || d.Count("karpenter_nodeclaims_disrupted_total") != 0 {
				t.Error("it was deleted, or counted")
			}
			d.pass()
			if !d.deleted() || d.Count("karpenter_nodeclaims_disrupted_total") != 1 {
				t.Error("it was not deleted and counted once afterwards")
			}
		})
	}
	t.Run("a claim that vanishes meanwhile", func(t *testing.T) {
		d := newFixture(t, notReady(time.Hour))
		d.Fail = fakecluster.Always("patch", d.claim, fakecluster.NotFound())
		if result := d.pass(); result != (reconcile.Result{}) {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("a node that is gone", func(t *testing.T) {
		d := newFixture(t)
		d.Delete(fakecluster.Change(d.Cluster, d.node, func(n *corev1.Node) { n.Finalizers = nil }))
		if result := d.pass(); result != (reconcile.Result{}) {
			t.Errorf("result %+v", result)
		}
	})
}

func TestWhatWakesIt(t *testing.T) {
	t.Attr("covers", "N072")
	w := fakecluster.New(t)
	base := w.RegisteredNode("a")
	for name, c := range map[string]struct {
		was, is func(*corev1.Node)
		want    bool
	}{
		"reported again": {is: func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }},
		"labels":         {is: func(n *corev1.Node) { n.Labels["a"] = "b" }},
		"another status": {is: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, want: true},
		"another time":   {is: func(n *corev1.Node) { n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(9, 0)) }, want: true},
		"another condition": {is: func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: broken})
		}, want: true},
		"another reason":    {is: func(n *corev1.Node) { n.Status.Conditions[0].Reason = "Other" }, want: true},
		"it became managed": {was: func(n *corev1.Node) { delete(n.Labels, fakecluster.ClassLabel) }, want: true},
	} {
		was, is := base.DeepCopy(), base.DeepCopy()
		if c.was != nil {
			c.was(was)
		}
		if c.is != nil {
			c.is(is)
		}
		if got := healthChanged(w.Cloud).Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != c.want {
			t.Errorf("%s: woken: %v", name, got)
		}
	}
	if !healthChanged(w.Cloud).Create(event.CreateEvent{Object: base}) {
		t.Error("a new node does not wake it")
	}
}

func TestRegister(t *testing.T) {
	d := newFixture(t)
	d.Register(t, d.r)
}

func TestLegacyPolicies(t *testing.T) {
	t.Attr("covers", "N071")
	t.Attr("covers", "N073")
	limit := time.Hour
	list := []cloud.RepairPolicy{
		{ConditionType: "GPU", ConditionStatus: corev1.ConditionFalse, ReasonRegex: "XID64", TolerationDuration: time.Minute, TerminationGracePeriod: &limit, Priority: 9, Action: cloud.ReplaceNode},
		{ConditionType: "GPU", ConditionStatus: corev1.ConditionFalse, ReasonRegex: "XID48", TolerationDuration: 0, Action: cloud.RebootNode},
		{ConditionType: "Disk", ConditionStatus: corev1.ConditionTrue, TolerationDuration: time.Minute, Action: cloud.ReplaceNode},
	}
	policies, err := compile(list)
	if err != nil {
		t.Fatal(err)
	}
	since := metav1.Unix(1000, 0)
	of := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: kind, Status: status, Reason: reason, LastTransitionTime: since}}}}
	}
	for _, tt := range []struct {
		name string
		node *corev1.Node
		want bool
	}{
		{"the reason matches", of("GPU", corev1.ConditionFalse, "NvidiaXID64"), true},
		{"no expression is for the reason, and the policy without one is for another condition", of("GPU", corev1.ConditionFalse, "Other"), false},
		{"policies that reboot do not count", of("GPU", corev1.ConditionFalse, "XID48"), false},
		{"no expression matches every reason", of("Disk", corev1.ConditionTrue, "any"), true},
	} {
		found, unhealthy := diagnose(tt.node, policies)
		if unhealthy != tt.want || unhealthy && !found.due.Equal(since.Add(time.Minute)) {
			t.Errorf("%s: unhealthy is %t, due at %v", tt.name, unhealthy, found.due)
		}
		if nodes := []corev1.Node{*tt.node, *tt.node}; tooMany(nodes, policies) != tt.want {
			t.Errorf("%s: two such nodes are not counted alike", tt.name)
		}
	}
	if _, err := compile([]cloud.RepairPolicy{{ReasonRegex: "("}}); err == nil {
		t.Error("an invalid expression has no error")
	}
}
