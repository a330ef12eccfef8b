// Package generator writes random problems: the manifests of a cluster with NodePools, nodes, workloads, DaemonSets and volumes, as users
// write them. The vocabulary is small, so that objects refer to each other often. The same seed gives the same problem.
package generator

import (
	"fmt"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

// The labels of the vocabulary.
const (
	appLabel  = "app"
	tierLabel = "tier"
	teamLabel = judge.CustomDomain + "team"
	rackLabel = judge.CustomDomain + "rack"
	cpuLabel  = v1alpha1.Group + "/instance-cpu"
	taintKey  = judge.CustomDomain + "dedicated"
)

// The names of the vocabulary.
const (
	elsewhere = "elsewhere" // a namespace with the label team=blue
	nodeClass = "default"
)

// draw is the source of one problem.
type draw struct {
	*rand.Rand
	off     map[Feature]string
	objects []client.Object
	// ports of hosts that are taken by daemons, and pools and nodes so far.
	pools, nodes []string
	claims       []string
	// names is the source of terms on the names of nodes. It is separate: the other parts of the problem of a seed stay as they were without.
	names *rand.Rand
}

// Problem is the problem of a seed.
func Problem(seed uint64) (judge.Problem, error) {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0x0acc1e)), off: Off(), names: rand.New(rand.NewPCG(seed, 0x4a3e5))}
	d.cluster()
	d.newer(seed)
	for _, o := range d.objects {
		if w, ok := o.(*appsv1.Deployment); ok {
			d.nodeNames(&w.Spec.Template.Spec)
		}
	}
	p := judge.Problem{Name: fmt.Sprintf("seed-%d", seed), Seed: seed, BestEffort: d.one(4), Preferences: preferences(seed)}
	for _, o := range d.objects {
		content, err := document(o)
		if err != nil {
			return judge.Problem{}, err
		}
		p.Documents = append(p.Documents, content)
	}
	return p, nil
}

// preferences is the policy of the problem of a seed. Plans have fewer and fuller nodes where preferences open no node or are ignored.
func preferences(seed uint64) model.PreferencePolicy {
	return [...]model.PreferencePolicy{model.RespectPreferences, model.EconomicalPreferences, model.EconomicalPreferences, model.IgnorePreferences}[seed%4]
}

func (d *draw) cluster() {
	d.add(newClass())
	if d.one(2) {
		d.add(newNamespace(elsewhere))
	}
	for i := range 1 + d.IntN(3) {
		d.pool(fmt.Sprintf("pool-%d", i))
	}
	d.storage()
	for i := range d.IntN(5) {
		d.node(fmt.Sprintf("node-%d", i))
	}
	for i := range d.IntN(3) {
		d.daemon(fmt.Sprintf("daemon-%d", i))
	}
	for i := range 1 + d.IntN(5) {
		d.workload(fmt.Sprintf("work-%d", i))
	}
}

func (d *draw) add(o client.Object) { d.objects = append(d.objects, o) }

// one is true in one of n cases.
func (d *draw) one(n int) bool { return d.IntN(n) == 0 }

// has is true in one of n cases, if the feature is not off.
func (d *draw) has(f Feature, n int) bool {
	rolled := d.one(n)
	_, off := d.off[f]
	return rolled && !off
}

// pick returns one of a list.
func pick[T any](d *draw, list ...T) T { return list[d.IntN(len(list))] }

// some returns one to n different ones of a list.
func some[T any](d *draw, n int, list ...T) []T {
	list = slices.Clone(list)
	d.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return list[:1+d.IntN(min(n, len(list)))]
}

// words are the values that expressions use, by label.
func (d *draw) words(key string) []string {
	switch key {
	case corev1.LabelTopologyZone:
		return []string{"test-zone-a", "test-zone-b", "test-zone-c"}
	case v1.CapacityTypeLabelKey:
		return []string{v1.CapacityTypeSpot, v1.CapacityTypeOnDemand}
	case corev1.LabelArchStable:
		return []string{"amd64", "arm64"}
	case cpuLabel:
		return []string{"1", "2", "4", "8", "16"}
	case teamLabel:
		return []string{"blue", "red"}
	case rackLabel:
		return []string{"1", "2", "3"}
	case v1.NodePoolLabelKey:
		return []string{"pool-0", "pool-1"}
	}
	return nil
}

// pruned removes empty values and what a user does not write.
func pruned(content map[string]any) map[string]any {
	for key, value := range content {
		switch value := value.(type) {
		case nil:
			delete(content, key)
		case map[string]any:
			// An empty object means something in selectors: all.
			if empty := len(pruned(value)) == 0; empty && key != "labelSelector" && key != "namespaceSelector" {
				delete(content, key)
			}
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					pruned(item)
				}
			}
		}
	}
	return content
}

// document is an object as a user writes it.
func document(o client.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	if status, ok := content["status"].(map[string]any); ok {
		delete(content, "status")
		switch o.(type) {
		case *corev1.Node:
			content["status"] = declared(status, "capacity", "declaredFeatures")
		case *corev1.Pod:
			content["status"] = declared(status, "containerStatuses", "conditions")
		}
	}
	return pruned(content), nil
}
