package v1

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// HashVersion names the rules by which Hash is computed. It must change when the default of a hashed field changes, when a
// field that existing classes have set joins the hash, when a field leaves it, and when the type of a hashed field changes.
const HashVersion = "v6"

// Hash is the static hash of the class, in decimal. A NodeClaim made from a class with another hash has drifted. The
// cluster's CA bundle, base64 or empty, counts as well, because instances are told it.
//
// What selectors find is compared by itself, and so selectors do not count. The family counts as it is resolved, so that
// writing down what the alias implies changes nothing. The order of lists does not count.
//
// Existing clusters store these values: the hash depends on the names and on the order of the fields of EC2NodeClassSpec and
// of the types below it.
//
// Source: AWS provider specification, static hash.
func (c *EC2NodeClass) Hash(caBundle string) string {
	sum, err := hashstructure.Hash([]any{c.Spec, string(c.Family()), caBundle, kubeletText(c.Spec.Kubelet)}, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets:    true,
		IgnoreZeroValue: true,
		ZeroNil:         true,
	})
	if err != nil {
		// The spec consists of strings, numbers, lists and maps, all of which can be hashed.
		panic(fmt.Sprintf("hashing ec2nodeclass %q: %v", c.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}

// kubeletText is the kubelet block as text: keys in order, values byte for byte.
func kubeletText(kubelet map[string]apiextensionsv1.JSON) string {
	if len(kubelet) == 0 {
		return "null"
	}
	var text bytes.Buffer
	for i, key := range slices.Sorted(maps.Keys(kubelet)) {
		text.WriteByte("{,"[min(i, 1)])
		text.WriteString(strconv.Quote(key)) // field names need no quoting
		text.WriteByte(':')
		text.Write(kubelet[key].Raw)
	}
	text.WriteByte('}')
	return text.String()
}
