package prediction

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Target is a workload.
type Target struct{ Namespace, APIVersion, Kind, Name string }

// Container is the predicted requests of one container of a workload's next pod.
type Container struct {
	// Requests replace those of the template, resource by resource.
	Requests corev1.ResourceList
	// StartupCPU is the CPU request during startup; nil if it is not higher.
	StartupCPU *resource.Quantity
}

// Predictions are the containers of workloads that autoscalers change, by name.
type Predictions map[Target]map[string]Container

// Resolve returns the predictions of autoscalers. If several of them have the same target, the oldest takes effect, and of equally
// old ones the first by name.
func Resolve(autoscalers []Autoscaler) Predictions {
	inOrder := slices.Clone(autoscalers)
	slices.SortStableFunc(inOrder, func(a, b Autoscaler) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	out, taken := Predictions{}, map[Target]bool{}
	for i := range inOrder {
		a := &inOrder[i]
		if !a.active() || taken[a.target()] {
			continue
		}
		taken[a.target()] = true
		if containers := a.containers(); len(containers) > 0 {
			out[a.target()] = containers
		}
	}
	return out
}

func (a *Autoscaler) containers() map[string]Container {
	if a.Status.Recommendation == nil {
		return nil
	}
	out := map[string]Container{}
	for _, r := range a.Status.Recommendation.ContainerRecommendations {
		p := a.policyOf(r.ContainerName)
		if p.Mode != nil && *p.Mode == modeOff {
			continue
		}
		c := Container{Requests: p.bound(r.Target)}
		if len(c.Requests) == 0 {
			continue
		}
		if cpu, ok := c.Requests[corev1.ResourceCPU]; ok {
			c.StartupCPU = a.boostOf(p).of(cpu)
		}
		out[r.ContainerName] = c
	}
	return out
}

// bound returns the recommended amounts of the controlled resources, within the policy's limits.
func (p policy) bound(recommended corev1.ResourceList) corev1.ResourceList {
	controlled := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	if p.ControlledResources != nil {
		controlled = *p.ControlledResources
	}
	out := corev1.ResourceList{}
	for _, name := range controlled {
		amount, ok := recommended[name]
		if !ok {
			continue
		}
		if most, ok := p.MaxAllowed[name]; ok && amount.Cmp(most) > 0 {
			amount = most
		}
		if least, ok := p.MinAllowed[name]; ok && amount.Cmp(least) < 0 {
			amount = least
		}
		out[name] = amount.DeepCopy()
	}
	return out
}

// boostOf is the container's own boost, or that of the autoscaler; nil for none.
func (a *Autoscaler) boostOf(p policy) *boost {
	for _, b := range []*startupBoost{p.StartupBoost, a.Spec.StartupBoost} {
		if b != nil && b.CPU != nil {
			return b.CPU
		}
	}
	return nil
}

// of is the boosted CPU; nil when it is no more than without.
func (b *boost) of(cpu resource.Quantity) *resource.Quantity {
	switch {
	case b == nil:
		return nil
	case (b.Type == boostFactor || b.Type == "") && b.Factor != nil && *b.Factor > 1:
		product := cpu.DeepCopy()
		product.Mul(*b.Factor)
		return &product
	case b.Type == boostQuantity && b.Quantity != nil && b.Quantity.Sign() > 0:
		sum := cpu.DeepCopy()
		sum.Add(*b.Quantity)
		return &sum
	}
	return nil
}
