// Package userdata renders the user data that an EC2 instance reads at its first boot: how to join the cluster, with which labels, taints
// and kubelet settings, together with the user's additions. Each image family has a format.
//
// The same input gives the same text. The package makes no calls and keeps no state.
//
// Source: AWS provider specification, image families and user data.
package userdata

import (
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
)

// ErrNoClusterCIDR reports that the service CIDR of the cluster is needed and unknown. The class is not ready then.
var ErrNoClusterCIDR = errors.New("resolving cluster CIDR")

// Input is everything that user data depends on.
type Input struct {
	Family awsv1.Family
	// ClusterName, Endpoint and CABundle (base64; empty when unknown) identify the cluster.
	ClusterName, Endpoint, CABundle string
	// ClusterCIDR is the service CIDR; only AL2023 needs it.
	ClusterCIDR string
	// ClusterDNS are the DNS addresses, resolved; empty when unknown.
	ClusterDNS []string
	// MaxPods is the pod limit of the instance type; nil leaves it to the image.
	MaxPods *int64
	// Kubelet is the parsed kubelet block, with expressions evaluated or removed.
	Kubelet kubelet.Config
	// KubeletBlock is the unparsed kubelet block; only AL2023 passes on fields that Karpenter does not read.
	KubeletBlock map[string]apiextensionsv1.JSON
	// Labels and Taints are those with which the node registers; see NodeLabels and NodeTaints.
	Labels map[string]string
	Taints []corev1.Taint
	// RAID0 combines the instance store volumes for the files of kubelet and containerd.
	RAID0 bool
	// Custom is the custom user data.
	Custom string
	// BottlerocketVersion is the release of the image; see BottlerocketVersion. Only Bottlerocket needs it.
	BottlerocketVersion string
}

// Result is user data, not yet in base64.
type Result struct {
	Text string
	// Dropped are unknown settings of the user that were omitted; callers log them.
	Dropped []string
}

// Render returns user data. An error means that the custom user data is invalid, that a label, a taint or a setting has a value that user
// data cannot have, or ErrNoClusterCIDR.
func Render(in Input) (Result, error) {
	if in.Family == awsv1.FamilyCustom {
		return Result{Text: in.Custom}, nil
	}
	if err := in.validate(); err != nil {
		return Result{}, fmt.Errorf("rendering user data of family %s: %w", in.Family, err)
	}
	var text string
	var err error
	switch {
	case in.Family == awsv1.FamilyAL2:
		text, err = renderAL2(&in)
	case in.Family == awsv1.FamilyAL2023:
		text, err = renderAL2023(&in)
	case in.Family == awsv1.FamilyBottlerocket:
		return renderBottlerocket(&in)
	case in.Family.Windows():
		text, err = renderWindows(&in)
	default:
		text = in.Custom
	}
	if err != nil {
		return Result{}, fmt.Errorf("rendering user data of family %s: %w", in.Family, err)
	}
	return Result{Text: text}, nil
}

// firstDNS is the one DNS address that most families support; empty when unknown.
func (in *Input) firstDNS() string {
	if len(in.ClusterDNS) == 0 {
		return ""
	}
	return in.ClusterDNS[0]
}

// ipv6 reports whether the cluster uses IPv6, as its DNS address shows.
func (in *Input) ipv6() bool {
	address, err := netip.ParseAddr(in.firstDNS())
	return err == nil && address.Is6()
}
