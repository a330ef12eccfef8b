package discovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
)

// PlacementGroup is a placement group as EC2 describes it.
type PlacementGroup struct {
	ID, Name, Strategy, SpreadLevel string
	Partitions                      int
}

// PlacementGroup is the placement group that the class selects; nil if it selects none, or if there is none such. When EC2 fails,
// the last answer comes together with the error, for those who would rather have an old one.
func (f *Finder) PlacementGroup(ctx context.Context, class *awsv1.EC2NodeClass) (*PlacementGroup, error) {
	selector := class.Spec.PlacementGroupSelector
	if selector == nil {
		return nil, nil
	}
	in := &ec2.DescribePlacementGroupsInput{Filters: []ec2types.Filter{filter("state", "available")}}
	var key string
	switch {
	case selector.ID != nil:
		in.GroupIds, key = []string{*selector.ID}, "id/"+*selector.ID
	case selector.Name != nil:
		in.GroupNames, key = []string{*selector.Name}, "name/"+*selector.Name
	default:
		return nil, errors.New("the selector of placement groups is empty")
	}
	found, err := f.placementGroups.GetOrLoad(ctx, key, func(ctx context.Context) (*PlacementGroup, error) {
		answer, err := f.EC2.DescribePlacementGroups(ctx, in)
		switch code := awserrors.Code(err); {
		case code == "InvalidPlacementGroup.Unknown" || code == "InvalidPlacementGroupId.Unknown":
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("resolving placement group %q: %w", key, err)
		case len(answer.PlacementGroups) == 0:
			return nil, nil
		}
		g := answer.PlacementGroups[0]
		return &PlacementGroup{
			ID: aws.ToString(g.GroupId), Name: aws.ToString(g.GroupName), Strategy: string(g.Strategy), SpreadLevel: string(g.SpreadLevel),
			Partitions: int(aws.ToInt32(g.PartitionCount)),
		}, nil
	})
	if err != nil {
		last, _ := f.lastPlacementGroups.Get(key)
		return last, err
	}
	f.lastPlacementGroups.Set(key, found)
	if found != nil {
		f.discovered(ctx, "placement group", class.Name, *found)
	}
	return found, nil
}
