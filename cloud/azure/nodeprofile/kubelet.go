// Package nodeprofile translates what a class configures on its nodes to the JSON that AKS takes, for AKSMachines of
// an agent pool as for its node-bootstrapping service.
//
// Source: Azure provider specification, kubelet mapping.
package nodeprofile

import (
	"fmt"
	"math"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/quantity"
)

// bytesPerMB is the size of what AKS calls MB.
const bytesPerMB = 1 << 20

// Kubelet is the configuration of the kubelet as AKS takes it. What is absent has the default of AKS.
type Kubelet struct {
	CPUManagerPolicy      string   `json:"cpuManagerPolicy,omitempty"`
	CPUCFSQuota           *bool    `json:"cpuCfsQuota,omitempty"`
	CPUCFSQuotaPeriod     string   `json:"cpuCfsQuotaPeriod,omitempty"`
	ImageGCHighThreshold  *int32   `json:"imageGcHighThreshold,omitempty"`
	ImageGCLowThreshold   *int32   `json:"imageGcLowThreshold,omitempty"`
	TopologyManagerPolicy string   `json:"topologyManagerPolicy,omitempty"`
	AllowedUnsafeSysctls  []string `json:"allowedUnsafeSysctls,omitempty"`
	ContainerLogMaxSizeMB *int32   `json:"containerLogMaxSizeMB,omitempty"`
	ContainerLogMaxFiles  *int32   `json:"containerLogMaxFiles,omitempty"`
	PodMaxPids            *int32   `json:"podMaxPids,omitempty"`
	FailSwapOn            *bool    `json:"failSwapOn,omitempty"`
}

// KubeletOf returns the configuration of the kubelet of a class; nil for a class without one. It fails if a size is
// not a quantity.
func KubeletOf(class *v1beta1.AKSNodeClass) (*Kubelet, error) {
	in := class.Spec.Kubelet
	if in == nil {
		return nil, nil //nolint:nilnil // a class without a configuration is valid, and AKS tells an absent one from an empty one
	}
	size, err := megabytes(in.ContainerLogMaxSize)
	if err != nil {
		return nil, fmt.Errorf("reading containerLogMaxSize: %w", err)
	}
	out := &Kubelet{
		CPUManagerPolicy: in.CPUManagerPolicy, CPUCFSQuota: in.CPUCFSQuota,
		ImageGCHighThreshold: in.ImageGCHighThresholdPercent, ImageGCLowThreshold: in.ImageGCLowThresholdPercent,
		TopologyManagerPolicy: in.TopologyManagerPolicy, AllowedUnsafeSysctls: in.AllowedUnsafeSysctls,
		ContainerLogMaxSizeMB: size, ContainerLogMaxFiles: in.ContainerLogMaxFiles, FailSwapOn: in.FailSwapOn,
	}
	if period := in.CPUCFSQuotaPeriod.Duration; period != 0 {
		out.CPUCFSQuotaPeriod = period.String()
	}
	if limit := in.PodPidsLimit; limit != nil {
		// The kubelet takes every negative limit for none; AKS takes -1 only.
		out.PodMaxPids = new(int32(min(max(*limit, -1), math.MaxInt32)))
	}
	return out, nil
}

// megabytes returns a quantity of bytes in MB, rounded, at most what AKS can take; nil for an empty quantity.
func megabytes(text string) (*int32, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // an absent size is valid
	}
	parsed, err := quantity.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parsing %q: %w", text, err)
	}
	size := math.Round(parsed.AsApproximateFloat64() / bytesPerMB)
	return new(int32(min(max(size, 0), math.MaxInt32))), nil
}
