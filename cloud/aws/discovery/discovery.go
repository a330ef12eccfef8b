// Package discovery resolves the selectors of a node class: subnets, security groups, images, capacity reservations
// and the placement group. Results are cached.
//
// Source: AWS provider specification, EC2 read calls; image discovery; cache periods.
package discovery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/cloud/aws/reservation"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// defaultTTL is how long most results are cached.
	defaultTTL = time.Minute
	// aliasTTL and parameterTTL are how long SSM parameters are cached, those of Amazon and those of the user.
	aliasTTL     = 24 * time.Hour
	parameterTTL = 5 * time.Minute
	// staleTTL is how long a placement group is used while calls fail.
	staleTTL = 24 * time.Hour
	// loggedTTL is after how long an unchanged result is logged again.
	loggedTTL = 24 * time.Hour
)

// EC2 resolves selectors.
type EC2 interface {
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
	DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
	DescribeImages(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
	DescribeCapacityReservations(context.Context, *ec2.DescribeCapacityReservationsInput, ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error)
	DescribePlacementGroups(context.Context, *ec2.DescribePlacementGroupsInput, ...func(*ec2.Options)) (*ec2.DescribePlacementGroupsOutput, error)
}

// Parameters resolves images from SSM parameters.
type Parameters interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// Options are the clients and the lifetimes of cached results.
type Options struct {
	EC2        EC2
	Parameters Parameters
	Clock      clock.PassiveClock
	// Addresses receives the free addresses of subnets, Reservations the capacity left of reservations.
	Addresses    *subnet.Ledger
	Reservations *reservation.Ledger
	// SubnetTTL, GroupTTL and ImageTTL are how long subnets, security groups and images are cached; 0 for a minute.
	SubnetTTL, GroupTTL, ImageTTL time.Duration
}

// Finder resolves the selectors of classes. Make one with New. It is safe for concurrent use.
type Finder struct {
	Options
	subnets             *ttlcache.Cache[string, []awsv1.Subnet]
	groups              *ttlcache.Cache[string, []awsv1.SecurityGroup]
	images              *ttlcache.Cache[string, []image.Found]
	aliases             *ttlcache.Cache[string, parameter]
	parameters          *ttlcache.Cache[string, parameter]
	reservations        *ttlcache.Cache[string, []ec2types.CapacityReservation]
	placementGroups     *ttlcache.Cache[string, *PlacementGroup]
	lastPlacementGroups *ttlcache.Cache[string, *PlacementGroup]
	// logged are the results that were logged, so that only changes are logged.
	logged *ttlcache.Cache[string, string]
}

// New returns a finder with empty caches.
func New(o Options) *Finder {
	for _, ttl := range []*time.Duration{&o.SubnetTTL, &o.GroupTTL, &o.ImageTTL} {
		*ttl = cmp.Or(*ttl, defaultTTL)
	}
	return &Finder{
		Options: o,
		subnets: ttlcache.New[string, []awsv1.Subnet](o.Clock, o.SubnetTTL), groups: ttlcache.New[string, []awsv1.SecurityGroup](o.Clock, o.GroupTTL),
		images: ttlcache.New[string, []image.Found](o.Clock, o.ImageTTL), aliases: ttlcache.New[string, parameter](o.Clock, aliasTTL),
		parameters: ttlcache.New[string, parameter](o.Clock, parameterTTL), reservations: ttlcache.New[string, []ec2types.CapacityReservation](o.Clock, defaultTTL),
		placementGroups: ttlcache.New[string, *PlacementGroup](o.Clock, defaultTTL), lastPlacementGroups: ttlcache.New[string, *PlacementGroup](o.Clock, staleTTL),
		logged: ttlcache.New[string, string](o.Clock, loggedTTL),
	}
}

// discovered logs a result for a class or parameter, if it changed.
func (f *Finder) discovered(ctx context.Context, what, who string, found any) {
	text := fmt.Sprint(found)
	key := what + "/" + who
	if last, ok := f.logged.Get(key); ok && last == text {
		return
	}
	f.logged.Set(key, text)
	observe.Log(ctx).DebugContext(ctx, "discovered "+what, awsfield.DiscoveredFor(who), awsfield.Discovered(text))
}

// keyOf identifies a generation of a class: another generation may select other resources.
func keyOf(class *awsv1.EC2NodeClass) string {
	return fmt.Sprintf("%s-%d", class.UID, class.Generation)
}

// filter returns a filter of an EC2 list call.
func filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: aws.String(name), Values: values}
}

// tagFilters are the conditions that tags mean; the value * stands for any.
func tagFilters(tags map[string]string) []ec2types.Filter {
	var out []ec2types.Filter
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if tags[key] == "*" {
			out = append(out, filter("tag-key", key))
			continue
		}
		out = append(out, filter("tag:"+key, tags[key]))
	}
	return out
}
