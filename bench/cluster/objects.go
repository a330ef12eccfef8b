package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// poolName names the NodePool and the NodeClass.
	poolName = "default"
	// writers is how many objects are written at once.
	writers = 32
	// claimType is the instance type of NodeClaims without pods: 16 CPUs and 32 GiB.
	claimType = "c-16x-amd64-linux"
)

// pool is the NodePool of a measurement: Linux on amd64, of any capacity type. Its nodes are never consolidated at first.
func pool(cpusBelow string) *v1.NodePool {
	p := &v1.NodePool{}
	p.Name = poolName
	p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: poolName}
	p.Spec.Template.Spec.Requirements = requirements()
	if cpusBelow != "" {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements,
			v1.NodeSelectorRequirementWithMinValues{Key: "karpenter.kwok.sh/instance-cpu", Operator: corev1.NodeSelectorOpLt, Values: []string{cpusBelow}})
	}
	p.Spec.Template.Spec.ExpireAfter, p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{}, v1.NillableDuration{} // never
	p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyWhenEmpty
	p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	return p
}

func requirements() []v1.NodeSelectorRequirementWithMinValues {
	in := func(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
		return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	return []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelOSStable, "linux"), in(corev1.LabelArchStable, "amd64"), in(v1.CapacityTypeLabelKey, "spot", "on-demand"),
	}
}

// createPool writes the NodePool and waits until the controller finds it usable.
func (p *plane) createPool(ctx context.Context, want *v1.NodePool) error {
	if err := p.Create(ctx, want); err != nil {
		return fmt.Errorf("creating the NodePool: %w", err)
	}
	return await(ctx, time.Minute, "the NodePool to become ready", func() error {
		now := &v1.NodePool{}
		if err := p.Get(ctx, client.ObjectKeyFromObject(want), now); err != nil {
			return err
		}
		if status := condition.Status(now, v1.ConditionTypeReady); status != metav1.ConditionTrue {
			return fmt.Errorf("ready is %q", status)
		}
		return nil
	})
}

// readPool reads the NodePool.
func (p *plane) readPool(ctx context.Context) (*v1.NodePool, error) {
	now := &v1.NodePool{}
	if err := p.Get(ctx, client.ObjectKey{Name: poolName}, now); err != nil {
		return nil, fmt.Errorf("reading the NodePool: %w", err)
	}
	return now, nil
}

// consolidateAtOnce lets the controller remove nodes that are empty.
func (p *plane) consolidateAtOnce(ctx context.Context) error {
	now, err := p.readPool(ctx)
	if err != nil {
		return err
	}
	stored := now.DeepCopy()
	now.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
	if err := p.Patch(ctx, now, client.MergeFrom(stored)); err != nil {
		return fmt.Errorf("changing the NodePool: %w", err)
	}
	return nil
}

// createHost writes the Node on which a controller would run. No other pod may run on it. Without any node kube-scheduler retries every
// pod continuously, which does not happen in a cluster with a controller in it.
func (p *plane) createHost(ctx context.Context) error {
	host := &corev1.Node{}
	host.Name = "host"
	host.Labels = map[string]string{"kwok.x-k8s.io/node": "fake", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	host.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
	host.Spec.Taints = []corev1.Taint{{Key: "CriticalAddonsOnly", Effect: corev1.TaintEffectNoSchedule}}
	host.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	host.Status.Allocatable = host.Status.Capacity
	if err := p.Create(ctx, host); err != nil {
		return fmt.Errorf("creating the node of the controller: %w", err)
	}
	return nil
}

// warm makes the API server ready for NodeClaims, as one that has run for a while is: what it builds for a kind it builds with
// the first objects. Nothing is written.
func (p *plane) warm(ctx context.Context) error {
	if err := p.createClaims(ctx, 0, writers, client.DryRunAll); err != nil {
		return fmt.Errorf("trying NodeClaims: %w", err)
	}
	return nil
}

// each calls create for 0 to n-1, some at a time.
func each(ctx context.Context, n int, create func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error { return create(ctx, i) })
	}
	return group.Wait()
}

// createPending writes n unscheduled pods of one CPU.
func (p *plane) createPending(ctx context.Context, n int) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		return p.Create(ctx, pendingPod(fmt.Sprintf("pod-%d", i), "1"))
	})
}

// pendingPod is a pod that waits for a node.
func pendingPod(name, cpu string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = name, metav1.NamespaceDefault
	pod.Labels = map[string]string{"app": "bench"}
	never := false
	pod.Spec.AutomountServiceAccountToken = &never
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause:3.10", Resources: requests(cpu, "")}}
	return pod
}

func requests(cpu, memory string) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return corev1.ResourceRequirements{Requests: list}
}

// createClaims writes NodeClaims from..to-1 as a controller would, without pods that they are for.
func (p *plane) createClaims(ctx context.Context, from, to int, options ...client.CreateOption) error {
	owner, err := p.readPool(ctx)
	if err != nil {
		return err
	}
	return each(ctx, to-from, func(ctx context.Context, i int) error {
		return p.Create(ctx, newClaim(owner, from+i), options...)
	})
}

// newClaim is a NodeClaim as a controller writes it.
func newClaim(owner *v1.NodePool, i int) *v1.NodeClaim {
	claim := &v1.NodeClaim{}
	claim.Name = fmt.Sprintf("%s-%05d", poolName, i)
	claim.Labels = map[string]string{v1.NodePoolLabelKey: poolName, "karpenter.kwok.sh/kwoknodeclass": poolName}
	blocks := true
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1.SchemeGroupVersion.String(), Kind: "NodePool", Name: poolName, UID: owner.UID, BlockOwnerDeletion: &blocks,
	}}
	claim.Spec.NodeClassRef = owner.Spec.Template.Spec.NodeClassRef
	claim.Spec.ExpireAfter = owner.Spec.Template.Spec.ExpireAfter
	claim.Spec.Requirements = append(requirements(),
		v1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{claimType}},
		v1.NodeSelectorRequirementWithMinValues{Key: v1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{poolName}})
	claim.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("15"), corev1.ResourceMemory: resource.MustParse("24Gi"), corev1.ResourcePods: resource.MustParse("60"),
	}
	return claim
}

// nodes are the names of those that are initialized.
func (p *plane) nodes(ctx context.Context) ([]string, error) {
	var list corev1.NodeList
	if err := p.List(ctx, &list, client.MatchingLabels{v1.NodeInitializedLabelKey: "true"}); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	out := make([]string, len(list.Items))
	for i := range list.Items {
		out[i] = list.Items[i].Name
	}
	return out, nil
}

// awaitNodes waits until this many nodes are initialized.
func (p *plane) awaitNodes(ctx context.Context, n int) (names []string, err error) {
	err = await(ctx, 5*time.Minute, fmt.Sprintf("%d nodes", n), func() error {
		if names, err = p.nodes(ctx); err != nil {
			return err
		}
		if len(names) < n {
			return fmt.Errorf("there are %d", len(names))
		}
		return nil
	})
	return names, err
}

// awaitNoNodes waits until no node of the NodePool is left.
func (p *plane) awaitNoNodes(ctx context.Context, limit time.Duration) error {
	return await(ctx, limit, "nodes to go", func() error {
		var left corev1.NodeList
		err := p.List(ctx, &left, client.HasLabels{v1.NodePoolLabelKey})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d are left", len(left.Items))
		}
		return err
	})
}
