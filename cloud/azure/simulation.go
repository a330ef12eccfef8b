package azure

import (
	"errors"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

// offlineFlags opens the provider for simulations.
type offlineFlags struct{}

// Check implements plugin.Offline.
func (*offlineFlags) Check() error { return nil }

// Open implements plugin.Offline.
func (*offlineFlags) Open(plugin.Catalog) (cloud.Cloud, error) { return Unopened(), nil }

// OpenFor implements plugin.Offline.
func (*offlineFlags) OpenFor(plugin.Simulation) (plugin.Opened, error) {
	return plugin.Opened{}, errors.New("the provider azure has no instance types without a subscription yet")
}
