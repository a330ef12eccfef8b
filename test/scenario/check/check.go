// Package check checks plans by Kubernetes semantics. It shares no code with the engine: candidate Node objects are built from the
// cloud's instance types, and the helpers of kube-scheduler decide whether pods could run on them.
//
// A plan is valid when every unschedulable pod is accounted for exactly once; whatever listed instance type and offering a claim is
// launched with, its pods and the DaemonSet pods fit, match and tolerate the node; prices are those of the cheapest choice; limits hold
// in the worst case; existing nodes are not overcommitted; required affinity, anti-affinity and DoNotSchedule spread hold, whichever
// zone or other label value a claim gets; as many pods of a PodGroup as it needs run together, in one domain of its topology, or none is
// placed; and a pod is refused only if no pool without limits could hold it, or another pod of its PodGroup, alone on a new node.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Subject is a plan with its input.
type Subject struct {
	// Objects are the objects of the cluster.
	Objects []client.Object
	// Types are what each usable pool could launch, by the pool's name.
	Types map[string][]*cloud.InstanceType
	// StaticTypes are what each static pool could launch for its replicas.
	StaticTypes map[string][]*cloud.InstanceType
	// DefaultSpread is set when default constraints apply to pods without spread constraints. Refusals of such pods are not checked
	// then.
	DefaultSpread bool
	// DevicesIgnored is set when resource claims are ignored: DaemonSets that have any run nowhere then.
	DevicesIgnored bool
	// FewerValues is set when claims may have fewer values than minValues of their pool.
	FewerValues bool
	// WellKnown are labels that instance types define.
	WellKnown map[string]bool

	Claims     []Claim
	Placements []Placement
	// Refused and Ignored are pods that fit nowhere, and pods that were not considered.
	Refused, Ignored []types.UID
}

// Claim is one NodeClaim to launch.
type Claim struct {
	Object   *v1.NodeClaim
	Pods     []types.UID
	Price    float64
	Cheapest string // the instance type that has the price
}

// Placement puts pods on an existing Node, or on a NodeClaim whose Node has not registered yet.
type Placement struct {
	Node, Claim string
	Pods        []types.UID
}

// judge collects violations.
type judge struct {
	Subject
	pods       map[types.UID]*corev1.Pod
	pools      map[string]*v1.NodePool
	namespaces map[string]map[string]string
	daemons    []*corev1.Pod
	sites      []*plannedNode
	groups     map[string]*podGroup
	errs       []error
	cache      cache
}

// cache holds results that depend on pools and instance types alone.
type cache struct {
	named      map[string]map[string]bool
	candidates map[typeOfPool][]Candidate
}

// typeOfPool is an instance type of one pool, with the custom labels that are not decided.
type typeOfPool struct {
	instanceType *cloud.InstanceType
	pool, labels string
}

// Judge lists the violations of a plan.
func Judge(s Subject) []error {
	j := &judge{Subject: s, pods: map[types.UID]*corev1.Pod{}, pools: map[string]*v1.NodePool{}, namespaces: map[string]map[string]string{}}
	j.cache = cache{named: map[string]map[string]bool{}, candidates: map[typeOfPool][]Candidate{}}
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *corev1.Pod:
			j.pods[o.UID] = o
		case *v1.NodePool:
			j.pools[o.Name] = o
		case *corev1.Namespace:
			j.namespaces[o.Name] = o.Labels
		case *appsv1.DaemonSet:
			if s.DevicesIgnored && usesDevices(&o.Spec.Template.Spec) {
				continue
			}
			j.daemons = append(j.daemons, DaemonPod(o))
		}
	}
	slices.SortFunc(j.daemons, func(a, b *corev1.Pod) int {
		// The classes that every cluster has are critical, and in the order of their names.
		return cmp.Or(strings.Compare(b.Spec.PriorityClassName, a.Spec.PriorityClassName), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	j.accounting()
	for i, c := range s.Claims {
		j.claim(fmt.Sprintf("claim %d", i+1), c)
		j.drivers(fmt.Sprintf("claim %d", i+1), c)
	}
	for _, p := range s.Placements {
		j.placement(p)
	}
	j.limits()
	j.buildNodes()
	j.antiAffinity()
	j.affinity()
	j.selfAffinity()
	j.spreads()
	j.sharedVolumes()
	j.findGroups()
	j.podGroups()
	j.refusals()
	return j.errs
}

func (j *judge) fail(format string, args ...any) {
	j.errs = append(j.errs, fmt.Errorf(format, args...))
}

// DaemonPod is the pod that a DaemonSet would create for a node.
func DaemonPod(d *appsv1.DaemonSet) *corev1.Pod {
	pod := &corev1.Pod{Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.Labels = d.Namespace, d.Name, d.Spec.Template.Labels
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for name, q := range list[i].Resources.Limits {
				if _, ok := list[i].Resources.Requests[name]; !ok {
					if list[i].Resources.Requests == nil {
						list[i].Resources.Requests = corev1.ResourceList{}
					}
					list[i].Resources.Requests[name] = q
				}
			}
		}
	}
	return pod
}

// accounting checks that the plan names every unschedulable pod once and no other pod. Pods of nodes that are being deleted may be
// named.
func (j *judge) accounting() {
	named := map[types.UID]int{}
	for _, list := range j.answers() {
		for _, uid := range list {
			named[uid]++
		}
	}
	deletes := map[string]bool{}
	for _, o := range j.Objects {
		if node, ok := o.(*corev1.Node); ok {
			_, claim := j.find(node.Name, "")
			deletes[node.Name] = deleting(node, claim)
		}
	}
	for uid, pod := range j.pods {
		switch n := named[uid]; {
		case unschedulable(pod) && n != 1:
			j.fail("pod %s is unschedulable and is named %d times", pod.Name, n)
		case !unschedulable(pod) && n > 0 && !deletes[pod.Spec.NodeName]:
			j.fail("pod %s is not unschedulable and is named %d times", pod.Name, n)
		}
		delete(named, uid)
	}
	for uid := range named {
		j.fail("pod %s is named and does not exist", uid)
	}
}

func (j *judge) answers() [][]types.UID {
	out := [][]types.UID{j.Refused, j.Ignored}
	for _, c := range j.Claims {
		out = append(out, c.Pods)
	}
	for _, p := range j.Placements {
		out = append(out, p.Pods)
	}
	return out
}

// unschedulable reports whether kube-scheduler found no node for the pod and does not preempt for it.
func unschedulable(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" {
		return false
	}
	for _, o := range pod.OwnerReferences {
		if o.Kind == "DaemonSet" || o.Kind == "Node" {
			return false
		}
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
	})
}

func (j *judge) podsOf(uids []types.UID) []*corev1.Pod {
	var out []*corev1.Pod
	for _, uid := range uids {
		if pod, ok := j.pods[uid]; ok {
			out = append(out, pod)
		}
	}
	return out
}
