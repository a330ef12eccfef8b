package network

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// SecurityGroupLister lists the network security groups of a resource group; a client of the SDK is one.
type SecurityGroupLister interface {
	NewListPager(resourceGroup string, options *armnetwork.SecurityGroupsClientListOptions) *runtime.Pager[armnetwork.SecurityGroupsClientListResponse]
}

// SecurityGroup is the network security group that AKS manages for nodes.
type SecurityGroup struct {
	ID, Name string
	// ClusterID is the number with eight digits that the names of what AKS manages for the cluster have.
	ClusterID string
}

// SecurityGroups knows the network security group of nodes. Make one with NewSecurityGroups; it is safe for concurrent use.
type SecurityGroups struct {
	api   SecurityGroupLister
	group string
	cache *ttlcache.Cache[string, SecurityGroup]
}

// NewSecurityGroups finds the network security group in the resource group of nodes.
func NewSecurityGroups(api SecurityGroupLister, nodeResourceGroup string, now clock.PassiveClock) *SecurityGroups {
	return &SecurityGroups{api: api, group: nodeResourceGroup, cache: ttlcache.New[string, SecurityGroup](now, listTTL)}
}

// Get returns the network security group that AKS manages, which is listed at most every two hours. It is an error if there is none or more
// than one.
func (s *SecurityGroups) Get(ctx context.Context) (SecurityGroup, error) {
	return s.cache.GetOrLoad(ctx, s.group, s.find)
}

func (s *SecurityGroups) find(ctx context.Context) (SecurityGroup, error) {
	pattern := regexp.MustCompile(`(?i)^aks-agentpool-(\d{8})-nsg$`)
	var found []SecurityGroup
	for pages := s.api.NewListPager(s.group, nil); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return SecurityGroup{}, fmt.Errorf("listing the network security groups of resource group %s: %w", s.group, err)
		}
		for _, group := range page.Value {
			if group == nil || group.ID == nil || group.Name == nil {
				continue
			}
			if match := pattern.FindStringSubmatch(*group.Name); match != nil {
				found = append(found, SecurityGroup{ID: *group.ID, Name: *group.Name, ClusterID: match[1]})
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return SecurityGroup{}, fmt.Errorf("resource group %s has no network security group of AKS, whose name is as aks-agentpool-12345678-nsg", s.group)
	default:
		var names []string
		for _, group := range found {
			names = append(names, group.Name)
		}
		slices.Sort(names)
		return SecurityGroup{}, fmt.Errorf("resource group %s has several network security groups of AKS, only one is allowed: %s", s.group, strings.Join(names, ", "))
	}
}
