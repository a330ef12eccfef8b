package controller

import (
	"github.com/karpenter-anew/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/provisioning"
)

// newProvisioner is the provisioner, with the controller of CapacityBuffers if they are to be kept.
func newProvisioner(p Parts, shared deps.Shared, d provisioning.Deps) (*provisioning.Provisioner, []Controller) {
	if !p.Options.FeatureGates.CapacityBuffer {
		provisioner := provisioning.New(d)
		return provisioner, []Controller{provisioner}
	}
	buffers := capacitybuffer.NewBuffers(capacitybuffer.Deps{
		Shared: shared, Workloads: shared.Live, Store: d.Store, Translator: d.Translator, Log: p.Log,
	})
	d.Buffers = buffers
	provisioner := provisioning.New(d)
	return provisioner, []Controller{provisioner, capacitybuffer.New(buffers, provisioner.Trigger)}
}
