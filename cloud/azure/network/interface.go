package network

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
)

// InterfaceSpec is what a network interface is created with.
type InterfaceSpec struct {
	// Name is that of the virtual machine.
	Name, Location string
	Tags           map[string]string
	Attachment     Attachment
	// Accelerated says that the size supports accelerated networking.
	Accelerated bool
	// Plugin is the network plugin of the cluster.
	Plugin instancetype.Network
	// MaxPods is how many pods the node may have.
	MaxPods int32
}

// InterfaceBody returns the body of the request that creates the network interface of a node. Without an overlay, pods have addresses of the
// subnet: there are as many as pods, the node's own included, of which load balancers know the first only.
func InterfaceBody(spec *InterfaceSpec) armnetwork.Interface {
	configurations := []*armnetwork.InterfaceIPConfiguration{configuration(spec, spec.Name, true)}
	if spec.Plugin.Plugin == instancetype.PluginAzure && spec.Plugin.Mode != instancetype.ModeOverlay {
		for n := int32(1); n < spec.MaxPods; n++ {
			configurations = append(configurations, configuration(spec, fmt.Sprintf("ipconfig%d", n), false))
		}
	}
	properties := &armnetwork.InterfacePropertiesFormat{
		EnableAcceleratedNetworking: &spec.Accelerated, EnableIPForwarding: to.Ptr(false), IPConfigurations: configurations,
	}
	if spec.Attachment.SecurityGroupID != "" {
		properties.NetworkSecurityGroup = &armnetwork.SecurityGroup{ID: &spec.Attachment.SecurityGroupID}
	}
	out := armnetwork.Interface{Location: &spec.Location, Properties: properties}
	if spec.Tags != nil {
		out.Tags = make(map[string]*string, len(spec.Tags))
	}
	for key, value := range spec.Tags {
		out.Tags[key] = &value
	}
	return out
}

func configuration(spec *InterfaceSpec, name string, primary bool) *armnetwork.InterfaceIPConfiguration {
	properties := &armnetwork.InterfaceIPConfigurationPropertiesFormat{
		Primary: &primary, PrivateIPAllocationMethod: to.Ptr(armnetwork.IPAllocationMethodDynamic), Subnet: &armnetwork.Subnet{ID: &spec.Attachment.SubnetID},
	}
	if primary {
		for _, id := range spec.Attachment.Pools.IDs {
			properties.LoadBalancerBackendAddressPools = append(properties.LoadBalancerBackendAddressPools, &armnetwork.BackendAddressPool{ID: &id})
		}
	}
	return &armnetwork.InterfaceIPConfiguration{Name: &name, Properties: properties}
}
