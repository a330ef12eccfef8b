package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// networkPage is how many subnets or groups a page holds.
const networkPage = 500

// Subnets are the subnets that the class selects, those with the most free addresses first, then by ID. Every further term without an
// ID can select further subnets.
func (f *Finder) Subnets(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.Subnet, error) {
	found, err := f.subnets.GetOrLoad(ctx, keyOf(class), func(ctx context.Context) ([]awsv1.Subnet, error) {
		var sets [][]ec2types.Filter
		var ids []string
		for _, term := range class.Spec.SubnetSelectorTerms {
			if term.ID != "" {
				ids = append(ids, term.ID)
				continue
			}
			sets = append(sets, tagFilters(term.Tags))
		}
		if len(ids) > 0 {
			sets = append(sets, []ec2types.Filter{filter("subnet-id", ids...)})
		}
		found, err := f.listSubnets(ctx, sets)
		if err == nil {
			// In order of id: that of free addresses changes all the time.
			f.discovered(ctx, "subnets", class.Name, slices.SortedFunc(slices.Values(found), func(a, b awsv1.Subnet) int { return cmp.Compare(a.ID, b.ID) }))
		}
		return found, err
	})
	return slices.Clone(found), err
}

func (f *Finder) listSubnets(ctx context.Context, sets [][]ec2types.Filter) ([]awsv1.Subnet, error) {
	found := map[string]ec2types.Subnet{}
	for _, set := range sets {
		pages := ec2.NewDescribeSubnetsPaginator(f.EC2, &ec2.DescribeSubnetsInput{Filters: set, MaxResults: aws.Int32(networkPage)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing subnets: %w", err)
			}
			for _, s := range page.Subnets {
				found[aws.ToString(s.SubnetId)] = s
			}
		}
	}
	var all []ec2types.Subnet
	for id, s := range found {
		all = append(all, s)
		f.Addresses.Observed(id, int64(aws.ToInt32(s.AvailableIpAddressCount)))
	}
	slices.SortFunc(all, func(a, b ec2types.Subnet) int {
		return cmp.Or(cmp.Compare(aws.ToInt32(b.AvailableIpAddressCount), aws.ToInt32(a.AvailableIpAddressCount)),
			cmp.Compare(aws.ToString(a.SubnetId), aws.ToString(b.SubnetId)))
	})
	var out []awsv1.Subnet
	for _, s := range all {
		out = append(out, awsv1.Subnet{ID: aws.ToString(s.SubnetId), Zone: aws.ToString(s.AvailabilityZone), ZoneID: aws.ToString(s.AvailabilityZoneId)})
	}
	return out, nil
}

// SecurityGroups are the security groups that the class selects, by id.
func (f *Finder) SecurityGroups(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.SecurityGroup, error) {
	found, err := f.groups.GetOrLoad(ctx, keyOf(class), func(ctx context.Context) ([]awsv1.SecurityGroup, error) {
		var sets [][]ec2types.Filter
		var ids, names []string
		for _, term := range class.Spec.SecurityGroupSelectorTerms {
			switch {
			case term.ID != "":
				ids = append(ids, term.ID)
			case term.Name != "":
				names = append(names, term.Name)
			default:
				sets = append(sets, tagFilters(term.Tags))
			}
		}
		if len(ids) > 0 {
			sets = append(sets, []ec2types.Filter{filter("group-id", ids...)})
		}
		if len(names) > 0 {
			sets = append(sets, []ec2types.Filter{filter("group-name", names...)})
		}
		found, err := f.listGroups(ctx, sets)
		if err == nil {
			f.discovered(ctx, "security groups", class.Name, found)
		}
		return found, err
	})
	return slices.Clone(found), err
}

func (f *Finder) listGroups(ctx context.Context, sets [][]ec2types.Filter) ([]awsv1.SecurityGroup, error) {
	var out []awsv1.SecurityGroup
	for _, set := range sets {
		pages := ec2.NewDescribeSecurityGroupsPaginator(f.EC2, &ec2.DescribeSecurityGroupsInput{Filters: set, MaxResults: aws.Int32(networkPage)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing security groups: %w", err)
			}
			for _, g := range page.SecurityGroups {
				out = append(out, awsv1.SecurityGroup{ID: aws.ToString(g.GroupId), Name: aws.ToString(g.GroupName)})
			}
		}
	}
	slices.SortFunc(out, func(a, b awsv1.SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(out), nil
}
