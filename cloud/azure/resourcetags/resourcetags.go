// Package resourcetags computes the tags of Azure resources, and the hash of what is updated in place, without replacing the node.
//
// Source: Azure provider specification, Azure tags, in-place update.
package resourcetags

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Owner is what a resource belongs to.
type Owner struct {
	// Cluster is the name of the cluster.
	Cluster string
	// NodeClaim is the NodeClaim that the resource is for. Its label names the NodePool; NodeClaims that a user made have none.
	NodeClaim *v1.NodeClaim
}

// OfVM returns the tags of a virtual machine, its network interface and its extensions: those of the controller's settings, those of the class,
// and those that Karpenter needs. The later ones win. Azure allows no slash in a key, so that it becomes an underscore before tags are
// merged, and does not distinguish upper and lower case, so that a key replaces one that differs in case only. Users cannot set tags that
// Karpenter reads: a NodeClaim without a NodePool does not get into one, and a virtual machine does not pass for that of an AKSMachine.
func OfVM(settings, class map[string]string, owner Owner) map[string]string {
	out, spelled := map[string]string{}, map[string]string{} // keys by their lower case
	for _, tags := range []map[string]string{settings, class} {
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			name := strings.ReplaceAll(key, "/", "_")
			folded := strings.ToLower(name)
			if isReserved(folded) {
				continue
			}
			delete(out, spelled[folded])
			out[name], spelled[folded] = tags[key], name
		}
	}
	if pool := owner.NodeClaim.Labels[v1.NodePoolLabelKey]; pool != "" {
		out[label.TagNodePool] = pool
	}
	out[label.TagCluster] = owner.Cluster
	out[label.TagBilling] = label.BillingLinux
	return out
}

// OwnedBy reports whether a resource is one of a cluster, by its tags. NodeClaims without a NodePool have no tag with a NodePool, and instances of
// early releases of upstream none with the cluster.
func OwnedBy(tags map[string]string, cluster string) bool {
	if owner := tags[label.TagCluster]; owner != "" {
		return owner == cluster
	}
	return tags[label.TagNodePool] != ""
}

// KeepsOwner reports whether a resource with some tags may get others. An update must not make one of others one of the cluster, which would then be
// deleted as such.
func KeepsOwner(have, want map[string]string) bool {
	cluster := want[label.TagCluster]
	return cluster == "" || OwnedBy(have, cluster)
}

// isReserved reports whether a key, in lower case, is that of a tag which Karpenter reads or needs.
func isReserved(key string) bool {
	return slices.Contains([]string{label.TagCluster, label.TagNodePool, label.TagBilling, label.TagAKSMachineNodeClaim}, key)
}

// OfAKSMachine returns the tags of an AKSMachine: those of a virtual machine, and one with the name of the NodeClaim.
func OfAKSMachine(settings, class map[string]string, owner Owner) map[string]string {
	out := OfVM(settings, class, owner)
	out[label.TagAKSMachineNodeClaim] = owner.NodeClaim.Name
	return out
}

// InPlace is what is updated in place: without replacing the node.
type InPlace struct {
	// Tags are those of the resource.
	Tags map[string]string
	// Identities are the ARM ids of the user-assigned identities of a virtual machine. AKSMachines have none here.
	Identities []string
}

// Hash returns the hash of what is updated in place, in decimal. The order of identities does not count, nor whether lists are empty or
// absent.
//
// Existing clusters store these values: the hash is FNV-1a, of 32 bits, of JSON with the keys below in order.
func (p InPlace) Hash() string {
	document := struct {
		Identities map[string]struct{} `json:"identities,omitempty"`
		Tags       map[string]string   `json:"tags,omitempty"`
	}{map[string]struct{}{}, p.Tags}
	for _, id := range p.Identities {
		document.Identities[id] = struct{}{}
	}
	text, err := json.Marshal(document)
	if err != nil {
		// The document consists of strings, all of which can be encoded.
		panic(fmt.Sprintf("hashing tags and identities: %v", err))
	}
	sum := fnv.New32a()
	sum.Write(text)
	return strconv.FormatUint(uint64(sum.Sum32()), 10)
}
