package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/crds"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// place is where machines come from when nothing is launched: a cloud without a cluster and without an account.
type place struct {
	// Provider is empty where the node classes decide.
	Provider options.CloudProvider `name:"cloud-provider" envvar:"CLOUD_PROVIDER" group:"Cloud provider" placeholder:"NAME" help:"Where machines come from; otherwise what the node classes of pools say. Known: ${cloud_providers}."`
	KWOK     options.KWOK          `embed:""`

	VMMemoryOverheadPercent float64 `name:"vm-memory-overhead-percent" envvar:"VM_MEMORY_OVERHEAD_PERCENT" group:"Cloud provider" default:"0.075" help:"aws: share of an instance's memory that is lost to virtualization, as a fraction."`
	ReservedENIs            int     `name:"reserved-enis" envvar:"RESERVED_ENIS" group:"Cloud provider" default:"0" help:"aws: network interfaces of each instance that are not for pods."`
}

// settings are those of the controller that matter.
func (p place) settings() aws.Settings {
	return aws.Settings{VMMemoryOverheadPercent: p.VMMemoryOverheadPercent, ReservedENIs: int64(p.ReservedENIs)}
}

// definitions are those of the core kinds and of all node classes.
func (p place) definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	kwok, err := crds.Kwok()
	if err != nil {
		return nil, err
	}
	ec2, err := crds.AWS()
	if err != nil {
		return nil, err
	}
	// Both know the core kinds, and restrict the labels of their own cloud in them.
	main, other := kwok, ec2
	if p.Provider == options.CloudProviderAWS {
		main, other = ec2, kwok
	}
	for _, d := range other {
		if !slices.ContainsFunc(main, func(have *apiextensionsv1.CustomResourceDefinition) bool { return have.Name == d.Name }) {
			main = append(main, d)
		}
	}
	return main, nil
}

// named is the cloud of the flags; the one that is there by default where they name none.
func (p place) named() (cloud.Cloud, error) {
	provider := p.Provider
	if provider == "" {
		provider = options.CloudProviderKWOK
	}
	adapter, ok := adapters()[provider]
	if !ok {
		return cloud.Cloud{}, fmt.Errorf("cloud provider %q is not part of this binary", provider)
	}
	if p.ReservedENIs < 0 || p.VMMemoryOverheadPercent < 0 {
		return cloud.Cloud{}, errors.New("--reserved-enis and --vm-memory-overhead-percent cannot be negative")
	}
	if provider == options.CloudProviderAWS && strings.HasPrefix(p.KWOK.Catalog, "aws/") {
		return aws.Offline(p.KWOK.Catalog, p.settings(), nil)
	}
	opened, err := adapter.New(nil, options.Options{CloudProvider: provider, KWOK: p.KWOK}, nil)
	if err != nil {
		err = fmt.Errorf("opening cloud provider %q: %w", provider, err)
		if p.KWOK.InstanceTypesFilePath != "" {
			err = codedError{err, exitUsage}
		}
		return cloud.Cloud{}, err
	}
	return opened, nil
}

// cloudFor is the cloud for objects: the one that the flags name, or else the one whose node classes the pools refer to. The notes
// are what the answer takes for granted. Node classes of EC2 that have no status get one.
func (p place) cloudFor(objects []client.Object, complete func([]client.Object, cloud.Cloud) []client.Object) (cloud.Cloud, []client.Object, []string, error) {
	opened, err := p.named()
	if err != nil {
		return cloud.Cloud{}, nil, nil, err
	}
	onEC2 := p.Provider == options.CloudProviderAWS || p.Provider == "" && p.KWOK.InstanceTypesFilePath == "" && onlyOnEC2(objects)
	if !onEC2 {
		return opened, complete(objects, opened), nil, nil
	}
	if p.KWOK.InstanceTypesFilePath != "" {
		return cloud.Cloud{}, nil, nil, codedError{errors.New("--instance-types-file-path is for cloud provider kwok"), exitUsage}
	}
	given := classesOfEC2(objects)
	catalog, notes := p.market(given)
	notes = slices.Concat(doubts(given, catalog), notes) // before they get a status
	objects = complete(objects, aws.Unopened())
	if opened, err = aws.Offline(catalog, p.settings(), classesOfEC2(objects)); err != nil {
		return cloud.Cloud{}, nil, nil, fmt.Errorf("opening cloud provider %q: %w", options.CloudProviderAWS, err)
	}
	return opened, objects, notes, nil
}

// market is the catalogue of EC2: the one that is named, or else that of the region where the subnets of classes are. The second result
// says if it was chosen for want of any.
func (p place) market(classes []*awsv1.EC2NodeClass) (catalog string, notes []string) {
	if strings.HasPrefix(p.KWOK.Catalog, "aws/") {
		return p.KWOK.Catalog, nil
	}
	var zones []string
	for _, class := range classes {
		zones = append(zones, zonesOf(class)...)
	}
	if catalog = aws.CatalogOf(zones); catalog != "" {
		return catalog, nil
	}
	return aws.DefaultCatalog, []string{
		fmt.Sprintf("no region is named: instance types and prices are those of %s; --catalog names another", aws.DefaultCatalog),
	}
}

// doubts are what is taken for granted of classes as they are described.
func doubts(classes []*awsv1.EC2NodeClass, catalog string) []string {
	var out []string
	for _, class := range classes {
		zones := zonesOf(class)
		if len(class.Status.Conditions) == 0 {
			out = append(out, fmt.Sprintf("EC2NodeClass %q is assumed to find a subnet in every zone, and images for all instance types", class.Name))
		} else if len(zones) > 0 && !slices.ContainsFunc(zones, func(zone string) bool { return aws.CatalogOf([]string{zone}) == catalog }) {
			out = append(out, fmt.Sprintf("EC2NodeClass %q has subnets in %s only, where %s sells nothing", class.Name, strings.Join(zones, ", "), catalog))
		}
		if len(class.Status.CapacityReservations) > 0 {
			out = append(out, fmt.Sprintf("what is left of the capacity reservations of EC2NodeClass %q is not known: nothing is launched into them", class.Name))
		}
	}
	slices.Sort(out)
	return out
}

// zonesOf are the zones where a class has subnets, sorted.
func zonesOf(class *awsv1.EC2NodeClass) []string {
	var zones []string
	for _, subnet := range class.Status.Subnets {
		zones = append(zones, subnet.Zone)
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// classesOfEC2 are the node classes of EC2 among objects.
func classesOfEC2(objects []client.Object) []*awsv1.EC2NodeClass {
	var out []*awsv1.EC2NodeClass
	for _, o := range objects {
		if class, ok := o.(*awsv1.EC2NodeClass); ok {
			out = append(out, class)
		}
	}
	return out
}

// onlyOnEC2 reports whether pools refer to node classes of EC2, and to no others.
func onlyOnEC2(objects []client.Object) bool {
	found := false
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok || pool.Spec.Template.Spec.NodeClassRef == nil {
			continue
		}
		if pool.Spec.Template.Spec.NodeClassRef.Group != awsv1.Group {
			return false
		}
		found = true
	}
	return found
}
