// Package offline has the offerings of EC2 without calls to it: the instance types, zones and prices of a region as of the day of the
// embedded catalog, under the given node classes. It launches nothing. Facts that need an account are
// taken from the status of a class or, if it has none, assumed: that it selects a subnet in every zone, and an image for every type.
package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

const (
	// DefaultRegion is the region of simulations that name none.
	DefaultRegion = "us-east-1"
	// prefix starts the names of catalogs of EC2.
	prefix = "aws/"
)

// Options choose the region, and correct EC2's descriptions as a controller does.
type Options struct {
	// Catalog is a catalog of EC2, such as aws/eu-west-1.
	Catalog                 string
	VMMemoryOverheadPercent float64
	ReservedENIs            int64
}

// Provider is a cloud.Provider that only lists instance types. Make one with New.
type Provider struct {
	settings instancetype.Settings
	types    []entry
	zones    []string
	classes  map[string]*awsv1.EC2NodeClass
}

var _ cloud.Provider = (*Provider)(nil)

// New reads a catalog, for some classes. Classes without a status get the one that they would have if all they
// select could be found.
func New(o Options, classes []*awsv1.EC2NodeClass) (*Provider, error) {
	catalog := o.Catalog
	region, ok := strings.CutPrefix(catalog, prefix)
	if !ok {
		return nil, fmt.Errorf("catalog %q is none of EC2; there are %s", catalog, strings.Join(Catalogs(), ", "))
	}
	place, err := kwok.New(nil, kwok.Options{Catalog: catalog})
	if err != nil {
		return nil, err
	}
	sold, err := place.Provider.InstanceTypes(context.Background(), nil)
	if err != nil {
		return nil, fmt.Errorf("reading catalog %q: %w", catalog, err)
	}
	known, err := parseHardware(hardwareText)
	if err != nil {
		return nil, fmt.Errorf("reading the embedded table of hardware: %w", err)
	}
	settings := instancetype.Settings{Region: region, VMMemoryOverheadPercent: o.VMMemoryOverheadPercent, ReservedENIs: o.ReservedENIs}
	p := &Provider{settings: settings, classes: map[string]*awsv1.EC2NodeClass{}}
	limits, zones := instancetype.KnownLimits(), map[string]bool{}
	for _, t := range sold {
		e := describe(t, limits[t.Name], known[t.Name])
		p.types = append(p.types, e)
		for _, zone := range e.zones {
			zones[zone] = true
		}
	}
	p.zones = slices.Sorted(maps.Keys(zones))
	for _, class := range classes {
		if lacksStatus(class) {
			p.complete(class)
		}
		p.classes[class.Name] = class
	}
	return p, nil
}

// lacksStatus reports whether a class has no status, or none but that it is ready.
func lacksStatus(class *awsv1.EC2NodeClass) bool {
	ready := condition.Status(class, awsv1.ConditionTypeReady) == metav1.ConditionTrue
	return len(class.Status.Conditions) == 0 || ready && len(class.Status.Subnets) == 0
}

// CatalogFor is the name of the catalog of a region, which may not exist.
func CatalogFor(region string) string { return prefix + region }

// Knows reports whether a catalog is an EC2 region, by its name.
func Knows(catalog string) bool { return strings.HasPrefix(catalog, prefix) }

// Catalogs are the names of the catalogs of EC2, sorted.
func Catalogs() []string {
	return slices.DeleteFunc(kwok.CatalogNames(), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// CatalogOf is the catalog of the region that zones are in; empty if there is none, or if they are in several regions. The name of a
// zone begins with that of its region.
func CatalogOf(zones []string) string {
	found, known := "", Catalogs()
	for _, zone := range zones {
		at := slices.IndexFunc(known, func(catalog string) bool { return inRegion(zone, strings.TrimPrefix(catalog, prefix)) })
		if at < 0 || found != "" && found != known[at] {
			return ""
		}
		found = known[at]
	}
	return found
}

// inRegion reports whether a zone is in a region: us-east-1a and us-east-1-bos-1a are in us-east-1, us-east-10a is not.
func inRegion(zone, region string) bool {
	rest, ok := strings.CutPrefix(zone, region)
	return ok && rest != "" && (rest[0] < '0' || rest[0] > '9')
}

// complete writes the status of a class: a subnet in each zone, and ready, unless the class itself shows that it cannot be.
func (p *Provider) complete(class *awsv1.EC2NodeClass) {
	if len(class.Status.Subnets) == 0 {
		for _, zone := range p.zones {
			class.Status.Subnets = append(class.Status.Subnets, awsv1.Subnet{ID: "subnet-" + zone, Zone: zone})
		}
	}
	if len(class.Spec.AMISelectorTerms) == 0 { // only of a class that is not described
		class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	}
	// When it became so does not matter: answers must not depend on the hour.
	set := condition.For(class, time.Time{})
	for _, dependent := range class.ConditionTypes().Dependents {
		set.True(dependent)
	}
	if reason, err := p.validate(class); err != nil {
		set.False(awsv1.ConditionTypeValidationSucceeded, reason, err.Error())
	}
	for i := range class.Status.Conditions {
		if c := &class.Status.Conditions[i]; c.Type == awsv1.ConditionTypeReady && c.Status == metav1.ConditionFalse {
			c.Message = validationMessage(class)
		}
	}
}

// validationMessage is why validation failed.
func validationMessage(class *awsv1.EC2NodeClass) string {
	for _, c := range class.Status.Conditions {
		if c.Type == awsv1.ConditionTypeValidationSucceeded {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// validate reports what is wrong with a class by itself.
func (p *Provider) validate(class *awsv1.EC2NodeClass) (reason string, err error) {
	if _, _, err := class.Alias(); err != nil {
		return "UnsupportedAlias", err
	}
	if err := kubelet.Validate(class.Spec.Kubelet); err != nil {
		return "InvalidKubeletConfiguration", err
	}
	if err := kubelet.Unsupported(class.Spec.Kubelet, class.Family()); err != nil {
		return "UnsupportedKubeletConfiguration", err
	}
	if _, err := p.of(class); err != nil {
		return "KubeletExpressionEvaluationFailed", err
	}
	if err := resourcetags.CheckTags(class.Spec.Tags); err != nil {
		return "TagValidationFailed", err
	}
	return "", nil
}

// InstanceTypes implements cloud.Provider.
func (p *Provider) InstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || p.classes[ref.Name] == nil {
		return nil, nil
	}
	return p.of(p.classes[ref.Name])
}

// of are all types under a class. Expressions count, whatever the feature gate of a controller says.
func (p *Provider) of(class *awsv1.EC2NodeClass) ([]*cloud.InstanceType, error) {
	seen, err := instancetype.ClassOf(class)
	if err != nil {
		return nil, err
	}
	// How much of a reservation is left only the account knows. Without a number nothing is launched into it, but what runs in it has
	// its price.
	seen.Reservations = class.Status.CapacityReservations
	var compiled *kubeletcel.Compiled
	if seen.Kubelet.HasExpressions() {
		if compiled, err = kubeletcel.Compile(seen.Kubelet); err != nil {
			return nil, err
		}
	}
	var out []*cloud.InstanceType
	for _, e := range p.types {
		in := instancetype.Input{
			Description: e.description, Class: seen, Limits: e.limits,
			Settings: p.settings, Market: instancetype.Availability{Zones: p.zones, TypeZones: e.zones, OnDemand: e.onDemand, Spot: e.spot},
		}
		if compiled != nil {
			if in.Class.Kubelet, _, err = instancetype.ResolveKubelet(in, compiled); err != nil {
				return nil, err
			}
		}
		out = append(out, instancetype.Resolve(in))
	}
	return out, nil
}

// errOffline is what a cloud without an account answers.
var errOffline = errors.New("there is no account to ask")

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
