// Package userdata renders the user data that an EC2 instance reads at its first boot: how to join the cluster, with which labels, taints
// and kubelet settings, together with what the user has to add. Each family of images has its own form.
//
// The same input gives the same text. Nothing is asked or kept.
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

// ErrNoClusterCIDR says that the range of the cluster's services is needed and not known. The class is not ready then.
var ErrNoClusterCIDR = errors.New("resolving cluster CIDR")

// Input is everything that user data depends on.
type Input struct {
	Family awsv1.Family
	// ClusterName, Endpoint and CABundle (base64; empty when not known) say how to reach the cluster.
	ClusterName, Endpoint, CABundle string
	// ClusterCIDR is the range of services; only AL2023 asks for it.
	ClusterCIDR string
	// ClusterDNS are the addresses for names, resolved; empty when not known.
	ClusterDNS []string
	// MaxPods is the number of pods of the instance type; nil leaves it to the image.
	MaxPods *int64
	// Kubelet is the kubelet block as it was read, with expressions worked out or removed.
	Kubelet kubelet.Config
	// KubeletBlock is the kubelet block as it is written; only AL2023 passes on what Karpenter does not read.
	KubeletBlock map[string]apiextensionsv1.JSON
	// Labels and Taints are those that the node registers with; see NodeLabels and NodeTaints.
	Labels map[string]string
	Taints []corev1.Taint
	// RAID0 joins the built-in disks for the files of kubelet and containerd.
	RAID0 bool
	// Custom is the user's own user data.
	Custom string
	// BottlerocketVersion is the release of the image; see BottlerocketVersion. Only Bottlerocket asks for it.
	BottlerocketVersion string
}

// Result is user data, not yet in base64.
type Result struct {
	Text string
	// Dropped are settings of the user that were left out because they are not known; worth a line in the log.
	Dropped []string
}

// Render writes user data. An error means that the user's own part cannot be read, or ErrNoClusterCIDR.
func Render(in Input) (Result, error) {
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

// firstDNS is the one address for names that most families take; empty when not known.
func (in *Input) firstDNS() string {
	if len(in.ClusterDNS) == 0 {
		return ""
	}
	return in.ClusterDNS[0]
}

// ipv6 reports whether the cluster speaks IPv6, which its address for names shows.
func (in *Input) ipv6() bool {
	address, err := netip.ParseAddr(in.firstDNS())
	return err == nil && address.Is6()
}
