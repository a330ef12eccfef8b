package instance

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
)

// gracePeriod is how old an instance must be before garbage collection deletes it: its NodeClaim gets the provider ID some
// time after Azure has accepted the request.
const gracePeriod = 5 * time.Minute

// Orphans returns the instances that garbage collection deletes: those older than five minutes whose provider ID is none of
// those of NodeClaims. Instances that Azure deletes already are none, and neither are those whose id cannot be read. The
// instances must have been listed before the NodeClaims, otherwise a NodeClaim could be missing that is newer than its list.
//
// Source: Azure provider specification, garbage collection; letter case does not count.
func Orphans(instances []*Instance, providerIDs []string, now time.Time) []*Instance {
	owned := lowerSet(providerIDs)
	return slices.DeleteFunc(slices.Clone(instances), func(i *Instance) bool {
		id, err := i.ProviderID()
		return err != nil || i.Deleting || now.Sub(i.Created) <= gracePeriod || owned[strings.ToLower(id)]
	})
}

// OrphanNICs returns the names of those network interfaces that garbage collection deletes: they have neither the name of an
// instance nor the one that the network interface of a NodeClaim has. There is no grace period, because a network
// interface exists only while its NodeClaim does. They must have been listed before the NodeClaims.
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
