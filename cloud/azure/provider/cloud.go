package provider

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Name is the name of the provider in metrics.
const Name = "azure"

// orphanAge is how old an instance without a NodeClaim is when it is terminated.
//
// Source: Azure provider specification, garbage collection.
const orphanAge = 5 * time.Minute

// Conditions of AKS nodes.
const (
	nodeHealthy         corev1.NodeConditionType = "kubernetes.azure.com/NodeHealthy"
	preemptionScheduled corev1.NodeConditionType = "PreemptionScheduled"
)

// Cloud is the provider with its registration for Karpenter.
func (p *Provider) Cloud() cloud.Cloud {
	out := Describe()
	out.Provider, out.Unavailability, out.UseCorrection = p, p.Catalog, p.Launcher.UseCorrection
	return out
}

// Describe is the cloud without a provider: its name, kinds, labels and repair policies.
func Describe() cloud.Cloud {
	return cloud.Cloud{
		Name: Name, Labels: label.Rules(), RepairPolicies: repairPolicies(), OrphanAge: orphanAge,
		NodeClasses: []cloud.NodeClass{{
			GVK: v1beta1.SchemeGroupVersion.WithKind("AKSNodeClass"), New: func() cloud.NodeClassObject { return &v1beta1.AKSNodeClass{} },
		}},
	}
}

// evictionNotice is about how long before an eviction Azure announces it.
const evictionNotice = 30 * time.Second

// repairPolicies say when a node is repaired. An agent on the node sets the last condition when Azure is about to evict a spot virtual machine:
// such a node comes before others, and pods that may not be evicted do not keep it, as Azure does not wait for them.
//
// Source: Azure provider specification, repair policies; behavior specification, repair policies: a set has one policy without an expression.
func repairPolicies() []cloud.RepairPolicy {
	const anyReason = ".*"
	policy := func(condition corev1.NodeConditionType, status corev1.ConditionStatus, reason string, after time.Duration) cloud.RepairPolicy {
		return cloud.RepairPolicy{ConditionType: condition, ConditionStatus: status, ReasonRegex: reason, TolerationDuration: after, Action: cloud.ReplaceNode}
	}
	evicted, notice := policy(preemptionScheduled, corev1.ConditionTrue, anyReason, 0), evictionNotice
	evicted.Priority, evicted.TerminationGracePeriod = 100, &notice
	return []cloud.RepairPolicy{
		policy(corev1.NodeReady, corev1.ConditionFalse, "", 10*time.Minute), policy(corev1.NodeReady, corev1.ConditionUnknown, anyReason, 10*time.Minute),
		policy(nodeHealthy, corev1.ConditionFalse, anyReason, 0), evicted,
	}
}
