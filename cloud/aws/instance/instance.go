// Package instance finds, ends and tags the instances of the cluster in EC2. Calls about single instances are gathered into one.
//
// Source: AWS provider specification, EC2 calls; NodeClaim returned by create, get and list.
package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/batch"
)

// listPage is how many instances a page holds.
const listPage = 1000

// ErrNotFound says that an instance does not exist (any more).
var ErrNotFound = errors.New("the instance does not exist")

// ErrForeign says that an instance is not one of the cluster, by its tags.
var ErrForeign = errors.New("its tags are not those of an instance of this cluster")

// ErrShifted says that an instance is not changed, because a zonal shift is active in its zone.
var ErrShifted = errors.New("traffic is shifted away from its zone")

// EC2 are the calls about instances.
type EC2 interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	RebootInstances(context.Context, *ec2.RebootInstancesInput, ...func(*ec2.Options)) (*ec2.RebootInstancesOutput, error)
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
}

// Instance is an instance. It is shared and must not be changed.
type Instance struct {
	ID, Type, Zone, SubnetID, ImageID string
	// ZoneID is the id of the zone; empty if EC2 does not say.
	ZoneID string
	// CapacityType is how it was bought; see v1.CapacityTypeSpot and others.
	CapacityType, Tenancy string
	// Ending says that it is shutting down.
	Ending           bool
	Launched         time.Time
	SecurityGroupIDs []string
	PlacementGroupID string
	// Partition is 0 while it is unknown, or none.
	Partition int32
	// ReservationID is the reservation that the instance is in; empty for none.
	ReservationID   string
	ReservationType awsv1.CapacityReservationType
	Interruptible   bool
	EFAs            int64
	Tags            map[string]string
}

// OwnedBy reports whether the instance is one of a cluster. Instances of earlier releases have only the tag of the owner.
func (i *Instance) OwnedBy(cluster string) bool {
	if name, ok := i.Tags[awsv1.TagClusterName]; ok {
		return name == cluster
	}
	return i.Tags[awsv1.ClusterOwnedTag(cluster)] == awsv1.TagValueOwned
}

// ProviderID is the id of the instance for Kubernetes.
func (i *Instance) ProviderID() string { return ProviderID(i.Zone, i.ID) }

// ProviderID is the id of an instance for Kubernetes.
func ProviderID(zone, id string) string { return "aws:///" + zone + "/" + id }

// providerID matches the ids of instances for Kubernetes.
var providerID = regexp.MustCompile(`^aws:///.*/(i-[0-9a-z]+)$`)

// ParseProviderID is the id of an instance for EC2; false if it is none of EC2.
func ParseProviderID(text string) (string, bool) {
	match := providerID.FindStringSubmatch(text)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// Client reads and terminates the instances of a cluster. Make one with NewClient. It is safe for concurrent use.
type Client struct {
	api      EC2
	cluster  string
	reserves bool
	describe *batch.ByID[*Instance]
	end      *batch.ByID[bool]

	// alone reports instances in zones with an active zonal shift.
	alone func(*Instance) bool

	mu    sync.Mutex
	known map[string]*Instance
}

// Options configure a Client.
type Options struct {
	EC2     EC2
	Cluster string
	// Reserves says that capacity reservations are used; where they are not, instances that fell into an open one count as on-demand.
	Reserves bool
	// Described and Ended observe every batch of DescribeInstances and TerminateInstances; may be nil. See batch.Options.
	Described, Ended func(size int, waited time.Duration)
}

// NewClient returns a client for the instances of a cluster.
func NewClient(o Options) *Client {
	k := &Client{api: o.EC2, cluster: o.Cluster, reserves: o.Reserves, known: map[string]*Instance{}, alone: func(*Instance) bool { return false }}
	describing, ending := batch.DescribeInstances(), batch.TerminateInstances()
	describing.Observe, ending.Observe = o.Described, o.Ended
	k.describe, k.end = batch.NewByID(describing, k.describeMany), batch.NewByID(ending, k.terminateMany)
	return k
}

// SkipTermination sets which instances are neither described, if they are known, nor changed: those in zones with an active zonal
// shift. Call it before the controllers start.
func (k *Client) SkipTermination(alone func(*Instance) bool) { k.alone = alone }

// Get is an instance as it was when it was last seen, or as it is.
func (k *Client) Get(ctx context.Context, id string) (*Instance, error) {
	k.mu.Lock()
	have, ok := k.known[id]
	k.mu.Unlock()
	if ok {
		return have, nil
	}
	return k.Look(ctx, id)
}

// Look is an instance as it is now, or as it was when it was last seen, if it is left alone.
func (k *Client) Look(ctx context.Context, id string) (*Instance, error) {
	k.mu.Lock()
	have := k.known[id]
	k.mu.Unlock()
	if have != nil && k.alone(have) {
		return have, nil
	}
	i, ok, err := k.describe.Do(ctx, id)
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("getting instance %q: %w", id, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !ok {
		delete(k.known, id)
		return nil, fmt.Errorf("getting instance %q: %w", id, ErrNotFound)
	}
	k.known[id] = i
	return i, nil
}

// missing reports whether an instance is not there. An id that cannot be is one that is not there.
func missing(err error) bool {
	return awserrors.IsNotFound(err) || awserrors.Code(err) == "InvalidInstanceID.Malformed"
}

// List returns the instances of the cluster, by ID: those with the tags of every launch of Karpenter. Skipped instances are
// returned in their last known state, even if EC2 does not report them.
func (k *Client) List(ctx context.Context) ([]*Instance, error) {
	found, err := k.read(ctx, &ec2.DescribeInstancesInput{
		MaxResults: aws.Int32(listPage),
		Filters: []ec2types.Filter{
			{Name: aws.String("tag-key"), Values: []string{awsv1.TagNodePool}},
			{Name: aws.String("tag-key"), Values: []string{awsv1.TagNodeClass}},
			{Name: aws.String("tag:" + awsv1.TagClusterName), Values: []string{k.cluster}},
			notTerminated(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("listing instances: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := map[string]*Instance{}
	for _, i := range found {
		// What is listed may be terminated, so that the filter of the request is not trusted.
		_, pool := i.Tags[awsv1.TagNodePool]
		_, class := i.Tags[awsv1.TagNodeClass]
		if pool && class && i.Tags[awsv1.TagClusterName] == k.cluster {
			now[i.ID] = i
		}
	}
	for id, i := range k.known {
		if k.alone(i) {
			now[id] = i
		}
	}
	k.known = now
	return slices.SortedFunc(maps.Values(now), func(a, b *Instance) int { return strings.Compare(a.ID, b.ID) }), nil
}

// Terminate terminates an instance, unless it is being terminated already. One of another cluster, or of none, is left alone.
func (k *Client) Terminate(ctx context.Context, id string) error {
	i, err := k.Look(ctx, id)
	if err != nil || i.Ending {
		return err
	}
	if !i.OwnedBy(k.cluster) {
		return fmt.Errorf("ending instance %q, whose tag %s is %q: %w", id, awsv1.TagClusterName, i.Tags[awsv1.TagClusterName], ErrForeign)
	}
	if k.alone(i) {
		return fmt.Errorf("ending instance %q in zone %q: %w", id, i.Zone, ErrShifted)
	}
	_, ok, err := k.end.Do(ctx, id)
	switch {
	case err != nil && missing(err):
		return fmt.Errorf("ending instance %q: %w", id, ErrNotFound)
	case err != nil:
		return fmt.Errorf("ending instance %q: %w", id, err)
	case !ok:
		return fmt.Errorf("ending instance %q: EC2 does not say that it ends", id)
	}
	return nil
}

// Reboot reboots an instance. One that is being terminated counts as missing; one of another cluster, or of none, is left alone.
func (k *Client) Reboot(ctx context.Context, id string) error {
	i, err := k.Look(ctx, id)
	switch {
	case err != nil:
		return err
	case i.Ending:
		return fmt.Errorf("rebooting instance %q, which is being terminated: %w", id, ErrNotFound)
	case !i.OwnedBy(k.cluster):
		return fmt.Errorf("rebooting instance %q, whose tag %s is %q: %w", id, awsv1.TagClusterName, i.Tags[awsv1.TagClusterName], ErrForeign)
	case k.alone(i):
		return fmt.Errorf("rebooting instance %q in zone %q: %w", id, i.Zone, ErrShifted)
	}
	if _, err := k.api.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		if missing(err) {
			err = ErrNotFound
		}
		return fmt.Errorf("rebooting instance %q: %w", id, err)
	}
	return nil
}

// Tag adds tags to an instance.
func (k *Client) Tag(ctx context.Context, id string, tags []ec2types.Tag) error {
	k.mu.Lock()
	have := k.known[id]
	k.mu.Unlock()
	if have != nil && k.alone(have) {
		return fmt.Errorf("tagging instance %q in zone %q: %w", id, have.Zone, ErrShifted)
	}
	if _, err := k.api.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tags}); err != nil {
		if missing(err) {
			err = ErrNotFound
		}
		return fmt.Errorf("tagging instance %q: %w", id, err)
	}
	return nil
}

// notTerminated filters by the states of instances that are not terminated.
func notTerminated() ec2types.Filter {
	return ec2types.Filter{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped", "shutting-down"}}
}

func (k *Client) describeMany(ctx context.Context, ids []string) (map[string]*Instance, error) {
	found, err := k.read(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids, Filters: []ec2types.Filter{notTerminated()}})
	out := map[string]*Instance{}
	for _, i := range found {
		out[i.ID] = i
	}
	return out, err
}

func (k *Client) terminateMany(ctx context.Context, ids []string) (map[string]bool, error) {
	answer, err := k.api.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, change := range answer.TerminatingInstances {
		if s := change.CurrentState; s != nil && (s.Name == ec2types.InstanceStateNameShuttingDown || s.Name == ec2types.InstanceStateNameTerminated) {
			out[aws.ToString(change.InstanceId)] = true
		}
	}
	return out, nil
}

// read reads all pages. What was read before an error comes with it.
func (k *Client) read(ctx context.Context, in *ec2.DescribeInstancesInput) ([]*Instance, error) {
	var out []*Instance
	pages := ec2.NewDescribeInstancesPaginator(k.api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, r := range page.Reservations {
			for n := range r.Instances {
				out = append(out, k.instanceOf(&r.Instances[n]))
			}
		}
	}
	return out, nil
}

// instanceOf converts EC2's description of an instance. Any field may be missing.
func (k *Client) instanceOf(e *ec2types.Instance) *Instance {
	i := &Instance{
		ID: aws.ToString(e.InstanceId), Type: string(e.InstanceType), SubnetID: aws.ToString(e.SubnetId), ImageID: aws.ToString(e.ImageId),
		Launched: aws.ToTime(e.LaunchTime), Tenancy: awsv1.TenancyDefault, Tags: map[string]string{},
		CapacityType: v1.CapacityTypeOnDemand, ReservationID: aws.ToString(e.CapacityReservationId),
	}
	if p := e.Placement; p != nil {
		i.Zone, i.ZoneID, i.PlacementGroupID, i.Partition = aws.ToString(p.AvailabilityZone), aws.ToString(p.AvailabilityZoneId), aws.ToString(p.GroupId), aws.ToInt32(p.PartitionNumber)
		if p.Tenancy != "" {
			i.Tenancy = string(p.Tenancy)
		}
	}
	if s := e.State; s != nil {
		i.Ending = s.Name == ec2types.InstanceStateNameShuttingDown || s.Name == ec2types.InstanceStateNameTerminated
	}
	for _, t := range e.Tags {
		i.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	for _, g := range e.SecurityGroups {
		i.SecurityGroupIDs = append(i.SecurityGroupIDs, aws.ToString(g.GroupId))
	}
	for _, face := range e.NetworkInterfaces {
		if kind := aws.ToString(face.InterfaceType); kind == "efa" || kind == "efa-only" {
			i.EFAs++
		}
	}
	spec := e.CapacityReservationSpecification
	switch {
	case e.SpotInstanceRequestId != nil:
		i.CapacityType = v1.CapacityTypeSpot
	case k.reserves && i.ReservationID != "" && spec != nil && spec.CapacityReservationPreference == ec2types.CapacityReservationPreferenceCapacityReservationsOnly:
		i.CapacityType, i.ReservationType = v1.CapacityTypeReserved, awsv1.CapacityReservationTypeDefault
		if e.InstanceLifecycle == ec2types.InstanceLifecycleTypeCapacityBlock {
			i.ReservationType = awsv1.CapacityReservationTypeCapacityBlock
		}
		i.Interruptible = e.InstanceLifecycle == "interruptible-capacity-reservation"
	}
	return i
}
