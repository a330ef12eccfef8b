// Package firstboot interprets custom data as a virtual machine with a node image of AKS does at its first boot: it reads the variables that
// the script exports, as bash does, and returns what the provisioning of the image starts the kubelet with. It is as strict as the kubelet of
// the version of Kubernetes, and shares no code with the package that writes custom data, so that it does not share its defects.
//
// Custom data is not run: a script that a test server was sent has no business on the host. What its first lines do is not interpreted.
//
// Source: Azure provider specification, scriptless custom data; public documentation of the kubelet.
package firstboot

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
)

// Settings are the settings with which a virtual machine joins.
type Settings struct {
	// APIServer is the host of the API server, which AKS serves at port 443. Authority is its certificate authority, PEM in base64.
	APIServer, Authority string
	// Token is the bootstrap token.
	Token string
	// Subscription, ResourceGroup and Location are where the cloud provider on the node looks for its virtual machine.
	Subscription, ResourceGroup, Location string
	// Version is the version of the kubelet.
	Version string
	// DNS is the address of the DNS service.
	DNS string
	// Labels and Taints are those with which the node registers.
	Labels map[string]string
	Taints []corev1.Taint
	// MaxPods limits the pods.
	MaxPods int64
	// KubeReserved, SystemReserved and EvictionHard reduce the allocatable resources.
	KubeReserved, SystemReserved, EvictionHard map[string]string
}

// Read returns the settings that a virtual machine reads from its custom data, which is not in base64. With an error, it does not join.
func Read(customData string) (Settings, error) {
	s, err := read(customData)
	if err != nil {
		return Settings{}, fmt.Errorf("reading custom data: %w", err)
	}
	return s, nil
}

func read(customData string) (Settings, error) {
	if customData == "" {
		return Settings{}, errors.New("there is none, so that nothing makes the virtual machine join a cluster")
	}
	values, err := variables(customData)
	if err != nil {
		return Settings{}, err
	}
	if err := complete(values); err != nil {
		return Settings{}, err
	}
	s := Settings{
		APIServer: values["API_SERVER_NAME"], Authority: values["KUBE_CA_CRT"], Token: values["TLS_BOOTSTRAP_TOKEN"],
		Subscription: values["SUBSCRIPTION_ID"], ResourceGroup: values["RESOURCE_GROUP"], Location: values["LOCATION"], Version: values["KUBERNETES_VERSION"],
	}
	release, err := version.ParseGeneric(s.Version)
	if err != nil {
		return Settings{}, fmt.Errorf("the version of the kubelet: %w", err)
	}
	if s.Labels, err = kubelet.Pairs(values["KUBELET_NODE_LABELS"], "="); err != nil {
		return Settings{}, fmt.Errorf("the kubelet does not start: --node-labels: %w", err)
	}
	if err := s.flags(values["KUBELET_FLAGS"], release.Minor()); err != nil {
		return Settings{}, err
	}
	return s, kubelet.Check(s.Labels, s.Taints)
}

// complete checks the variables without which the provisioning of the image fails.
func complete(values map[string]string) error {
	var missing []string
	for name := range strings.FieldsSeq(`API_SERVER_NAME KUBE_CA_CRT TLS_BOOTSTRAP_TOKEN KUBERNETES_VERSION KUBELET_FLAGS KUBELET_NODE_LABELS TENANT_ID
		SUBSCRIPTION_ID RESOURCE_GROUP LOCATION VM_TYPE SUBNET VIRTUAL_NETWORK VIRTUAL_NETWORK_RESOURCE_GROUP NETWORK_SECURITY_GROUP NETWORK_PLUGIN
		CONTAINER_RUNTIME CONTAINERD_CONFIG_CONTENT SYSCTL_CONTENT CSE_HELPERS_FILEPATH CSE_INSTALL_FILEPATH CSE_CONFIG_FILEPATH`) {
		if values[name] == "" {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return fmt.Errorf("provisioning fails: variables are not set: %s", strings.Join(missing, ", "))
	}
	for _, name := range []string{"KUBE_CA_CRT", "CONTAINERD_CONFIG_CONTENT", "SYSCTL_CONTENT"} {
		if _, err := base64.StdEncoding.DecodeString(values[name]); err != nil {
			return fmt.Errorf("provisioning fails: decoding variable %s: %w", name, err)
		}
	}
	if values["ENABLE_TLS_BOOTSTRAPPING"] != "true" {
		return errors.New("provisioning fails: the kubelet has no credential: ENABLE_TLS_BOOTSTRAPPING is not true")
	}
	return nil
}
