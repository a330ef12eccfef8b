// Package customdata renders the custom data with which a virtual machine of Azure becomes an AKS node: a shell script that exports variables
// and starts the provisioning that the node images of AKS contain. It also has the labels with which nodes register.
//
// The same input gives the same bytes. The package makes no calls and keeps no state.
//
// Source: Azure provider specification, scriptless custom data, labels the node registers with.
package customdata

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// MaxBytes is the most bytes of a script, before it is encoded.
//
// Source: the field osProfile.customData of the API of Azure for virtual machines.
const MaxBytes = 65535

// ErrTooLarge reports that a script has more bytes than virtual machines accept.
var ErrTooLarge = errors.New("the custom data is too large")

// Cluster is what custom data needs to know of the cluster and of the installation.
type Cluster struct {
	// TenantID and SubscriptionID are GUIDs.
	TenantID, SubscriptionID string
	// NodeResourceGroup is the resource group of the nodes, Location the location of the cluster, such as westus2.
	NodeResourceGroup, Location string
	// Environment is the name of the cloud, such as AzurePublicCloud.
	Environment string
	// Endpoint is the URL of the API server.
	Endpoint string
	// CABundle is the certificate authority of the API server, PEM in base64.
	CABundle string
	// BootstrapToken is the token with which kubelets request their certificate.
	BootstrapToken string
	// KubeletIdentityClientID is the client id of the identity of kubelets, a GUID.
	KubeletIdentityClientID string
	// AdminUser is the user of virtual machines.
	AdminUser string
	// DNSServiceIP is the address of the DNS service of the cluster.
	DNSServiceIP string
	// NetworkSecurityGroup is the name of the group that AKS manages, such as aks-agentpool-12345678-nsg.
	NetworkSecurityGroup string
	// NetworkPolicy is the engine of network policies, such as cilium; empty for none.
	NetworkPolicy string
	// Network is the network plugin.
	Network instancetype.Network
	// Dataplane is DataplaneCilium or another dataplane of the network.
	Dataplane string
	// VNetGUID identifies the virtual network; only overlay networks need it.
	VNetGUID string
}

// DataplaneCilium is the dataplane that uses eBPF.
const DataplaneCilium = "cilium"

// Subnet is the subnet of a node: the parts of its ARM id.
type Subnet struct{ ResourceGroup, VirtualNetwork, Name string }

// Input is everything that custom data depends on.
type Input struct {
	Cluster Cluster
	Class   *v1beta1.AKSNodeClass
	// Family is the operating system of the image.
	Family family.Family
	// KubernetesVersion is the version of the kubelet, such as 1.34.1.
	KubernetesVersion string
	Subnet            Subnet
	SKU               sku.Description
	Launch            Launch
}

// Launch is a NodeClaim with the choice that was made for it.
type Launch struct {
	Claim *v1.NodeClaim
	// InstanceType are the requirements of the instance type.
	InstanceType []v1.NodeSelectorRequirementWithMinValues
	// CapacityType and PlacementScope are values of the labels.
	CapacityType, PlacementScope string
	// UltraSSD says that the virtual machine can attach ultra disks.
	UltraSSD bool
}

// Render returns custom data in base64. An error means that the input has a value that custom data cannot have, or wraps ErrTooLarge.
func Render(in Input) (string, error) {
	text, err := in.script()
	if err != nil {
		return "", fmt.Errorf("rendering the custom data of nodeclaim %q: %w", in.Launch.Claim.Name, err)
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// Parts of the script. The image writes provision.sh when it boots; its last line says that it is complete.
const (
	head = `#!/bin/bash
echo '#EOF' >> /opt/azure/manifest.json
mkdir -p /var/log/azure/Microsoft.Azure.Extensions.CustomScript/events
echo "$(date),$(hostname)" > /var/log/azure/cluster-provision-cse-output.log
for i in $(seq 1 1200); do
  if grep -Fq 'EOF' /opt/azure/containers/provision.sh; then break; fi
  if [ "$i" -eq 1200 ]; then exit 100; fi
  sleep 1
done
set -o allexport
`
	tail = "nohup /bin/bash /opt/azure/containers/provision_start.sh\n"
)

// script is custom data as text.
func (in *Input) script() (string, error) {
	variables, err := in.variables()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(head)
	for _, v := range variables {
		line, err := v.assignment()
		if err != nil {
			return "", err
		}
		out.WriteString(line)
	}
	out.WriteString(tail)
	if out.Len() > MaxBytes {
		return "", fmt.Errorf("%w: %d bytes, virtual machines accept %d", ErrTooLarge, out.Len(), MaxBytes)
	}
	return out.String(), nil
}

// release is a version of Kubernetes.
type release struct {
	// text is the version without a leading v.
	text   string
	parsed *version.Version
}

// release parses the version of Kubernetes.
func (in *Input) release() (release, error) {
	parsed, err := version.ParseGeneric(in.KubernetesVersion)
	if err != nil {
		return release{}, fmt.Errorf("parsing the kubernetes version: %w", err)
	}
	return release{strings.TrimPrefix(in.KubernetesVersion, "v"), parsed}, nil
}

// from reports whether the release is 1.minor or later.
func (r release) from(minor uint) bool {
	return r.parsed.Major() > 1 || r.parsed.Major() == 1 && r.parsed.Minor() >= minor
}
