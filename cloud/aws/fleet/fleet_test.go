package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/fleet"
)

// short is EC2 with so many instances left.
type short struct {
	left   int
	silent bool // it does not say why there are no more
	fails  error
	calls  []*ec2.CreateFleetInput
}

// CreateFleet implements fleet.EC2.
func (s *short) CreateFleet(_ context.Context, in *ec2.CreateFleetInput, _ ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
	s.calls = append(s.calls, in)
	if s.fails != nil {
		return nil, s.fails
	}
	out := &ec2.CreateFleetOutput{FleetId: aws.String("fleet-1")}
	way := &ec2types.LaunchTemplateAndOverridesResponse{Overrides: &ec2types.FleetLaunchTemplateOverrides{InstanceType: "m5.large", AvailabilityZone: aws.String("us-east-1a")}}
	asked := int(*in.TargetCapacitySpecification.TotalTargetCapacity)
	for i := range min(asked, s.left) {
		out.Instances = append(out.Instances, ec2types.CreateFleetInstance{InstanceIds: []string{fmt.Sprintf("i-%d", i)}, InstanceType: "m5.large", LaunchTemplateAndOverrides: way})
	}
	if asked > s.left && !s.silent {
		out.Errors = []ec2types.CreateFleetError{{ErrorCode: aws.String("InsufficientInstanceCapacity"), ErrorMessage: aws.String("no"), LaunchTemplateAndOverrides: way}}
	}
	return out, nil
}

func request() fleet.Request {
	return fleet.Request{CapacityType: "on-demand", Configs: []fleet.Config{{Template: "t", Overrides: []fleet.Override{
		{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: "subnet-1", ImageID: "ami-1", Price: 1}, {InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: "subnet-1", ImageID: "ami-1", Price: 1},
	}}, {Template: "empty"}}}
}

// launch launches at the same time, and counts who got an instance, which failures they saw, and errors.
func launch(t *testing.T, api *short, count int) (instances map[string]int, failures map[string]int, errs int) {
	instances, failures = map[string]int{}, map[string]int{}
	l := fleet.NewLauncher(api, nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			answer, err := l.Launch(t.Context(), request())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs++
			}
			instances[answer.InstanceID]++
			failures[fleet.ErrorText(answer.Failures)]++
		})
	}
	all.Wait()
	return instances, failures, errs
}

// The tests run in bubbles, where to wait for others takes no time.

func TestWhoGetsNoInstanceGetsTheErrors(t *testing.T) {
	t.Attr("covers", "A281")
	synctest.Test(t, func(t *testing.T) {
		api := &short{left: 2}
		instances, failures, errs := launch(t, api, 5)
		if errs != 0 || instances["i-0"] != 1 || instances["i-1"] != 1 || instances[""] != 3 || failures["InsufficientInstanceCapacity: no"] != 5 || len(api.calls) != 1 {
			t.Errorf("%v, %v, %d errors in %d calls", instances, failures, errs, len(api.calls))
		}
		if configs := api.calls[0].LaunchTemplateConfigs; len(configs) != 1 || len(configs[0].Overrides) != 1 {
			t.Errorf("asked for %+v", configs)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		instances, failures, _ := launch(t, &short{left: 1, silent: true}, 2)
		if instances[""] != 1 || failures["too few instances returned: too few instances returned"] != 2 {
			t.Errorf("%v, %v", instances, failures)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if _, _, errs := launch(t, &short{fails: errors.New("no")}, 3); errs != 3 {
			t.Errorf("%d errors", errs)
		}
	})
}

func TestNothingToLaunch(t *testing.T) {
	if _, err := fleet.NewLauncher(&short{}, nil).Launch(t.Context(), fleet.Request{Configs: []fleet.Config{{Template: "empty"}}}); !errors.Is(err, fleet.ErrNoOverrides) {
		t.Errorf("got %v", err)
	}
}

func TestReservedLaunches(t *testing.T) {
	t.Attr("covers", "A276")
	for _, test := range []struct {
		block, interruptible bool
		target, kind         string
		strategy             bool
	}{
		{false, false, "on-demand", "", true}, {true, false, "capacity-block", "", false}, {false, true, "reserved-capacity", "interruptible-capacity-reservation", false},
	} {
		r := request()
		r.CapacityType, r.CapacityBlock, r.Interruptible = "reserved", test.block, test.interruptible
		in := r.Input()
		kind := ""
		if in.ReservedCapacityOptions != nil {
			kind = string(in.ReservedCapacityOptions.ReservationTypes[0])
		}
		if string(in.TargetCapacitySpecification.DefaultTargetCapacityType) != test.target || kind != test.kind || (in.OnDemandOptions != nil) != test.strategy || in.SpotOptions != nil {
			t.Errorf("%+v: %+v", test, in)
		}
	}
}
