package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/offline"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// offlineFlags opens the provider for simulations. Its fields are flags of simulate and explain, with the names of the settings of the
// controller.
type offlineFlags struct {
	NetworkPlugin     string `name:"network-plugin" envvar:"NETWORK_PLUGIN" group:"Cloud provider" default:"azure" emptyenv:"" help:"azure: network plugin of the cluster, azure or none."`
	NetworkPluginMode string `name:"network-plugin-mode" envvar:"NETWORK_PLUGIN_MODE" group:"Cloud provider" default:"overlay" emptyenv:"" help:"azure: mode of the network plugin, overlay or empty; empty with plugin none."`
	NodeResourceGroup string `name:"node-resource-group" envvar:"AZURE_NODE_RESOURCE_GROUP" group:"Cloud provider" placeholder:"NAME" help:"azure: resource group of nodes; default: that of the nodes that are there."`
}

// Check implements plugin.Offline.
func (f *offlineFlags) Check() error {
	var refusals options.Refusals
	settings.ValidateNetworkPlugin(f.NetworkPlugin, f.NetworkPluginMode, refusals.Refuse)
	return refusals.Err()
}

// Open implements plugin.Offline.
func (f *offlineFlags) Open(c plugin.Catalog) (cloud.Cloud, error) {
	if !offline.Knows(c.Name) {
		return Unopened(), nil
	}
	out, _, err := f.open(c, nil)
	return out, err
}

// open opens the provider for objects.
func (f *offlineFlags) open(c plugin.Catalog, objects []client.Object) (cloud.Cloud, *offline.Provider, error) {
	o := offline.Options{
		Catalog: c.Name, NodeResourceGroup: f.NodeResourceGroup, VMMemoryOverheadPercent: c.VMMemoryOverheadPercent,
		Network: instancetype.Network{Plugin: f.NetworkPlugin, Mode: f.NetworkPluginMode},
	}
	if clusters := valuesOf(objects, label.AKSCluster); o.NodeResourceGroup == "" && len(clusters) == 1 {
		o.NodeResourceGroup = clusters[0] // a value stands for itself
	}
	p, err := offline.New(o, classesAmong(objects))
	if err != nil {
		return cloud.Cloud{}, nil, err
	}
	out := Unopened()
	out.Provider = p
	return out, p, nil
}

// OpenFor implements plugin.Offline. AKSNodeClasses without a status get one, and those of the deprecated version become current ones.
func (f *offlineFlags) OpenFor(s plugin.Simulation) (plugin.Opened, error) {
	objects := current(s.Objects)
	catalog, notes := catalogFor(s.Catalog.Name, objects)
	out := plugin.Opened{ // before the classes get a status
		Notes: slices.Concat(assumptions(classesAmong(objects)), notes), Source: "catalog " + catalog + ", not those of the subscription",
	}
	out.Objects = s.Complete(objects, Unopened())
	s.Catalog.Name = catalog
	opened, p, err := f.open(s.Catalog, out.Objects)
	if err != nil {
		return plugin.Opened{}, err
	}
	out.Cloud = opened
	out.Notes = append(out.Notes,
		"quota, restrictions and lack of capacity are not known: every size is assumed to be available in every zone, at prices of "+p.Date())
	out.PlanNotes = func(instanceTypes []string) []string { return aboutDerived(p, instanceTypes) }
	return out, nil
}

// aboutDerived says which sizes have features that are derived from their names, or an ephemeral OS disk that is derived from their other
// disks: how many there are if none are asked for.
func aboutDerived(p *offline.Provider, instanceTypes []string) []string {
	const (
		features = "storage, network, encryption, architecture and Hyper-V generation are derived from the name, and there are no ultra disks"
		disk     = "that is derived from the temporary disk and the cache"
	)
	derived, all := p.Derived()
	disks := p.DerivedDisks()
	if instanceTypes == nil {
		return []string{
			fmt.Sprintf("the data has no features of %d of %d sizes: their %s", len(derived), all, features),
			fmt.Sprintf("the data does not say which sizes can have an ephemeral OS disk: for %d of %d, %s", len(disks), all, disk),
		}
	}
	var out []string
	if names := namesIn(instanceTypes, derived); names != "" {
		out = append(out, fmt.Sprintf("the data has no features of %s: %s", names, features))
	}
	if names := namesIn(instanceTypes, disks); names != "" {
		out = append(out, fmt.Sprintf("the data does not say whether an ephemeral OS disk is possible on %s: %s", names, disk))
	}
	return out
}

// namesIn returns the names that a list has, separated by commas.
func namesIn(names, list []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(list, name) }), ", ")
}

// current returns the objects with AKSNodeClasses of the deprecated version in the current one, which has the same fields.
func current(objects []client.Object) []client.Object {
	out := slices.Clone(objects)
	for i, o := range out {
		if old, ok := o.(*v1alpha2.AKSNodeClass); ok {
			class := &v1beta1.AKSNodeClass{ObjectMeta: old.ObjectMeta, Spec: old.Spec, Status: old.Status}
			class.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("AKSNodeClass"))
			out[i] = class
		}
	}
	return out
}

// catalogFor returns the catalog that is named, or else that of the location of the nodes and NodePools. The note says that it was chosen by
// default.
func catalogFor(named string, objects []client.Object) (catalog string, notes []string) {
	if offline.Knows(named) {
		return named, nil
	}
	catalog = offline.CatalogFor(offline.DefaultLocation)
	switch found := locationsAmong(objects); {
	case len(found) == 1 && slices.Contains(offline.Catalogs(), offline.CatalogFor(found[0])):
		return offline.CatalogFor(found[0]), nil
	case len(found) == 1:
		return catalog, []string{fmt.Sprintf("no sizes and prices of location %s are known: they are those of %s; --catalog names another", found[0], catalog)}
	case len(found) > 1:
		return catalog, []string{fmt.Sprintf("nodes and NodePools name the locations %s: sizes and prices are those of %s; --catalog names another",
			strings.Join(found, ", "), catalog)}
	default:
		return catalog, []string{fmt.Sprintf("no location is named: sizes and prices are those of %s; --catalog names another", catalog)}
	}
}

// locationsAmong returns the locations that nodes are in, or else those that NodePools require, sorted.
func locationsAmong(objects []client.Object) []string {
	if found := valuesOf(objects, corev1.LabelTopologyRegion); len(found) > 0 {
		return found
	}
	found := map[string]bool{}
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok {
			continue
		}
		for _, r := range pool.Spec.Template.Spec.Requirements {
			if r.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			for _, value := range r.Values {
				if r.Key == corev1.LabelTopologyRegion {
					found[value] = true
				} else if location, _, zonal := strings.Cut(value, "-"); zonal && r.Key == corev1.LabelTopologyZone {
					found[location] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// valuesOf returns the values of a label of nodes, sorted.
func valuesOf(objects []client.Object, key string) []string {
	found := map[string]bool{}
	for _, o := range objects {
		if node, ok := o.(*corev1.Node); ok && node.Labels[key] != "" {
			found[node.Labels[key]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// assumptions are the assumptions about the given classes.
func assumptions(classes []*v1beta1.AKSNodeClass) []string {
	var out []string
	for _, class := range classes {
		if len(class.Status.Conditions) > 0 {
			out = append(out, stale(class)...)
			continue
		}
		out = append(out, fmt.Sprintf("AKSNodeClass %q is assumed to find its subnet, and all images that AKS publishes for such classes", class.Name))
		if class.Spec.LocalDNS != nil && class.Spec.LocalDNS.Mode == v1beta1.LocalDNSModePreferred && class.Status.LocalDNSState == "" {
			out = append(out, fmt.Sprintf("AKSNodeClass %q prefers LocalDNS, and is assumed not to get it: with it, nodes have at least 4 vCPUs", class.Name))
		}
		if class.FIPS() {
			out = append(out, fmt.Sprintf("whether the controller uses the shared galleries (--use-sig) is not known: without them, AKSNodeClass %q has no FIPS images and launches nothing", class.Name))
		}
	}
	slices.Sort(out)
	return out
}

// stale says that a class which is ready has changed since, so that nothing is launched until its status is that of the present generation.
func stale(class *v1beta1.AKSNodeClass) []string {
	if condition.Status(class, v1beta1.ConditionTypeReady) != metav1.ConditionTrue || len(class.Status.Conditions) == 1 {
		return nil
	}
	_, err := class.CurrentKubernetesVersion()
	if _, more := class.CurrentImages(); err == nil {
		err = more
	}
	if err == nil {
		return nil
	}
	return []string{fmt.Sprintf("no node is launched with AKSNodeClass %q until its controller has updated the status: %s", class.Name, err)}
}

// classesAmong returns the AKSNodeClasses among objects.
func classesAmong(objects []client.Object) []*v1beta1.AKSNodeClass {
	var out []*v1beta1.AKSNodeClass
	for _, o := range objects {
		if class, ok := o.(*v1beta1.AKSNodeClass); ok {
			out = append(out, class)
		}
	}
	return out
}

// catalogs are the names of all catalogs.
func catalogs() []string { return offline.Catalogs() }

// catalogOf is the name of the catalog of a location, which may not exist.
func catalogOf(location string) string { return offline.CatalogFor(location) }
