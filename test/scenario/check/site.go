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

// site is a machine that is there or will be, with the pods that are on it once the decision is carried out.
type site struct {
	name string
	// planned is set for claims of the decision.
	planned bool
	// options are the labels that it may have: one set for a node that exists, one for every way to buy a claim.
	options []map[string]string
	// taints are those that the machine shows now.
	taints []corev1.Taint
	// here are the pods that stay, arrivals those that the decision puts there.
	here, arrivals []*corev1.Pod
}

// pods are all pods of the site.
func (s *site) pods() []*corev1.Pod { return slices.Concat(s.here, s.arrivals) }

// values are the values that a label may have there, sorted; without the label it has none.
func (s *site) values(key string) []string {
	var out []string
	for _, labels := range s.options {
		if value, ok := labels[key]; ok {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// always reports whether the site has the label whatever becomes of it.
func (s *site) always(key string) bool {
	return !slices.ContainsFunc(s.options, func(labels map[string]string) bool { _, ok := labels[key]; return !ok })
}

// decided is the one value that the label has there whatever becomes of it.
func (s *site) decided(key string) (string, bool) {
	values := s.values(key)
	if len(values) != 1 || !s.always(key) {
		return "", false
	}
	return values[0], true
}

// may reports whether the label can have the value there.
func (s *site) may(key, value string) bool { return slices.Contains(s.values(key), value) }

// settle makes all machines with their pods. Pods that the decision is about are where it puts them, or nowhere.
func (j *judge) settle() {
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
			j.sites = append(j.sites, j.nodeSite(o, named))
		case *v1.NodeClaim:
			if node, _ := j.find("", o.Name); node == nil && !j.hasNode(o) {
				j.sites = append(j.sites, j.coming(o))
			}
		}
	}
	for i, c := range j.Claims {
		j.sites = append(j.sites, j.planned(fmt.Sprintf("claim %d", i+1), c))
	}
}

func (j *judge) hasNode(claim *v1.NodeClaim) bool {
	return claim.Status.ProviderID != "" && slices.ContainsFunc(j.Objects, func(o client.Object) bool {
		node, ok := o.(*corev1.Node)
		return ok && node.Spec.ProviderID == claim.Status.ProviderID
	})
}

func (j *judge) nodeSite(node *corev1.Node, named map[types.UID]bool) *site {
	_, claim := j.find(node.Name, "")
	s := &site{name: node.Name, options: []map[string]string{standing(node, claim).Labels}, taints: node.Spec.Taints}
	for _, pod := range j.bound(node.Name) {
		if !named[pod.UID] && pod.DeletionTimestamp == nil {
			s.here = append(s.here, pod)
		}
	}
	slices.SortFunc(s.here, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	for _, p := range j.Placements {
		if p.Node == node.Name || claim != nil && p.Claim == claim.Name {
			s.arrivals = append(s.arrivals, j.podsOf(p.Pods)...)
		}
	}
	return s
}

// coming is a claim of an earlier decision that has no node yet: its labels are known once it is launched.
func (j *judge) coming(claim *v1.NodeClaim) *site {
	s := &site{name: claim.Name, taints: claim.Spec.Taints}
	for _, p := range j.Placements {
		if p.Claim == claim.Name {
			s.arrivals = append(s.arrivals, j.podsOf(p.Pods)...)
		}
	}
	if claim.Status.ProviderID == "" {
		s.options = j.purchases(claim, func(machine) bool { return true })
	}
	if len(s.options) == 0 {
		s.options = []map[string]string{maps.Clone(claim.Labels)}
	}
	s.call(claim.Name)
	return s
}

// planned is a claim of the decision, limited to the ways to buy it that hold its pods.
func (j *judge) planned(name string, c Claim) *site {
	pods := j.podsOf(c.Pods)
	s := &site{name: name, planned: true, taints: c.Object.Spec.Taints, arrivals: pods}
	s.options = j.purchases(c.Object, func(m machine) bool {
		_, over := short(sum(append(j.daemonsOn(m.node), pods...)), m.allocatable)
		return !over
	})
	s.call("(" + name + ")") // a name that no node can have
	return s
}

// purchases are the labels of all machines that a claim may be launched as.
func (j *judge) purchases(claim *v1.NodeClaim, accept func(machine) bool) []map[string]string {
	var out []map[string]string
	for _, t := range j.Types[claim.Labels[v1.NodePoolLabelKey]] {
		if !lists(claim, t.Name) {
			continue
		}
		for _, m := range machines(t, claim.Labels, claim.Spec.Taints) {
			if allAllow(claim.Spec.Requirements, m.node.Labels) && accept(m) {
				out = append(out, m.node.Labels)
			}
		}
	}
	return out
}

// lists reports whether the claim may be launched as the instance type, as far as its name goes.
func lists(claim *v1.NodeClaim, instanceType string) bool {
	for _, r := range claim.Spec.Requirements {
		if r.Key == corev1.LabelInstanceTypeStable && !allows(r, map[string]string{r.Key: instanceType}) {
			return false
		}
	}
	return true
}

// call names the machine.
func (s *site) call(name string) {
	for i, labels := range s.options {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelHostname] = name
		s.options[i] = labels
	}
}
