package network

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// defaultDNS is the address of the DNS service of clusters whose service range is the default of AKS.
const defaultDNS = "10.0.0.10"

// DNSServiceIP returns the address of the DNS service: the one that is set, or else that of the Service kube-dns, or else the default of AKS,
// if there is no such Service or it has no address.
func DNSServiceIP(ctx context.Context, cluster client.Reader, set string) (string, error) {
	if set != "" {
		return set, nil
	}
	var service corev1.Service
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &service); err != nil {
		if apierrors.IsNotFound(err) {
			return defaultDNS, nil
		}
		return "", fmt.Errorf("reading the address of the DNS service: %w", err)
	}
	if ip := service.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		return ip, nil
	}
	return defaultDNS, nil
}

// VirtualNetworkGetter reads virtual networks; a client of the SDK is one.
type VirtualNetworkGetter interface {
	Get(ctx context.Context, resourceGroup, name string, options *armnetwork.VirtualNetworksClientGetOptions) (armnetwork.VirtualNetworksClientGetResponse, error)
}

// VirtualNetworkGUID returns the GUID of the virtual network of a subnet: the one that is set, or else, for overlay networks, the one that
// Azure says. Nodes of other networks need none, and it is empty.
func VirtualNetworkGUID(ctx context.Context, api VirtualNetworkGetter, set, subnetID string, plugin instancetype.Network) (string, error) {
	if set != "" || plugin.Mode != instancetype.ModeOverlay {
		return set, nil
	}
	id, err := subnet.Parse(subnetID)
	if err != nil {
		return "", fmt.Errorf("finding the virtual network of the cluster: %w", err)
	}
	found, err := api.Get(ctx, id.ResourceGroup, id.VirtualNetwork, nil)
	if err != nil {
		return "", fmt.Errorf("reading virtual network %s of resource group %s: %w", id.VirtualNetwork, id.ResourceGroup, err)
	}
	if found.Properties == nil || found.Properties.ResourceGUID == nil || *found.Properties.ResourceGUID == "" {
		return "", fmt.Errorf("virtual network %s of resource group %s has no GUID", id.VirtualNetwork, id.ResourceGroup)
	}
	return *found.Properties.ResourceGUID, nil
}
