package request

import (
	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
)

// AKSMachines makes the requests for AKSMachines.
type AKSMachines struct {
	// Name is that of the cluster, in tags; Tags are those of the settings.
	Name string
	Tags map[string]string
}

// AKSMachine is what AKS is asked for.
type AKSMachine struct {
	Name string
	Spec aksmachine.Spec
	Body *aksmachine.Body
}

// Of returns the request of a launch.
func (m *AKSMachines) Of(l Launch) (AKSMachine, error) {
	on, err := systemOf(&l)
	if err != nil {
		return AKSMachine{}, err
	}
	version, err := on.image.NodeImageVersion()
	if err != nil {
		return AKSMachine{}, err
	}
	name, err := naming.AKSMachine(l.Claim.Name)
	if err != nil {
		return AKSMachine{}, err
	}
	taints, err := customdata.TaintTexts(customdata.Taints(l.Claim))
	if err != nil {
		return AKSMachine{}, err
	}
	labels, mode := customdata.AKSMachineLabels(l.launch())
	out := AKSMachine{Name: name, Spec: aksmachine.Spec{
		Zone: l.Choice.Offering.Zone(), Size: l.SKU.Name, Spot: l.spot(), UltraSSD: l.Choice.UltraSSD, EphemeralDisk: l.ephemeralPlacement() != "",
		System: mode == label.ModeSystem, GPU: l.SKU.GPUs > 0, Architecture: l.SKU.Architecture, Family: on.family, ImageVersion: version,
		KubernetesVersion: on.version, Labels: labels, Taints: taints,
		Tags: resourcetags.OfAKSMachine(m.Tags, l.Class.Spec.Tags, l.owner(m.Name)),
	}}
	out.Body, err = aksmachine.BodyOf(l.Class, &out.Spec)
	return out, err
}
