package request

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/cloud/aws/launch"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
)

// ErrNoTrialType says that no type can be launched under a class at all.
var ErrNoTrialType = errors.New("no instance types compatible with AMIs")

// DryRun is what a dry run of a launch needs.
type DryRun struct {
	Template, InstanceType string
	Tags                   map[string]string
}

// DryRun creates a launch template of the class as a launch does, for one instance type: one that a NodePool of the class allows, else
// a common one, without accelerators if possible.
func (b *Builder) DryRun(ctx context.Context, class *awsv1.EC2NodeClass) (DryRun, error) {
	types, err := b.Catalog.Types(ctx, class)
	if err != nil {
		return DryRun{}, err
	}
	pools, err := b.poolsOf(ctx, class)
	if err != nil {
		return DryRun{}, err
	}
	t := dryRunType(class, types, pools)
	if t == nil {
		return DryRun{}, ErrNoTrialType
	}
	chosen, _ := image.Choose(class.Status.AMIs, t)
	tenancy := awsv1.TenancyDefault
	if slices.ContainsFunc(pools, wantsDedicated) {
		tenancy = awsv1.TenancyDedicated
	}
	claim := &v1.NodeClaim{}
	order := launch.Order{CapacityType: v1.CapacityTypeOnDemand, Tenancy: tenancy, Candidates: []cloud.Candidate{{Type: t, Offering: &cloud.Offering{}}}}
	tags := resourcetags.LaunchTags(class.Spec.Tags, b.Cluster.Name, "", class.Name)
	reserved, err := b.Catalog.Reserved(class, t.Name)
	if err != nil {
		return DryRun{}, err
	}
	made, err := b.template(ctx, claim, class, order, templateKey{image: chosen.ID, pods: t.Capacity.Pods().Value(), reserved: reserved}, tags)
	if err != nil {
		return DryRun{}, err
	}
	b.Measure(ctx, class.Name, []*ec2.CreateLaunchTemplateInput{made})
	out := DryRun{Template: aws.ToString(made.LaunchTemplateName), InstanceType: t.Name, Tags: tags}
	return out, b.Templates.Ensure(ctx, made)
}

// poolsOf are the pools of a class, by name.
func (b *Builder) poolsOf(ctx context.Context, class *awsv1.EC2NodeClass) ([]v1.NodePool, error) {
	var list v1.NodePoolList
	if err := b.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing nodepools: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(pool v1.NodePool) bool {
		ref := pool.Spec.Template.Spec.NodeClassRef
		return ref == nil || ref.Group != awsv1.Group || ref.Name != class.Name
	}), nil
}

// wantsDedicated reports whether a pool allows dedicated tenancy.
func wantsDedicated(pool v1.NodePool) bool {
	return slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == awsv1.LabelInstanceTenancy && r.Operator == corev1.NodeSelectorOpIn && slices.Contains(r.Values, awsv1.TenancyDedicated)
	})
}

// dryRunType returns the instance type of a dry run; nil if no type has an image.
func dryRunType(class *awsv1.EC2NodeClass, types []*cloud.InstanceType, pools []v1.NodePool) *cloud.InstanceType {
	sold := slices.DeleteFunc(slices.Clone(types), func(t *cloud.InstanceType) bool {
		return !slices.ContainsFunc(t.Offerings, func(o cloud.Offering) bool { return o.Available })
	})
	var fit []*cloud.InstanceType
	if !class.Family().Windows() {
		for _, t := range sold {
			if slices.ContainsFunc(pools, func(pool v1.NodePool) bool { return takes(pool, t) }) {
				fit = append(fit, t)
			}
		}
	}
	if len(sold) > 0 {
		types = sold // others may lack what the class asks for, such as enclaves
	}
	if len(fit) == 0 {
		for _, t := range types {
			if t.Name == "m5.large" || t.Name == "m6g.large" {
				fit = append(fit, t)
			}
		}
	}
	if len(fit) == 0 {
		fit = types
	}
	var first *cloud.InstanceType
	for _, t := range fit {
		if _, ok := image.Choose(class.Status.AMIs, t); !ok {
			continue
		}
		if !accelerated(t) {
			return t
		}
		if first == nil {
			first = t
		}
	}
	return first
}

// takes reports whether a pool's requirements and labels allow a type.
func takes(pool v1.NodePool, t *cloud.InstanceType) bool {
	rules := awsv1.LabelRules()
	spec := pool.Spec.Template
	entries := slices.Clone(spec.Spec.Requirements)
	for key, value := range spec.Labels {
		entries = append(entries, cloud.In(key, value))
	}
	known := func(key string) bool { return rules.WellKnown[key] }
	return cloud.Requirements(entries, rules).Compatible(cloud.Requirements(t.Requirements, rules), known)
}

// accelerated reports whether a type has devices that need special images.
func accelerated(t *cloud.InstanceType) bool {
	return slices.ContainsFunc(t.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return (r.Key == awsv1.LabelInstanceGPUCount || r.Key == awsv1.LabelInstanceAcceleratorCount) && r.Operator == corev1.NodeSelectorOpIn
	})
}
