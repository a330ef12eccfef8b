package v1

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// NodePoolHashVersion names the rules by which Hash is computed. It must change when the default of a hashed field
// changes, when a field that existing pools have set joins the hash, and when a field leaves it.
const NodePoolHashVersion = "v3"

// Hash is the hash of the pool's template, in decimal. A NodeClaim made from a template with another hash has drifted.
// Requirements and the spelling of durations do not count; the order of lists does not either.
//
// Existing clusters store these values: the hash depends on the names and on the order of the fields of
// NodeClaimTemplate and of the types below it.
//
// Source: spec API, hash.
func (n *NodePool) Hash() string {
	sum, err := hashstructure.Hash(n.Spec.Template, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets:    true,
		IgnoreZeroValue: true,
		ZeroNil:         true,
	})
	if err != nil {
		// The template consists of strings, numbers, lists and maps, all of which can be hashed.
		panic(fmt.Sprintf("hashing the template of nodepool %q: %v", n.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}
