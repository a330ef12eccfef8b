// Package network answers what a node on Azure is connected to: its subnet, the pools of load balancers and the network security group of its
// network interface, and how the cluster's network is called.
//
// Source: Azure provider specification, networking, NIC body.
package network

import (
	"context"
	"fmt"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
)

// Attachment is what the network interface of a node is connected to.
type Attachment struct {
	// SubnetID is the ARM id of the subnet.
	SubnetID string
	// Pools are the pools of load balancers.
	Pools Pools
	// SecurityGroupID is the ARM id of the network security group; empty if the subnet has it.
	SecurityGroupID string
}

// Attachments finds what nodes are connected to.
type Attachments struct {
	// NodeResourceGroup is the resource group of nodes, SubnetID the ARM id of the subnet of nodes whose class names none.
	NodeResourceGroup, SubnetID string
	BackendPools                *BackendPools
	SecurityGroups              *SecurityGroups
}

// Of returns what the nodes of a class are connected to.
func (a *Attachments) Of(ctx context.Context, class *v1beta1.AKSNodeClass) (Attachment, error) {
	out := Attachment{SubnetID: SubnetID(class, a.SubnetID)}
	id, err := subnet.Parse(out.SubnetID)
	if err != nil {
		return Attachment{}, fmt.Errorf("finding the network of AKSNodeClass %q: %w", class.Name, err)
	}
	// The subnet that AKS manages has the group.
	if !id.Managed(a.NodeResourceGroup) {
		group, err := a.SecurityGroups.Get(ctx)
		if err != nil {
			return Attachment{}, fmt.Errorf("finding the network of AKSNodeClass %q: %w", class.Name, err)
		}
		out.SecurityGroupID = group.ID
	}
	if out.Pools, err = a.BackendPools.Get(ctx); err != nil {
		return Attachment{}, fmt.Errorf("finding the network of AKSNodeClass %q: %w", class.Name, err)
	}
	return out, nil
}

// SubnetID returns the ARM id of the subnet of the nodes of a class: its own, or else that of the settings.
func SubnetID(class *v1beta1.AKSNodeClass, fallback string) string {
	if class.Spec.VNETSubnetID != nil && *class.Spec.VNETSubnetID != "" {
		return *class.Spec.VNETSubnetID
	}
	return fallback
}
