package instance

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
)

// OrphanNICs returns the names of those network interfaces that garbage collection deletes: they have neither the name of an
// instance nor the one that the network interface of a NodeClaim has. There is no grace period, because a network
// interface exists only while its NodeClaim does. They must have been listed before the NodeClaims. Instances themselves are collected by package nodeclaim of
// the controllers.
//
// Source: Azure provider specification, garbage collection; letter case does not count.
func OrphanNICs(names []string, vms []*Instance, nodeClaims []string) []string {
	used := make([]string, 0, len(vms)+len(nodeClaims))
	for _, vm := range vms {
		used = append(used, vm.Name)
	}
	for _, nodeClaim := range nodeClaims {
		used = append(used, naming.VM(nodeClaim))
	}
	owned := lowerSet(used)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return owned[strings.ToLower(name)] })
}

func lowerSet(values []string) map[string]bool {
	out := make(map[string]bool, len(values))
	for _, value := range values {
		out[strings.ToLower(value)] = true
	}
	return out
}
