package solve

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// rejectDeviceless takes pods out of p that cannot be placed at all: those with ResourceClaims while devices are ignored, and
// those with ResourceClaims that do not exist.
func rejectDeviceless(p Problem) (Problem, []UnschedulablePods) {
	if !slices.ContainsFunc(p.Pods, func(pod *model.Pod) bool { return pod.UsesDevices }) {
		return p, nil
	}
	var order []unschedulable.Reason
	rejected := map[string][]*model.Pod{}
	var asked []*model.Pod
	for _, pod := range p.Pods {
		why, ok := deviceRejection(p, pod)
		if ok {
			asked = append(asked, pod)
			continue
		}
		if _, known := rejected[why.Claim]; !known {
			order = append(order, why)
		}
		rejected[why.Claim] = append(rejected[why.Claim], pod)
	}
	p.Pods = asked
	slices.SortFunc(order, func(a, b unschedulable.Reason) int { return strings.Compare(a.Claim, b.Claim) })
	out := make([]UnschedulablePods, len(order))
	for i, why := range order {
		slices.SortFunc(rejected[why.Claim], func(a, b *model.Pod) int { return strings.Compare(a.UID, b.UID) })
		out[i] = UnschedulablePods{Pods: rejected[why.Claim], Reasons: unschedulable.Reasons{why}}
	}
	return p, out
}

// deviceRejection is why the ResourceClaims of a pod cannot be allocated; ok when they may be.
func deviceRejection(p Problem, pod *model.Pod) (why unschedulable.Reason, ok bool) {
	if !pod.UsesDevices {
		return unschedulable.Reason{}, true
	}
	if p.Devices == nil {
		return unschedulable.Reason{Code: unschedulable.DevicesIgnored}, false
	}
	for _, name := range pod.DeviceClaims() {
		if _, exists := p.Devices.Claims.Get(name); !exists {
			return unschedulable.Reason{Code: unschedulable.DeviceClaimMissing, Claim: name}, false
		}
	}
	return unschedulable.Reason{}, true
}
