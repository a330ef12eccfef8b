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

// cloudFor is the cloud for objects: the one that the flags name, or else the one whose node classes the pools refer to. The second
// result is what the answer takes for granted. Node classes of EC2 that have no status get one.
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
	var notes []string
	for _, o := range objects {
		if class, ok := o.(*awsv1.EC2NodeClass); ok && len(class.Status.Conditions) == 0 {
			notes = append(notes, fmt.Sprintf("EC2NodeClass %q is assumed to find a subnet in every zone, and images for all instance types", class.Name))
		}
	}
	slices.Sort(notes)
	catalog := p.KWOK.Catalog
	if !strings.HasPrefix(catalog, "aws/") {
		catalog = aws.DefaultCatalog
		notes = append(notes, fmt.Sprintf("no region is named: instance types and prices are those of %s; --catalog names another", catalog))
	}
	objects = complete(objects, aws.Unopened())
	var classes []*awsv1.EC2NodeClass
	for _, o := range objects {
		if class, ok := o.(*awsv1.EC2NodeClass); ok {
			classes = append(classes, class)
		}
	}
	if opened, err = aws.Offline(catalog, p.settings(), classes); err != nil {
		return cloud.Cloud{}, nil, nil, fmt.Errorf("opening cloud provider %q: %w", options.CloudProviderAWS, err)
	}
	return opened, objects, notes, nil
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
