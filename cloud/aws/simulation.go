package aws

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/offline"
	"github.com/karpenter-anew/karpenter/cloud/aws/settings"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// offlineFlags opens the provider for simulations. Its fields are flags of simulate and explain.
type offlineFlags struct {
	ReservedENIs int `name:"reserved-enis" envvar:"RESERVED_ENIS" group:"Cloud provider" default:"0" help:"aws: network interfaces of each instance that are not for pods, from 0 to 100."`
}

// Check implements plugin.Offline.
func (f *offlineFlags) Check() error {
	var refusals options.Refusals
	settings.ValidateReservedENIs(f.ReservedENIs, refusals.Refuse)
	return refusals.Err()
}

// Open implements plugin.Offline.
func (f *offlineFlags) Open(c plugin.Catalog) (cloud.Cloud, error) {
	if !offline.Knows(c.Name) {
		return Unopened(), nil
	}
	return f.open(c, nil)
}

func (f *offlineFlags) open(c plugin.Catalog, classes []*awsv1.EC2NodeClass) (cloud.Cloud, error) {
	return Offline(c.Name, Settings{VMMemoryOverheadPercent: c.VMMemoryOverheadPercent, ReservedENIs: int64(f.ReservedENIs)}, classes)
}

// OpenFor implements plugin.Offline. EC2NodeClasses without a status get one.
func (f *offlineFlags) OpenFor(s plugin.Simulation) (plugin.Opened, error) {
	given := classesAmong(s.Objects)
	catalog, notes := catalogFor(s.Catalog.Name, given)
	out := plugin.Opened{ // before the classes get a status
		Notes: slices.Concat(assumptions(given, catalog), notes), Source: "catalog " + catalog + ", not those of the account",
		UnpredictedDevices: "GPUs and EFA interfaces of new nodes are not predicted: a controller with the feature gates DRANVIDIAGPU and DRAEFA may launch nodes for these claims",
	}
	out.Objects = s.Complete(s.Objects, Unopened())
	var err error
	s.Catalog.Name = catalog
	out.Cloud, err = f.open(s.Catalog, classesAmong(out.Objects))
	return out, err
}

// catalogFor returns the catalog that is named, or else that of the region of the classes' subnets. The note says that it was chosen
// by default.
func catalogFor(named string, classes []*awsv1.EC2NodeClass) (catalog string, notes []string) {
	if offline.Knows(named) {
		return named, nil
	}
	var zones []string
	for _, class := range classes {
		zones = append(zones, zonesOf(class)...)
	}
	if catalog = offline.CatalogOf(zones); catalog != "" {
		return catalog, nil
	}
	return DefaultCatalog, []string{
		fmt.Sprintf("no region is named: instance types and prices are those of %s; --catalog names another", DefaultCatalog),
	}
}

// assumptions are the assumptions about the given classes.
func assumptions(classes []*awsv1.EC2NodeClass, catalog string) []string {
	var out []string
	for _, class := range classes {
		zones := zonesOf(class)
		if len(class.Status.Conditions) == 0 {
			out = append(out, fmt.Sprintf("EC2NodeClass %q is assumed to find a subnet in every zone, and images for all instance types", class.Name))
		} else if len(zones) > 0 && !slices.ContainsFunc(zones, func(zone string) bool { return offline.CatalogOf([]string{zone}) == catalog }) {
			out = append(out, fmt.Sprintf("EC2NodeClass %q has subnets in %s only, where %s has no offerings", class.Name, strings.Join(zones, ", "), catalog))
		}
		if len(class.Status.CapacityReservations) > 0 {
			out = append(out, fmt.Sprintf("what is left of the capacity reservations of EC2NodeClass %q is not known: nothing is launched into them", class.Name))
		}
	}
	slices.Sort(out)
	return out
}

// zonesOf returns the zones where a class has subnets, sorted.
func zonesOf(class *awsv1.EC2NodeClass) []string {
	var zones []string
	for _, subnet := range class.Status.Subnets {
		zones = append(zones, subnet.Zone)
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// classesAmong returns the EC2NodeClasses among objects.
func classesAmong(objects []client.Object) []*awsv1.EC2NodeClass {
	var out []*awsv1.EC2NodeClass
	for _, o := range objects {
		if class, ok := o.(*awsv1.EC2NodeClass); ok {
			out = append(out, class)
		}
	}
	return out
}
