// Package firstboot interprets user data as an instance does at its first boot: it reads what the programs of the image would read
// (cloud-init and the bootstrap script, nodeadm, Bottlerocket settings, EC2Launch) and returns the settings of the kubelet. It is as
// strict as these programs, and shares no code with the package that writes user data, so that it does not share its defects.
//
// Source: AWS provider specification, image families and user data; public documentation of the images.
package firstboot

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
)

// Kind is how an image processes user data at its first boot.
type Kind string

// Kinds of images.
const (
	// Script images run shell scripts, which call the bootstrap script of EKS.
	Script Kind = "script"
	// NodeConfig images have nodeadm, which reads NodeConfig documents.
	NodeConfig Kind = "nodeconfig"
	// Bottlerocket images read settings in TOML.
	Bottlerocket Kind = "bottlerocket"
	// Windows images run PowerShell scripts.
	Windows Kind = "windows"
)

// KindOf returns the kind of an image by its name. Images with custom names are derived from those that run scripts.
func KindOf(image string) Kind {
	name := strings.ToLower(image)
	switch {
	case strings.Contains(name, "al2023"), strings.Contains(name, "amazon-linux-2023"):
		return NodeConfig
	case strings.HasPrefix(name, "bottlerocket"):
		return Bottlerocket
	case strings.HasPrefix(name, "windows"):
		return Windows
	default:
		return Script
	}
}

// Settings are the settings with which an instance joins. A nil map and a zero number leave the setting to the image.
type Settings struct {
	// Cluster, Endpoint and Authority (base64) identify the cluster. If Endpoint is empty, the instance asks EKS, which only images
	// with a bootstrap script support.
	Cluster, Endpoint, Authority string
	// ServiceCIDR is the service CIDR; only NodeConfigs have it.
	ServiceCIDR string
	// DNS is the first DNS address; IPv6 says that pods have IPv6 addresses.
	DNS  string
	IPv6 bool
	// Labels and Taints are those with which the node registers.
	Labels map[string]string
	Taints []corev1.Taint
	// MaxPods and PodsPerCore limit the pods.
	MaxPods, PodsPerCore int64
	// KubeReserved, SystemReserved and EvictionHard reduce the allocatable resources.
	KubeReserved, SystemReserved, EvictionHard map[string]string
	// RAID0 combines the instance store volumes.
	RAID0 bool
	// Ran are the user's scripts and other actions that were executed, in order.
	Ran []string
}

// errNoJoin reports user data with which no instance joins a cluster.
var errNoJoin = errors.New("nothing in the user data makes the instance join a cluster")

// Read returns the settings that an instance with such an image reads from its user data, which is not in base64. With an error, the instance does not join.
func Read(kind Kind, userData string) (Settings, error) {
	var s Settings
	var err error
	switch kind {
	case NodeConfig:
		s, err = readNodeConfigs(userData)
	case Bottlerocket:
		s, err = readBottlerocket(userData)
	case Windows:
		s, err = readPowerShell(userData)
	default:
		s, err = readScripts(userData)
	}
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return Settings{}, fmt.Errorf("reading user data as %s: %w", kind, err)
	}
	return s, nil
}

// check validates the settings as the kubelet does at its start.
func (s *Settings) check() error {
	if s.Cluster == "" {
		return errors.New("the cluster has no name")
	}
	return kubelet.Check(s.Labels, s.Taints)
}
