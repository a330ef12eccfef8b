package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/embedded/kubelet"
)

const (
	// rebootBound is how long a reboot may take after its drain: the cloud has 5 minutes to accept it, from each start of a process, and the node
	// 20 to return.
	rebootBound = 35 * time.Minute
	// requestBound is how long the controllers may not know that a reboot was requested: a command is validated 15 seconds after it was
	// proposed.
	requestBound = 30 * time.Second
	// minRebootDrain is the minimum duration of a drain that has a limit.
	minRebootDrain = 5 * time.Second
)

// requestReboot requests the reboot of an initialized node: the limit of the drain, then the condition.
func (u *User) requestReboot(r *rand.Rand) {
	api := u.cluster.API
	var claims []*v1.NodeClaim
	for _, c := range All[v1.NodeClaim](api) {
		if c.DeletionTimestamp == nil && condition.Status(c, v1.ConditionTypeInitialized) == metav1.ConditionTrue && !isRebooting(c) {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return
	}
	claim := claims[r.IntN(len(claims))].DeepCopy()
	if limit := []string{"", "0s", "30s", "3m"}[r.IntN(4)]; limit != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1.RebootTerminationGracePeriodAnnotationKey, limit)
	} else {
		delete(claim.Annotations, v1.RebootTerminationGracePeriodAnnotationKey)
	}
	if api.update(claim, "") != nil || api.Get(claim) != nil {
		return
	}
	condition.For(claim, time.Now()).TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "requested by hand")
	_ = api.update(claim, "status")
}

// rebootOf is the condition Rebooting of a NodeClaim; its zero value if there is none.
func rebootOf(claim *v1.NodeClaim) metav1.Condition {
	return conditionOf(claim, v1.ConditionTypeRebooting)
}

// conditionOf is a condition of a NodeClaim; its zero value if there is none.
func conditionOf(claim *v1.NodeClaim, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(claim.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func isRebooting(claim *v1.NodeClaim) bool { return rebootOf(claim).Status == metav1.ConditionTrue }

// Reboot implements cloud.Rebooter.
func (d *datacenterClient) Reboot(_ context.Context, claim *v1.NodeClaim, operation string) error {
	err := d.call("reboot "+claim.Status.ProviderID, 200*time.Millisecond, 2*time.Second, func() error { return d.reboot(claim, operation) })
	if err == nil && d.faults.happens(d.world, "lost reboot", d.faults.LostReboot) {
		return fmt.Errorf("rebooting: %w", errInjected)
	}
	return err
}

// reboot restarts an instance. An operation that was accepted before is the same reboot.
func (d *Datacenter) reboot(claim *v1.NodeClaim, operation string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := claim.Status.ProviderID
	instance := d.instances[id]
	switch {
	case instance == nil || instance.Ending:
		return cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %s", id))
	case instance.operation == operation:
		return nil
	case d.faults.happens(d.world, "reboot refused", d.faults.RefuseReboot):
		return cloud.NewRebootRejectedError(errInjected)
	}
	d.rebooting(instance, claim)
	instance.operation = operation
	instance.boots++
	silent := d.world.stream("kubelet of a reboot").IntN(2) == 0 // a fast boot is not noticed
	returns := !d.faults.happens(d.world, "no return", d.faults.NoReturn)
	d.world.soon("shutdown of "+id, "shutdown", 0, 5*time.Second, func() {
		if silent || !returns {
			d.silence(nodeName(id), false)
		}
		if returns {
			d.world.soon("reboot of "+id, "boot", d.minBoot, d.maxBoot, func() { d.rejoin(id) })
		}
	})
	return nil
}

// rejoin reports the next boot of an instance, as its kubelet does.
func (d *Datacenter) rejoin(id string) {
	instance := d.instance(id)
	if instance == nil || instance.Ending {
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(id)}}
	if d.api.Get(node) != nil {
		return
	}
	delete(node.Annotations, kubelet.HandsOff)
	if d.api.update(node, "") != nil || d.api.Get(node) != nil {
		return
	}
	node.Status.NodeInfo.BootID = instance.bootID(id)
	if d.world.stream("reboot helps").IntN(4) > 0 {
		node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kwok.ConditionRebootRequired })
	}
	_ = d.api.update(node, "status")
}

// bootID is that of the current boot of an instance.
func (i *Instance) bootID(id string) string { return fmt.Sprintf("boot %d of %s", i.boots, id) }

// rebooting: an instance is rebooted once for each request, and after its pods have left, unless the drain was limited and the limit is over. It
// is called by the cloud.
func (i *invariants) rebooting(instance *Instance, asked *v1.NodeClaim) {
	claim := i.claims[instance.Owner]
	if claim == nil {
		return
	}
	request := rebootOf(claim).LastTransitionTime.Time
	again := instance.requested.Equal(request)
	instance.requested = request
	switch {
	case claim.DeletionTimestamp != nil || i.cluster.contested():
		return
	case !isRebooting(claim):
		i.violated("rebooted without a request", "%s", claim.Name)
		return
	case again:
		i.violated("rebooted twice", "%s", claim.Name)
	}
	limit, limited := drainLimitOfReboot(asked)
	if limited && (limit == 0 || !time.Now().Before(request.Add(max(limit, minRebootDrain)-time.Second-i.cluster.Faults.MaxJump))) {
		return
	}
	for _, pod := range i.pods {
		if pod.Spec.NodeName == claim.Status.NodeName && i.nodes[pod.Spec.NodeName] != nil && i.awaited(pod) && time.Since(i.bound[pod.UID]) > emptyBound {
			i.violated("rebooted before its pods left", "%s with pod %s", claim.Name, pod.Name)
		}
	}
}

// drainLimitOfReboot is how long the drain for a reboot may last; false for without a limit.
func drainLimitOfReboot(claim *v1.NodeClaim) (time.Duration, bool) {
	limit, err := time.ParseDuration(claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey])
	return limit, err == nil
}

// deletedBeside reports whether a NodeClaim with a reason of disruption is deleted for another reason: its reboot failed, or it expires while it
// waits for its repair, for which pods need not allow disruption. A node that was rebooted has the reason for a while afterwards.
func (i *invariants) deletedBeside(claim *v1.NodeClaim) bool {
	reboot, node := rebootOf(claim), i.nodes[claim.Status.NodeName]
	rebooted := reboot.Type != "" && (node == nil || !disrupted(node))
	return reboot.Reason == v1.RebootReasonFailed || repairs(claim) && (rebooted || i.mayExpire(claim))
}

// returned: a reboot that has succeeded took place.
func (i *invariants) returned(old, claim *v1.NodeClaim) {
	if old == nil || !isRebooting(old) || rebootOf(claim).Reason != v1.RebootReasonSucceeded {
		return
	}
	if instance := i.cluster.Datacenter.instance(claim.Status.ProviderID); instance != nil && !instance.requested.Equal(rebootOf(old).LastTransitionTime.Time) {
		i.violated("reboot succeeded without one", "%s", claim.Name)
	}
}

// reboots: a reboot ends, one way or the other, and its taint goes.
func (i *invariants) reboots() {
	for _, claim := range i.claims {
		node := i.nodes[claim.Status.NodeName]
		switch {
		case claim.DeletionTimestamp != nil:
		case isRebooting(claim):
			_, drained := claim.Annotations[v1.RebootPreBootIDAnnotationKey]
			limit, limited := drainLimitOfReboot(claim)
			request := rebootOf(claim).LastTransitionTime.Time
			if limited && time.Since(request) > limit+rebootBound+i.cluster.Faults.MaxJump && i.cluster.Faults.mild() {
				i.violated("reboot does not end", "%s, drained: %v", claim.Name, drained)
			}
		case node != nil && node.DeletionTimestamp == nil && hasTaint(node, v1.RebootingNoScheduleTaint()):
			if since, known := i.closed[claim.Name]; !known {
				i.closed[claim.Name] = time.Now()
			} else if time.Since(since) > markBound {
				i.violated("taint of a reboot left over", "%s", node.Name)
			}
			continue
		}
		delete(i.closed, claim.Name)
	}
}

// chosen: a node that has just been marked is not rebooting.
func (i *invariants) chosen(node *corev1.Node) {
	instance := i.cluster.Datacenter.instance(node.Spec.ProviderID)
	if instance == nil || i.cluster.contested() {
		return
	}
	claim := i.claims[instance.Owner]
	if claim == nil || claim.DeletionTimestamp != nil || !isRebooting(claim) {
		return
	}
	request := rebootOf(claim).LastTransitionTime.Time
	if time.Since(request) > requestBound+i.cluster.Faults.MaxJump {
		i.violated("disrupted while it reboots", "%s", claim.Name)
	}
}
