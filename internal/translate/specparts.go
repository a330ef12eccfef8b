package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// specParts are the parts of the specs of one list of pods.
//
// Problem: of 4 000 pods, 1 900 have different specs, but these combine a few dozen requests with a few dozen constraints. Approach: each
// part is translated once for a list of pods, found by its part of the key of the spec cache, and a shape is put together from both.
// Invariant: shapes are never changed, so that they may share lists. Cost: two look-ups for each different spec.
type specParts struct {
	// demands are shapes with what demand sets only, rules the others.
	demands map[string]*model.Shape
	rules   map[string]specRules
	// judged are the results of reject by the same part of the key as rules.
	judged map[string]judgement
}

// judgement is a result of reject.
type judgement struct {
	problems string
	silent   bool
}

// specRules is a shape without what demand sets, with the preferences that it ignores.
type specRules struct {
	shape   *model.Shape
	ignored notes
}

func newSpecParts() *specParts {
	return &specParts{demands: map[string]*model.Shape{}, rules: map[string]specRules{}, judged: map[string]judgement{}}
}

// shapeFrom is shape for a pod with the given key, of which the first part ends at cut. With parts it translates only what no pod before had.
func (x *podSpecs) shapeFrom(parts *specParts, key []byte, cut int, pod *corev1.Pod) (*model.Shape, notes) {
	if parts == nil {
		return x.shape(pod)
	}
	demand, ok := parts.demands[string(key[:cut])]
	if !ok {
		demand = &model.Shape{}
		x.demand(demand, pod)
		parts.demands[string(key[:cut])] = demand
	}
	rules, ok := parts.rules[string(key[cut:])]
	if !ok {
		rules.shape, rules.ignored = x.rules(pod)
		parts.rules[string(key[cut:])] = rules
	}
	s := *rules.shape
	s.Requests, s.Unoffered, s.Extended, s.HostPorts = demand.Requests, demand.Unoffered, demand.Extended, demand.HostPorts
	return &s, rules.ignored
}

// reject is that of labelTerms for a pod with the given key, of which the first part ends at cut. What demand reads matters to it by its
// length only: as long as that is within limits, pods with the same other part are judged once.
func (x *podSpecs) reject(parts *specParts, key []byte, cut int, pod *corev1.Pod) judgement {
	judge := func() (j judgement) {
		j.problems, j.silent = x.labels.reject(pod, "", len(key))
		return j
	}
	if parts == nil || len(key) > MaxSpecBytes || len(pod.Spec.Containers)+len(pod.Spec.InitContainers) > MaxContainers {
		return judge()
	}
	known, ok := parts.judged[string(key[cut:])]
	if !ok {
		known = judge()
		parts.judged[string(key[cut:])] = known
	}
	return known
}
