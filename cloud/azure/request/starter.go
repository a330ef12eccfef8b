package request

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/bootstrapping"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
)

// Scriptless renders what virtual machines start with.
type Scriptless struct{}

// Start implements Starter.
func (Scriptless) Start(_ context.Context, b Boot) (customData, command string, err error) {
	customData, err = customdata.Render(b.Input)
	return customData, "", err
}

// Service is the node bootstrapping service; bootstrapping.Client is one.
type Service interface {
	Get(context.Context, *bootstrapping.Spec) (bootstrapping.Start, error)
}

// Bootstrapping asks a service what virtual machines start with.
type Bootstrapping struct {
	Service Service
	// MemoryOverhead is the fraction of memory that the hypervisor is assumed to use.
	MemoryOverhead float64
}

// Start implements Starter.
func (s Bootstrapping) Start(ctx context.Context, b Boot) (customData, command string, err error) {
	spec, err := s.spec(&b)
	if err != nil {
		return "", "", err
	}
	start, err := s.Service.Get(ctx, spec)
	return start.CustomData, start.Command, err
}

func (s Bootstrapping) spec(b *Boot) (*bootstrapping.Spec, error) {
	labels, err := customdata.NodeLabels(b.Input)
	if err != nil {
		return nil, err
	}
	// What something removes when the node has started is separate from what stays.
	var passing, staying []corev1.Taint
	claim := b.Launch.Claim
	for _, taint := range customdata.Taints(claim) {
		if matches(claim.Spec.Taints, taint) {
			staying = append(staying, taint)
		} else {
			passing = append(passing, taint)
		}
	}
	startup, err := customdata.TaintTexts(passing)
	if err != nil {
		return nil, err
	}
	general, err := customdata.TaintTexts(staying)
	if err != nil {
		return nil, err
	}
	return &bootstrapping.Spec{
		Class: b.Class, SKU: b.SKU, Family: b.Family, Distro: b.Distro, KubernetesVersion: b.KubernetesVersion, SubnetID: b.SubnetID,
		MaxPods: b.MaxPods, EphemeralDisk: b.EphemeralDisk, System: labels[label.AKSMode] == label.ModeSystem, Labels: labels,
		StartupTaints: startup, Taints: general, MemoryCapacity: b.MemoryCapacity, MemoryOverhead: s.MemoryOverhead,
	}, nil
}

func matches(taints []corev1.Taint, taint corev1.Taint) bool {
	for i := range taints {
		if taints[i].MatchTaint(&taint) {
			return true
		}
	}
	return false
}
