package sim

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// readyFor is how long a NodePool may have been ready when a pass does not know it yet: a batch of pods ends after a second.
const readyFor = 2 * time.Second

// exploration is a small scene of which all schedules with few deviations from the usual order are explored.
type exploration struct {
	name     string
	alphabet Alphabet
	// objects are there before, and have come to rest; begin is what happens then, and the schedules of the time after it differ.
	objects func() []client.Object
	begin   func(*Cluster)
	time    time.Duration
	// step and end return what is wrong after each step, and at the end: the invariant and the details.
	step, end func(*Cluster) (invariant, details string)
}

var explorations = []exploration{
	{
		name: "one-pod", time: 3 * time.Minute,
		alphabet: Alphabet{
			Watches: []string{"Pod", "NodeClaim", "Node", "NodePool"}, Writes: []string{"NodeClaim", "Node"},
			Queues: []string{"nodeclaim.lifecycle"}, Actors: []string{"cloud", "kube-scheduler"}, Crashes: 1,
		},
		objects: func() []client.Object { return []client.Object{newPool("default")} },
		begin:   func(c *Cluster) { mustCreate(c, newDeployment("app", 1, "1")) },
		step:    func(c *Cluster) (string, string) { return tooMany(c, 1) },
		end:     func(c *Cluster) (string, string) { return atRest(c, 1) },
	},
	{
		name: "consolidation", time: 5 * time.Minute,
		alphabet: Alphabet{
			Watches: []string{"Pod", "NodeClaim", "Node"}, Writes: []string{"NodeClaim", "Node"},
			Actors: []string{"cloud"}, Crashes: 1,
		},
		objects: func() []client.Object {
			pool := newPool("default")
			pool.Spec.Template.Spec.Requirements[0].Values = []string{v1.CapacityTypeOnDemand} // a spot node is not replaced by another one
			pool.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{Duration: ptr.To(time.Duration(0))}
			pool.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
			return []client.Object{pool, newDeployment("large", 1, "7"), newDeployment("app", 1, "500m")}
		},
		begin: func(c *Cluster) {
			_ = c.API.Delete(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "large", Namespace: "default"}}, metav1.DeleteOptions{})
		},
		step: func(c *Cluster) (string, string) { return tooMany(c, 2) },
		end:  func(c *Cluster) (string, string) { return atRest(c, 1) },
	},
	{
		name: "drain", time: 5 * time.Minute,
		alphabet: Alphabet{
			Watches: []string{"Pod", "NodeClaim", "Node"}, Writes: []string{"NodeClaim", "Node", "Pod"},
			Queues: []string{"nodeclaim.lifecycle", "node.termination", "eviction-queue"}, Actors: []string{"cloud", "kubelets"}, Crashes: 1,
		},
		objects: func() []client.Object {
			d := newDeployment("app", 2, "1")
			return []client.Object{newPool("default"), d, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace},
				Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: d.Spec.Selector},
			}}
		},
		begin: func(c *Cluster) {
			for _, claim := range All[v1.NodeClaim](c.API) {
				_ = c.API.Delete(claim, metav1.DeleteOptions{})
			}
		},
		// Of two pods, a pass may know the first alone, and launch a node for it.
		step: func(c *Cluster) (string, string) { return tooMany(c, 2) },
		end:  func(c *Cluster) (string, string) { return atRest(c, 2) },
	},
	{
		name: "stale-ready", time: 2 * time.Minute,
		alphabet: Alphabet{
			Watches: []string{"NodePool", "KWOKNodeClass", "Pod"}, Queues: []string{"nodepool.readiness", "nodepool.validation"}, Writes: []string{"NodePool"},
		},
		objects: func() []client.Object {
			fallback := newPool("fallback")
			fallback.Spec.Weight = ptr.To[int32](1)
			return []client.Object{fallback}
		},
		begin: func(c *Cluster) {
			preferred := newPool("preferred")
			preferred.Spec.Weight = ptr.To[int32](50)
			mustCreate(c, preferred)
			c.World.after(5*time.Second, "user", func() { mustCreate(c, newDeployment("app", 1, "1")) })
		},
		step: func(c *Cluster) (string, string) { return skippedReady(c) },
		end:  func(c *Cluster) (string, string) { return atRest(c, 1) },
	},
}

func mustCreate(c *Cluster, o client.Object) {
	if err := c.API.Create(o); err != nil {
		panic(fmt.Sprintf("creating %s: %v", o.GetName(), err))
	}
}

// tooMany: no more NodeClaims exist than the pods need. Those that are deleted do not count, and those that are about to be because their node
// is empty: after a crash, the replacement that the process before had created may be, while another one is created.
func tooMany(c *Cluster, most int) (invariant, details string) {
	var live []string
	for _, claim := range c.invariants.claims {
		reason := condition.For(claim.DeepCopy(), time.Now()).Get(v1.ConditionTypeDisruptionReason)
		if claim.DeletionTimestamp == nil && (reason == nil || reason.Status != metav1.ConditionTrue || reason.Reason != "Empty") {
			live = append(live, claim.Name)
		}
	}
	if len(live) <= most {
		return "", ""
	}
	slices.Sort(live)
	return "more NodeClaims than needed", fmt.Sprintf("%v, want %d", live, most)
}

// atRest: all pods run, on no more nodes than they need, and nothing is under way.
func atRest(c *Cluster, most int) (invariant, details string) {
	for _, pod := range c.invariants.pods {
		if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			return "not at rest", fmt.Sprintf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
	}
	initialized := 0
	for _, claim := range c.invariants.claims {
		if condition.Status(claim, v1.ConditionTypeInitialized) == metav1.ConditionTrue && claim.DeletionTimestamp == nil {
			initialized++
		}
	}
	instances, claims := len(c.Datacenter.Instances()), len(c.invariants.claims)
	if instances != claims || initialized != claims || claims > most || len(c.invariants.pods) == 0 {
		return "not at rest", fmt.Sprintf("%d instances, %d NodeClaims, %d initialized, want %d or fewer", instances, claims, initialized, most)
	}
	return "", ""
}

// skippedReady: no node is launched from another NodePool while the preferred one is ready.
func skippedReady(c *Cluster) (invariant, details string) {
	pool := c.invariants.pools["preferred"]
	if pool == nil {
		return "", ""
	}
	ready := condition.For(pool.DeepCopy(), time.Now()).Get(v1.ConditionTypeReady)
	for _, claim := range c.invariants.claims {
		if claim.Labels[v1.NodePoolLabelKey] == pool.Name || !claim.CreationTimestamp.Time.Equal(time.Now().Truncate(time.Second)) {
			continue
		}
		if ready != nil && ready.Status == metav1.ConditionTrue && time.Since(ready.LastTransitionTime.Time) > readyFor {
			return "ready NodePool skipped", fmt.Sprintf("%s is of %s", claim.Name, claim.Labels[v1.NodePoolLabelKey])
		}
	}
	return "", ""
}

// cluster returns the scene, at rest.
func (x *exploration) cluster(s Settings) (*Cluster, error) {
	s.Seed, s.Scene = 1, Scene{Types: 12, Budget: 100, Plain: true, Every: time.Hour, MaxPods: 1, Create: 1}
	c, err := New(s)
	if err != nil {
		return nil, err
	}
	if err := c.API.Create(&kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
		return c, err
	}
	for _, o := range x.objects() {
		if err := c.API.Create(o); err != nil {
			return c, err
		}
	}
	c.StopEarly = true
	if err := c.Run(3 * time.Minute); err != nil {
		return c, err
	}
	if len(c.Violations) > 0 {
		return c, fmt.Errorf("before the exploration: %v", c.Violations)
	}
	return c, nil
}
