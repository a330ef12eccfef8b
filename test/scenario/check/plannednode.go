package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// plannedNode is an existing or new node with the pods that are on it once the plan is carried out.
type plannedNode struct {
	name string
	// planned is set for claims of the plan.
	planned bool
	// leaving is set for a node that is being deleted: in the end there are no pods on it.
	leaving bool
	// options are the labels that it may have: one set for an existing node, one per candidate of a claim.
	options []map[string]string
	// taints are those that the node has now.
	taints []corev1.Taint
	// staying are the pods that stay, arrivals those that the plan places there.
	staying, arrivals []*corev1.Pod
	// daemons are the DaemonSet pods that start on the node, one list for each of the options; nil if there are none.
	daemons [][]*corev1.Pod
}

// daemonIs reports whether a DaemonSet pod with a property starts on the node, whatever it is launched as.
func (s *plannedNode) daemonIs(meant func(*corev1.Pod) bool) bool {
	return len(s.daemons) > 0 && !slices.ContainsFunc(s.daemons, func(list []*corev1.Pod) bool { return !slices.ContainsFunc(list, meant) })
}

// daemonMayBe reports whether a DaemonSet pod with a property may start on the node.
func (s *plannedNode) daemonMayBe(meant func(*corev1.Pod) bool) bool {
	return slices.ContainsFunc(s.daemons, func(list []*corev1.Pod) bool { return slices.ContainsFunc(list, meant) })
}

// pods are all pods of the node.
func (s *plannedNode) pods() []*corev1.Pod { return slices.Concat(s.staying, s.arrivals) }

// values are the values that a label may have, sorted; none without the label.
func (s *plannedNode) values(key string) []string {
	var out []string
	for _, labels := range s.options {
		if value, ok := labels[key]; ok {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// always reports whether the node has the label in every case.
func (s *plannedNode) always(key string) bool {
	return !slices.ContainsFunc(s.options, func(labels map[string]string) bool { _, ok := labels[key]; return !ok })
}

// decided is the value that the label has in every case.
func (s *plannedNode) decided(key string) (string, bool) {
	values := s.values(key)
	if len(values) != 1 || !s.always(key) {
		return "", false
	}
	return values[0], true
}

// may reports whether the label can have the value.
func (s *plannedNode) may(key, value string) bool { return slices.Contains(s.values(key), value) }

// buildNodes builds all nodes with their pods. Pods of the plan are where it places them, or nowhere.
func (j *judge) buildNodes() {
	named := map[types.UID]bool{}
	for _, list := range j.answers() {
		for _, uid := range list {
			named[uid] = true
		}
	}
	for _, uid := range j.Ignored {
		delete(named, uid) // they stay where they are
	}
	for _, o := range j.Objects {
		switch o := o.(type) {
		case *corev1.Node:
			j.sites = append(j.sites, j.existingNode(o, named))
		case *v1.NodeClaim:
			if node, _ := j.find("", o.Name); node == nil && !j.hasNode(o) {
				j.sites = append(j.sites, j.inFlightNode(o))
			}
		}
	}
	for i, c := range j.Claims {
		j.sites = append(j.sites, j.newNode(fmt.Sprintf("claim %d", i+1), c))
	}
}

func (j *judge) hasNode(claim *v1.NodeClaim) bool {
	return claim.Status.ProviderID != "" && slices.ContainsFunc(j.Objects, func(o client.Object) bool {
		node, ok := o.(*corev1.Node)
		return ok && node.Spec.ProviderID == claim.Status.ProviderID
	})
}

func (j *judge) existingNode(node *corev1.Node, named map[types.UID]bool) *plannedNode {
	_, claim := j.find(node.Name, "")
	stands := effectiveNode(node, claim)
	s := &plannedNode{name: node.Name, options: []map[string]string{stands.Labels}, taints: node.Spec.Taints}
	if s.leaving = deleting(node, claim); !s.leaving {
		s.daemons = [][]*corev1.Pod{j.startingOn(stands, stands.Status.Allocatable)}
	}
	for _, pod := range j.boundPods(node.Name) {
		if !named[pod.UID] && pod.DeletionTimestamp == nil {
			s.staying = append(s.staying, pod)
		}
	}
	slices.SortFunc(s.staying, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	for _, p := range j.Placements {
		if p.Node == node.Name || claim != nil && p.Claim == claim.Name {
			s.arrivals = append(s.arrivals, j.podsOf(p.Pods)...)
		}
	}
	return s
}

// inFlightNode is a claim of an earlier plan that has no node yet: its labels are known once it has launched.
func (j *judge) inFlightNode(claim *v1.NodeClaim) *plannedNode {
	s := &plannedNode{name: claim.Name, taints: claim.Spec.Taints}
	for _, p := range j.Placements {
		if p.Claim == claim.Name {
			s.arrivals = append(s.arrivals, j.podsOf(p.Pods)...)
		}
	}
	if claim.Status.ProviderID == "" {
		s.options = j.launchLabels(claim, func(Candidate) bool { return true })
	}
	if len(s.options) == 0 {
		s.options = []map[string]string{maps.Clone(claim.Labels)}
	}
	if claim.Status.ProviderID != "" {
		stands := effectiveNode(nil, claim)
		s.daemons = [][]*corev1.Pod{j.daemonsOn(stands, stands.Status.Allocatable)}
	}
	s.setName(claim.Name)
	return s
}

// newNode is a claim of the plan, limited to the candidates that hold its pods.
func (j *judge) newNode(name string, c Claim) *plannedNode {
	pods := j.podsOf(c.Pods)
	s := &plannedNode{name: name, planned: true, taints: c.Object.Spec.Taints, arrivals: pods}
	s.options = j.launchLabels(c.Object, func(m Candidate) bool {
		daemons := j.daemonsOn(m.Node, m.Allocatable)
		_, over := short(sum(append(slices.Clip(daemons), pods...)), m.Allocatable)
		if !over {
			s.daemons = append(s.daemons, daemons)
		}
		return !over
	})
	s.setName("(" + name + ")") // a name that no node can have
	return s
}

// launchLabels are the labels of all candidates that a claim may launch.
func (j *judge) launchLabels(claim *v1.NodeClaim, accept func(Candidate) bool) []map[string]string {
	var out []map[string]string
	for _, t := range j.Types[claim.Labels[v1.NodePoolLabelKey]] {
		if !lists(claim, t.Name) {
			continue
		}
		for _, m := range Candidates(t, claim.Labels, claim.Spec.Taints) {
			if Allowed(claim.Spec.Requirements, m.Node.Labels) && accept(m) {
				out = append(out, m.Node.Labels)
			}
		}
	}
	return out
}

// lists reports whether the claim names the instance type, or names none.
func lists(claim *v1.NodeClaim, instanceType string) bool {
	for _, r := range claim.Spec.Requirements {
		if r.Key == corev1.LabelInstanceTypeStable && !allows(r, map[string]string{r.Key: instanceType}) {
			return false
		}
	}
	return true
}

// setName sets the name of the node.
func (s *plannedNode) setName(name string) {
	for i, labels := range s.options {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelHostname] = name
		s.options[i] = labels
	}
}
