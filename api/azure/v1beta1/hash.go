package v1beta1

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// HashVersion names the rules by which Hash is computed. It must change when the default of a hashed field changes, when a field that
// existing classes have set joins the hash, when a field leaves it, and when the type of a hashed field changes.
const HashVersion = "v3"

// Hash is the static hash of the class, in decimal. A NodeClaim that was made from a class with another hash has drifted.
//
// All fields of the spec count except tags, which are updated in place. The order of lists does not count; an empty list and an absent one
// differ.
//
// Existing clusters store these values: the hash depends on the names and on the order of the fields of AKSNodeClassSpec and of the types
// below it.
//
// Source: Azure provider specification, static drift hash.
func (c *AKSNodeClass) Hash() string {
	sum, err := hashstructure.Hash(c.Spec, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets:    true,
		IgnoreZeroValue: true,
		ZeroNil:         true,
	})
	if err != nil {
		// The spec consists of strings, numbers, lists and maps, all of which can be hashed.
		panic(fmt.Sprintf("hashing aksnodeclass %q: %v", c.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}
