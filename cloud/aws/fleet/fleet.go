// Package fleet launches instances by fleets of type instant. Equal launches share a call.
//
// Source: AWS provider specification, CreateFleet request; fleet response; request batching.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/batch"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
)

// ErrNoOverrides says that no override is left to launch from.
var ErrNoOverrides = errors.New("no capacity offerings are currently available given the constraints")

// EC2 is the call that launches.
type EC2 interface {
	CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error)
}

// Override is one way in which an instance may be launched.
type Override struct {
	InstanceType, Zone, SubnetID, ImageID string
	// Price is the price by which overrides are ordered if users corrected prices.
	Price float64
}

// Config are the ways that share a launch template.
type Config struct {
	Template  string
	Overrides []Override
}

// Request is one launch.
type Request struct {
	Configs      []Config
	CapacityType string
	// ReservationType and Interruptible say what kind of reservations a reserved launch aims at.
	CapacityBlock, Interruptible bool
	// PriceOverlaid says that users corrected prices.
	PriceOverlaid bool
	Context       *string
	Tags          map[string]string
}

// Failure is what went wrong in one pool.
type Failure struct {
	awserrors.FleetError
	InstanceType, Zone, SubnetID string
}

// Result is the result of one launch. The ID is empty if nothing was launched.
type Result struct {
	InstanceID, InstanceType, Zone, SubnetID, ImageID string
	FleetID, RequestID                                string
	// First is true for one of those who share the launch; what happened to all is counted there.
	First bool
	// Failures may be present although an instance was launched.
	Failures []Failure
}

// Launcher launches. Make one with NewLauncher; it may be used from many goroutines.
type Launcher struct {
	api     EC2
	batcher *batch.Batcher[*ec2.CreateFleetInput, Result]
}

// NewLauncher returns a launcher. observe observes every batch of launches; see batch.Options.
func NewLauncher(api EC2, observe func(size int, waited time.Duration)) *Launcher {
	l := &Launcher{api: api}
	gathering := batch.CreateFleet()
	gathering.Observe = observe
	l.batcher = batch.New(gathering, bucketOf, l.call)
	return l
}

// Launch launches one instance.
func (l *Launcher) Launch(ctx context.Context, r Request) (Result, error) {
	in := r.Input()
	if len(in.LaunchTemplateConfigs) == 0 {
		return Result{}, ErrNoOverrides
	}
	return l.batcher.Do(ctx, in)
}

// Input is the call for one instance.
func (r Request) Input() *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: ec2types.FleetTypeInstant, Context: r.Context,
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: r.target()},
	}
	for _, kind := range []ec2types.ResourceType{ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeFleet} {
		in.TagSpecifications = append(in.TagSpecifications, ec2types.TagSpecification{ResourceType: kind, Tags: template.Tags(r.Tags)})
	}
	for _, c := range withinLimits(r.Configs) {
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, c.request())
	}
	switch {
	case r.CapacityType == v1.CapacityTypeSpot && r.PriceOverlaid:
		in.SpotOptions = &ec2types.SpotOptionsRequest{AllocationStrategy: ec2types.SpotAllocationStrategyCapacityOptimizedPrioritized}
	case r.CapacityType == v1.CapacityTypeSpot:
		in.SpotOptions = &ec2types.SpotOptionsRequest{AllocationStrategy: ec2types.SpotAllocationStrategyPriceCapacityOptimized}
	case r.CapacityBlock:
	case r.Interruptible:
		in.ReservedCapacityOptions = &ec2types.ReservedCapacityOptionsRequest{ReservationTypes: []ec2types.FleetReservationType{"interruptible-capacity-reservation"}}
	case r.PriceOverlaid:
		in.OnDemandOptions = &ec2types.OnDemandOptionsRequest{AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyPrioritized}
	default:
		in.OnDemandOptions = &ec2types.OnDemandOptionsRequest{AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyLowestPrice}
	}
	return in
}

// target is how EC2 calls the capacity type.
func (r Request) target() ec2types.DefaultTargetCapacityType {
	switch {
	case r.CapacityType == v1.CapacityTypeSpot:
		return ec2types.DefaultTargetCapacityTypeSpot
	case r.CapacityType == v1.CapacityTypeReserved && r.CapacityBlock:
		return ec2types.DefaultTargetCapacityTypeCapacityBlock
	case r.CapacityType == v1.CapacityTypeReserved && r.Interruptible:
		return "reserved-capacity"
	default:
		return ec2types.DefaultTargetCapacityTypeOnDemand
	}
}

func (c Config) request() ec2types.FleetLaunchTemplateConfigRequest {
	out := ec2types.FleetLaunchTemplateConfigRequest{
		LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String(c.Template), Version: aws.String("$Latest")},
	}
	for _, o := range c.Overrides {
		out.Overrides = append(out.Overrides, ec2types.FleetLaunchTemplateOverridesRequest{
			InstanceType: ec2types.InstanceType(o.InstanceType), SubnetId: aws.String(o.SubnetID), ImageId: aws.String(o.ImageID),
			AvailabilityZone: aws.String(o.Zone), Priority: aws.Float64(o.Price),
		})
	}
	return out
}

// bucketOf is equal for calls with equal parameters.
func bucketOf(in *ec2.CreateFleetInput) string {
	text, err := json.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("writing a launch: %v", err)) // it consists of texts and numbers
	}
	return string(text)
}

// call launches for all equal requests. It assigns one instance to each; all requests get all failures.
func (l *Launcher) call(ctx context.Context, same []*ec2.CreateFleetInput) []batch.Result[Result] {
	in := *same[0]
	capacity := *in.TargetCapacitySpecification
	capacity.TotalTargetCapacity = aws.Int32(int32(len(same)))
	in.TargetCapacitySpecification = &capacity
	results := make([]batch.Result[Result], len(same))
	out, err := l.api.CreateFleet(ctx, &in)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	all := failures(out.Errors)
	var started []Result
	for _, i := range out.Instances {
		for _, id := range i.InstanceIds {
			started = append(started, answerOf(id, i))
		}
	}
	if len(started) < len(same) && len(all) == 0 {
		all = []Failure{{FleetError: awserrors.FleetError{Code: "too few instances returned", Message: "too few instances returned"}}}
	}
	for i := range results {
		if i < len(started) {
			results[i].Value = started[i]
		}
		answer := &results[i].Value
		answer.FleetID, answer.Failures, answer.First = aws.ToString(out.FleetId), slices.Clone(all), i == 0
		answer.RequestID, _ = awsmiddleware.GetRequestIDMetadata(out.ResultMetadata)
	}
	return results
}

func answerOf(id string, i ec2types.CreateFleetInstance) Result {
	a := Result{InstanceID: id, InstanceType: string(i.InstanceType)}
	if way := i.LaunchTemplateAndOverrides; way != nil && way.Overrides != nil {
		a.Zone, a.SubnetID, a.ImageID = aws.ToString(way.Overrides.AvailabilityZone), aws.ToString(way.Overrides.SubnetId), aws.ToString(way.Overrides.ImageId)
	}
	return a
}

func failures(errs []ec2types.CreateFleetError) []Failure {
	var out []Failure
	for _, e := range errs {
		f := Failure{FleetError: awserrors.FleetError{Code: aws.ToString(e.ErrorCode), Message: aws.ToString(e.ErrorMessage)}}
		if way := e.LaunchTemplateAndOverrides; way != nil && way.Overrides != nil {
			f.InstanceType, f.Zone, f.SubnetID = string(way.Overrides.InstanceType), aws.ToString(way.Overrides.AvailabilityZone), aws.ToString(way.Overrides.SubnetId)
		}
		out = append(out, f)
	}
	return out
}

// ErrorText joins all failures in one text, each once.
func ErrorText(all []Failure) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Code+": "+f.Message)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}
