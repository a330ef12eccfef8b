package customdata

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
)

// minorOfStatelessCNI is the minor version of Kubernetes 1 from which on the network plugin keeps no state on nodes.
const minorOfStatelessCNI = 34

// Values of labels that only nodes have.
const (
	roleAgent        = "agent"
	localDNSEnabled  = "enabled"
	localDNSDisabled = "disabled"
)

// NodeLabels returns the labels with which the kubelet of a virtual machine registers its node: those of AKS, those of the NodeClaim, those
// that its requirements and the instance type leave no choice about, and those of the offering. The later ones win, and those that the
// kubelet may not set are left out. An error means that the version of Kubernetes cannot be parsed, or that a label is none, such as one
// with the name of a subnet of more than 63 characters.
//
// Source: Azure provider specification, labels the node registers with.
func NodeLabels(in Input) (map[string]string, error) {
	release, err := in.release()
	if err != nil {
		return nil, err
	}
	out := in.labelsOfAKS(release)
	maps.Copy(out, in.Launch.labels())
	maps.DeleteFunc(out, func(key, _ string) bool { return !label.KubeletMaySet(key) })
	for _, key := range slices.Sorted(maps.Keys(out)) {
		if err := v1.ValidateNodeLabel(key, out[key]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// labelsOfAKS are the labels that AKS nodes have.
func (in *Input) labelsOfAKS(kubernetes release) map[string]string {
	c := &in.Cluster
	out := map[string]string{
		label.AKSRole:                    roleAgent,
		label.AKSCluster:                 label.ClusterValue(c.NodeResourceGroup),
		label.AKSKubeletIdentityClientID: c.KubeletIdentityClientID,
		label.AKSMode:                    label.ModeUser,
		v1.NodeDoNotSyncTaintsLabelKey:   label.True,
		label.AKSScaleSetPriority:        label.PriorityRegular,
		label.AKSPriority:                label.PriorityRegular,
		label.AKSOSSKU:                   in.Family.OSSKU(),
		label.AKSOSSKURequested:          in.Class.ImageFamily(),
		label.AKSOSSKUEffective:          in.Family.EffectiveOSSKU(),
		label.AKSLocalDNSState:           localDNSDisabled,
	}
	if in.Class.LocalDNSEnabled() {
		out[label.AKSLocalDNSState] = localDNSEnabled
	}
	if in.Class.FIPS() {
		out[label.AKSFIPSEnabled] = label.True
	}
	if c.overlay() {
		out[label.AKSNetworkSubnet] = in.Subnet.Name
		out[label.AKSNodeNetworkVNetGUID] = c.VNetGUID
		out[label.AKSAzureCNIOverlay] = label.True
		out[label.AKSPodNetworkType] = instancetype.ModeOverlay
		out[label.AKSNetworkStatelessCNI] = strconv.FormatBool(kubernetes.from(minorOfStatelessCNI))
	}
	if c.Dataplane == DataplaneCilium {
		out[label.AKSEBPFDataplane] = DataplaneCilium
	}
	if in.Class.StreamsArtifacts(in.SKU.Architecture) {
		out[label.AKSArtifactStreaming] = label.True
	}
	return out
}

// overlay reports whether pods have addresses of an overlay network of Azure.
func (c *Cluster) overlay() bool {
	return c.Network.Plugin == instancetype.PluginAzure && c.Network.Mode == instancetype.ModeOverlay
}

// labels are those that follow from the NodeClaim and from the choice that was made for it.
func (l *Launch) labels() map[string]string {
	out := maps.Clone(l.Claim.Labels)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, determined(l.Claim.Spec.Requirements))
	maps.Copy(out, determined(l.InstanceType))
	out[v1.CapacityTypeLabelKey] = l.CapacityType
	out[label.PlacementScope] = l.PlacementScope
	out[label.SKUUltraSSD] = strconv.FormatBool(l.UltraSSD)
	return out
}

// determined are the labels for which requirements leave one value.
func determined(requirements []v1.NodeSelectorRequirementWithMinValues) map[string]string {
	out := map[string]string{}
	for _, entry := range cloud.RequirementEntries(cloud.Requirements(requirements, label.Rules())) {
		if entry.Operator == corev1.NodeSelectorOpIn && len(entry.Values) == 1 {
			out[entry.Key] = entry.Values[0]
		}
	}
	return out
}

// AKSMachineLabels returns the labels of an AKSMachine, and its mode, label.ModeSystem or label.ModeUser, as values of the label. Labels
// that AKS or the kubelet set are left out, and so are those that the kubelet may not set.
//
// Source: Azure provider specification, labels the node registers with.
func AKSMachineLabels(launch Launch) (labels map[string]string, mode string) {
	labels = launch.labels()
	mode = label.ModeUser
	if labels[label.AKSMode] == label.ModeSystem {
		mode = label.ModeSystem
	}
	legacy := label.LegacyLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return strings.HasPrefix(key, label.AKSDomain+"/") || slices.Contains(legacy, key) || label.KubeletManaged(key) || !label.KubeletMaySet(key)
	})
	return labels, mode
}
