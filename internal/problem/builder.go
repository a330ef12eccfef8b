// Package problem gathers what the engine is asked: which pods have to move, what may be launched, and how much room there
// is on machines that are still to come. Provisioning and disruption ask the same questions and get the same answers.
//
// Nothing here decides, logs or publishes anything.
//
// Source: scheduling specification, building the scheduler input.
package problem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Source is where questions are gathered from.
type Builder struct {
	// Client reads from a cache with an index of pods by node.
	Client     client.Client
	Cloud      cloud.Cloud
	Store      *cluster.Store
	Translator *translate.Translator
	Catalogs   *translate.Catalogs
}

// Moving is the pods on nodes being deleted that need a place elsewhere now: those that may be evicted. For those that are
// lost nobody can say where that could be.
func (s Builder) Moving(ctx context.Context, leaving []*model.Node, budgets podrules.Budgets, now time.Time) (out, lost []*model.Pod, err error) {
	for _, n := range leaving {
		var pods corev1.PodList
		if err := s.Client.List(ctx, &pods, client.MatchingFields{"spec.nodeName": n.NodeName}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, fmt.Errorf("listing the pods of node %q: %w", n.NodeName, err)
		}
		for i := range pods.Items {
			if !podrules.CurrentlyReschedulable(&pods.Items[i], budgets, now) {
				continue
			}
			if pod := s.Store.Translate(&pods.Items[i]); pod.Rejected == "" {
				out = append(out, pod)
			} else {
				lost = append(lost, pod)
			}
		}
	}
	return out, lost, nil
}

// Pools is what may be launched.
type Pools struct {
	// Usable are the pools that may launch, in the form of the engine.
	Usable []*model.Pool
	// ByName are the objects of these.
	ByName map[string]*v1.NodePool
	// Skipped are pools of ours that may not launch, by name.
	Skipped []Skipped
}

// Skipped is a pool that may not launch.
type Skipped struct {
	Pool string
	// Why is what the pool itself says against it; empty when its instance types are the problem.
	Why string
	// Static is set for pools whose nodes are never for pods that wait.
	Static bool
	// Err is why the instance types cannot be listed; nil when there are none.
	Err error
}

// Pools are those that may launch: ours, not static, ready, not being deleted, with instance types to choose from.
func (s Builder) Pools(ctx context.Context) (Pools, error) {
	var list v1.NodePoolList
	if err := s.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return Pools{}, fmt.Errorf("listing node pools: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	out := Pools{ByName: map[string]*v1.NodePool{}}
	for i := range list.Items {
		pool := &list.Items[i]
		if !s.Cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		if why := translate.Unusable(pool, s.Cloud); why != "" {
			out.Skipped = append(out.Skipped, Skipped{Pool: pool.Name, Why: why, Static: pool.Spec.Replicas != nil})
			continue
		}
		types, err := s.Cloud.Provider.InstanceTypes(ctx, pool)
		if ctx.Err() != nil {
			return Pools{}, ctx.Err()
		}
		if err != nil || len(types) == 0 {
			out.Skipped = append(out.Skipped, Skipped{Pool: pool.Name, Err: err})
			continue
		}
		out.ByName[pool.Name] = pool
		out.Usable = append(out.Usable, s.Translator.Pool(pool, s.Catalogs.Of(types)))
	}
	return out, nil
}

// Expect gives machines of static pools that are not launched yet the room that they will have at least. Their claims ask for
// nothing, so that nothing is known of them until their launch; without this, pods that come together with the pool would get
// machines beside it.
func (s Builder) Expect(ctx context.Context, nodes []*model.Node) ([]*model.Node, error) {
	out := nodes
	floors := map[string]resource.Vector{}
	for i, n := range nodes {
		if !n.Managed || n.Launched || n.Pool == "" || n.Allocatable.At(resource.Pods) > 0 {
			continue
		}
		floor, known := floors[n.Pool]
		if !known {
			var err error
			if floor, err = s.floor(ctx, n.Pool); err != nil {
				return nil, err
			}
			floors[n.Pool] = floor
		}
		if floor == nil {
			continue
		}
		if &out[0] == &nodes[0] {
			out = append([]*model.Node{}, nodes...)
		}
		expected := *n
		expected.Allocatable = floor
		out[i] = &expected
	}
	return out, nil
}

// floor is what every machine of a static pool leaves for pods; nil when nobody can tell.
func (s Builder) floor(ctx context.Context, name string) (resource.Vector, error) {
	pool := &v1.NodePool{}
	if err := s.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("reading nodepool %q: %w", name, err)
	}
	if pool.Spec.Replicas == nil || !s.Cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return nil, nil
	}
	types, err := s.Cloud.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, nil //nolint:nilerr // not to know is no failure: the machines are counted on once they are launched
	}
	return s.Translator.Pool(pool, s.Catalogs.Of(types)).MinAllocatable(), nil
}
