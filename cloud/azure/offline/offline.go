// Package offline has the instance types of Azure without a subscription: the sizes and prices of a location as of the day of the embedded
// tables, under the given node classes. It launches nothing. Facts that need a subscription are assumed: that each size is available in
// every zone of the location, that the quota is large enough, and that all that a class refers to is there.
//
// The tables have the features of about half of the sizes. Those of the others are derived from their names, which is good enough for a
// plan, but not for a node. Nothing but InstanceTypes returns them.
//
// Source: Azure provider specification, SKU discovery and instance types; pricing.
package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

const (
	// DefaultLocation is the location of simulations that name none.
	DefaultLocation = "eastus"
	// prefix starts the names of catalogs of Azure.
	prefix = "azure/"
)

// Options choose the location, and what depends on the cluster.
type Options struct {
	// Catalog is a catalog of Azure, such as azure/westeurope.
	Catalog string
	// NodeResourceGroup is the resource group of the nodes; empty if it is not known.
	NodeResourceGroup string
	// Network is the network plugin of the cluster, which limits the pods of a node.
	Network                 instancetype.Network
	VMMemoryOverheadPercent float64
}

// Provider is a cloud.Provider that only lists instance types. Make one with New.
type Provider struct {
	settings instancetype.Settings
	network  instancetype.Network
	skus     []sku.Description
	prices   prices
	derived  []string // names of the SKUs whose features are derived
	disks    []string // names of the SKUs whose ephemeral OS disk is derived
	classes  map[string]*v1beta1.AKSNodeClass
}

var _ cloud.Provider = (*Provider)(nil)

// New reads the tables for a location, for some classes. Classes without a status get the one that they would have if all they refer to
// could be found.
func New(o Options, classes []*v1beta1.AKSNodeClass) (*Provider, error) {
	location, ok := strings.CutPrefix(o.Catalog, prefix)
	if !ok {
		return nil, unknownCatalog(o.Catalog)
	}
	known, err := parseTable(hardwareText)
	if err != nil {
		return nil, fmt.Errorf("reading the embedded table of hardware: %w", err)
	}
	prices, ok, err := pricesOf(location)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, unknownCatalog(o.Catalog)
	}
	p := &Provider{
		settings: instancetype.Settings{Location: location, NodeResourceGroup: o.NodeResourceGroup, VMMemoryOverheadPercent: o.VMMemoryOverheadPercent},
		network:  o.Network, prices: prices, classes: map[string]*v1beta1.AKSNodeClass{},
	}
	p.describe(known)
	for _, class := range classes {
		if lacksStatus(class) {
			complete(class)
		}
		if class.DeletionTimestamp.IsZero() {
			p.classes[class.Name] = class
		}
	}
	return p, nil
}

// describe fills in the SKUs that the location has and that can be instance types.
func (p *Provider) describe(known table) {
	var zones []string
	if slices.Contains(known.zonal, p.settings.Location) {
		zones = []string{"1", "2", "3"}
	}
	for i := range known.sizes {
		report, derived := known.sizes[i].describe(p.settings.Location, zones)
		if _, priced := p.prices.onDemand.OnDemand(report.Name); !priced {
			continue
		}
		d, excluded := sku.Describe(report, p.settings.Location)
		if excluded != "" {
			continue
		}
		p.skus = append(p.skus, d)
		if derived {
			p.derived = append(p.derived, d.Name)
		}
		if report.Capabilities["EphemeralOSDiskSupported"] != "" {
			p.disks = append(p.disks, d.Name)
		}
	}
}

// unknownCatalog says which catalogs there are.
func unknownCatalog(name string) error {
	return fmt.Errorf("catalog %q is none of Azure; there are %s", name, strings.Join(Catalogs(), ", "))
}

// CatalogFor is the name of the catalog of a location, which may not exist.
func CatalogFor(location string) string { return prefix + strings.ToLower(location) }

// Knows reports whether a catalog is a location of Azure, by its name.
func Knows(catalog string) bool { return strings.HasPrefix(catalog, prefix) }

// Catalogs are the names of the catalogs of Azure, sorted.
func Catalogs() []string {
	var out []string
	for _, location := range price.Locations() {
		out = append(out, CatalogFor(location))
	}
	return out
}

// Date is the day of the sizes and prices, as year-month-day.
func (p *Provider) Date() string { return p.prices.date }

// Derived returns the names of the SKUs whose features are derived from these names, and counts all SKUs of the location. The caller must not
// change the names.
func (p *Provider) Derived() (names []string, all int) { return p.derived, len(p.skus) }

// DerivedDisks returns the names of the SKUs whose ephemeral OS disk is derived from their other disks. The caller must not change them.
func (p *Provider) DerivedDisks() []string { return p.disks }

// lacksStatus reports whether a class has no status, or none but that it is ready.
func lacksStatus(class *v1beta1.AKSNodeClass) bool {
	ready := condition.Status(class, v1beta1.ConditionTypeReady) == metav1.ConditionTrue
	return len(class.Status.Conditions) == 0 || ready && class.Status.KubernetesVersion == "" && len(class.Status.Conditions) == 1
}

// complete writes the status of a class that can be used. A class that prefers LocalDNS is taken not to get it, because the version of
// Kubernetes is not known.
func complete(class *v1beta1.AKSNodeClass) {
	if class.Status.LocalDNSState == "" {
		class.Status.LocalDNSState = v1beta1.LocalDNSStateDisabled
		if class.Spec.LocalDNS != nil && class.Spec.LocalDNS.Mode == v1beta1.LocalDNSModeRequired {
			class.Status.LocalDNSState = v1beta1.LocalDNSStateEnabled
		}
	}
	// When it became so does not matter: answers must not depend on the hour.
	set := condition.For(class, time.Time{})
	for _, dependent := range class.ConditionTypes().Dependents {
		set.True(dependent)
	}
}

// InstanceTypes implements cloud.Provider.
func (p *Provider) InstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || p.classes[ref.Name] == nil {
		return nil, nil
	}
	class, images := instancetype.ClassOf(p.classes[ref.Name], p.network), imagesOf(p.classes[ref.Name])
	out := make([]*cloud.InstanceType, 0, len(p.skus))
	for _, d := range p.skus {
		if t, ok := instancetype.Resolve(instancetype.Input{SKU: d, Class: class, Settings: p.settings, Market: p.market(d.Name)}); ok && images.Has(t.Requirements) {
			out = append(out, t)
		}
	}
	return out, nil
}

// supposedVersion is the version of Kubernetes of classes whose status has none.
const supposedVersion = "1.34.0"

// imagesOf are the images of a class: those of its status, or else those that AKS publishes for such classes.
func imagesOf(class *v1beta1.AKSNodeClass) *image.Filter {
	if images, err := class.CurrentImages(); err == nil && len(images) > 0 {
		return image.NewFilter(images)
	}
	images, err := image.Supposed(class, cmp.Or(class.Status.KubernetesVersion, supposedVersion))
	if err != nil {
		images = nil // a family that is not known is refused elsewhere
	}
	return image.NewFilter(images)
}

// market is the prices of a SKU. Without a price of spot virtual machines, there are none.
func (p *Provider) market(name string) instancetype.Market {
	onDemand, _ := p.prices.onDemand.OnDemand(name) // all SKUs have one
	spot, hasSpot := p.prices.spot.OnDemand(name)
	return instancetype.Market{
		Price: func(capacityType string) (float64, bool) {
			if capacityType == v1.CapacityTypeSpot {
				return spot, hasSpot
			}
			return onDemand, true
		},
		Unavailable: func(capacityType, _ string) bool { return capacityType == v1.CapacityTypeSpot && !hasSpot },
	}
}

// errOffline is what a cloud without a subscription answers.
var errOffline = errors.New("there is no subscription to ask")

// Create implements cloud.Provider.
func (*Provider) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, errOffline
}

// Delete implements cloud.Provider.
func (*Provider) Delete(context.Context, *v1.NodeClaim) error { return errOffline }

// Get implements cloud.Provider.
func (*Provider) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, errOffline }

// List implements cloud.Provider.
func (*Provider) List(context.Context) ([]*v1.NodeClaim, error) { return nil, errOffline }

// IsDrifted implements cloud.Provider.
func (*Provider) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) {
	return "", errOffline
}
