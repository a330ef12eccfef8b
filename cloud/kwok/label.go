package kwok

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// The labels of simulated nodes.
const (
	// LabelInstanceSize is the part after the dot of names such as m5.large; otherwise the number of CPUs.
	LabelInstanceSize = v1alpha1.Group + "/instance-size"
	// LabelInstanceFamily is the text before the first dot or dash; otherwise the first character.
	LabelInstanceFamily = v1alpha1.Group + "/instance-family"
	// LabelInstanceCPU is the number of CPUs, rounded down.
	LabelInstanceCPU = v1alpha1.Group + "/instance-cpu"
	// LabelInstanceMemory is the memory in MiB, rounded down; a plain number, so that it can be compared.
	LabelInstanceMemory = v1alpha1.Group + "/instance-memory"

	// labelNode, as a label and as an annotation, makes kwok simulate the kubelet of this Node.
	labelNode = "kwok.x-k8s.io/node"
	// labelPartition selects the kwok controller of the Node.
	labelPartition = "kwok-partition"
	// PriceLabel is the label from which cluster viewers read the hourly price.
	PriceLabel = "eks-node-viewer/instance-price"

	nodeFake     = "fake"
	partitionOne = "a"
)

// dottedName matches names of the form family.size, for instance m5.large or u-12tb1.112xlarge.
var dottedName = regexp.MustCompile(`^[a-z][a-z0-9-]*\.([a-z0-9-]+)$`)

// sizeOf is the value of LabelInstanceSize.
func sizeOf(name string, cpus int64) string {
	if m := dottedName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return strconv.FormatInt(cpus, 10)
}

// familyOf is the value of LabelInstanceFamily.
func familyOf(name string) string {
	if i := strings.IndexAny(name, ".-"); i > 0 {
		return name[:i]
	}
	return name[:1]
}

// launchLabels are the labels of the claim's instance when launched as chosen, and the price.
func launchLabels(claim *v1.NodeClaim, chosen cloud.Candidate, rules v1.LabelRules) map[string]string {
	labels := cloud.LaunchLabels(claim, chosen, rules)
	labels[PriceLabel] = fmt.Sprintf("%f", chosen.Offering.Price)
	return labels
}
