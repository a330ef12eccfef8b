package awstest_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// world is an account with the SDK's clients.
type world struct {
	*awstest.Account
	clock  *clocktesting.FakeClock
	config aws.Config
	ec2    *ec2.Client
}

func newWorld(t *testing.T, types ...string) *world {
	t.Helper()
	w := &world{clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.Account = awstest.New(awstest.Options{Clock: w.clock, Types: types})
	w.config = awstest.Connect(t, w.Account)
	w.ec2 = ec2.NewFromConfig(w.config)
	return w
}

// code is the code of an AWS error.
func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return fmt.Sprint(err)
}

// template creates a launch template.
func (w *world) template(t *testing.T, name string) {
	t.Helper()
	_, err := w.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			{DeviceIndex: aws.Int32(0), Groups: []string{"sg-1", "sg-2"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fleet requests instances.
func (w *world) fleet(ctx context.Context, template string, count int32, change func(*ec2.CreateFleetInput), types ...string) (*ec2.CreateFleetOutput, error) {
	image := aws.String(w.Parameter("/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"))
	config := ec2types.FleetLaunchTemplateConfigRequest{
		LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
	}
	for _, name := range types {
		for _, s := range awstest.Zones {
			config.Overrides = append(config.Overrides, ec2types.FleetLaunchTemplateOverridesRequest{
				InstanceType: ec2types.InstanceType(name), SubnetId: aws.String(fmt.Sprintf("subnet-%c1", s)), ImageId: image,
			})
		}
	}
	in := &ec2.CreateFleetInput{
		Type: ec2types.FleetTypeInstant, LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{config},
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{TotalTargetCapacity: &count, DefaultTargetCapacityType: "spot"},
		TagSpecifications:           []ec2types.TagSpecification{{ResourceType: "instance", Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}},
	}
	if change != nil {
		change(in)
	}
	return w.ec2.CreateFleet(ctx, in)
}

func TestTypesComeInPages(t *testing.T) {
	w := newWorld(t)
	pages, count := 0, 0
	for p := ec2.NewDescribeInstanceTypesPaginator(w.ec2, &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(100)}); p.HasMorePages(); pages++ {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count += len(out.InstanceTypes)
		for _, it := range out.InstanceTypes {
			if it.InstanceType != "m5.large" {
				continue
			}
			if *it.VCpuInfo.DefaultVCpus != 2 || *it.MemoryInfo.SizeInMiB != 8192 || it.Hypervisor != "nitro" || it.ProcessorInfo.SupportedArchitectures[0] != "x86_64" ||
				*it.NetworkInfo.NetworkCards[0].MaximumNetworkInterfaces != 3 || *it.NetworkInfo.Ipv4AddressesPerInterface != 10 {
				t.Errorf("m5.large is %+v", it)
			}
		}
	}
	if pages != 9 || count < 800 {
		t.Errorf("%d types in %d pages", count, pages)
	}
}

func TestALaunchLivesAndEnds(t *testing.T) {
	w := newWorld(t, "m5.large", "c5.large")
	w.template(t, "one")
	out, err := w.fleet(t.Context(), "one", 2, nil, "m5.large", "c5.large")
	if err != nil || len(out.Instances) != 2 || len(out.Errors) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	id := out.Instances[0].InstanceIds[0]
	found, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	i := found.Reservations[0].Instances[0]
	if i.State.Name != "pending" || len(i.SecurityGroups) != 2 || *i.Tags[0].Key != "a" || i.SpotInstanceRequestId == nil {
		t.Errorf("instance is %+v", i)
	}
	if _, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"shutting-down", "terminated"} {
		if at := slices.IndexFunc(w.Instances(), func(i awstest.Instance) bool { return i.ID == id }); w.Instances()[at].State != want {
			t.Errorf("the instance is %s, want %s", w.Instances()[at].State, want)
		}
		w.clock.Step(time.Minute)
	}
}

func TestCapacityRunsOut(t *testing.T) {
	w := newWorld(t, "m5.large", "c5.large")
	w.template(t, "one")
	w.RunOut(awstest.Pool{InstanceType: "c5.large", CapacityType: "spot"})
	out, err := w.fleet(t.Context(), "one", 1, nil, "m5.large", "c5.large")
	if err != nil || out.Instances[0].InstanceType != "m5.large" {
		t.Fatalf("%+v, %v", out, err)
	}
	w.RunOut(awstest.Pool{})
	out, err = w.fleet(t.Context(), "one", 1, nil, "m5.large")
	if err != nil || len(out.Instances) != 0 || len(out.Errors) != 3 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" ||
		out.Errors[0].LaunchTemplateAndOverrides.Overrides.InstanceType != "m5.large" {
		t.Errorf("%+v, %v", out, err)
	}
	w.Refill(awstest.Pool{})
	if out, err = w.fleet(t.Context(), "one", 1, nil, "m5.large"); err != nil || len(out.Instances) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestWrongRequestsAreRefused(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.template(t, "one")
	ctx := t.Context()
	for name, test := range map[string]struct {
		do   func() error
		want string
	}{
		"a filter that does not exist": {func() error {
			_, err := w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{{Name: aws.String("colour"), Values: []string{"red"}}}})
			return err
		}, "InvalidParameterValue"},
		"a parameter that is not served": {func() error {
			_, err := w.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ExecutableUsers: []string{"self"}})
			return err
		}, "UnknownParameter"},
		"a page that is too large": {func() error {
			_, err := w.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(101)})
			return err
		}, "InvalidParameterValue"},
		"a launch template that is gone": {func() error {
			_, err := w.fleet(ctx, "two", 1, nil, "m5.large")
			return err
		}, "InvalidLaunchTemplateName.NotFoundException"},
		"a type that does not exist": {func() error {
			_, err := w.fleet(ctx, "one", 1, nil, "m5.huge")
			return err
		}, "InvalidInstanceType"},
		"a dry run": {func() error {
			_, err := w.fleet(ctx, "one", 1, func(in *ec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }, "m5.large")
			return err
		}, "DryRunOperation"},
		"a name that is taken": {func() error {
			_, err := w.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
				LaunchTemplateName: aws.String("one"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: aws.String("ami-1")},
			})
			return err
		}, "InvalidLaunchTemplateName.AlreadyExistsException"},
		"user data that is too large": {func() error {
			_, err := w.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
				LaunchTemplateName: aws.String("large"),
				LaunchTemplateData: &ec2types.RequestLaunchTemplateData{UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 16385))))},
			})
			return err
		}, "InvalidUserData.Malformed"},
		"an instance that never was": {func() error {
			_, err := w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
			return err
		}, "InvalidInstanceID.NotFound"},
		"an id that cannot be": {func() error {
			_, err := w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-5"}})
			return err
		}, "InvalidInstanceID.Malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := code(test.do()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	if len(w.Instances()) != 0 || len(w.LaunchTemplates()) != 1 {
		t.Error("a request that was refused left something")
	}
}

func TestTrouble(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.Fail("DescribeSubnets", awstest.Throttled, "Request limit exceeded.", 2)
	for _, want := range []string{awstest.Throttled, awstest.Throttled, "<nil>"} {
		if _, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); code(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	release := w.Hold("DescribeSubnets")
	done := make(chan error)
	go func() {
		_, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("a call that is held came back: %v", err)
	default:
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNewInstancesAreHiddenForAWhile(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.template(t, "one")
	w.Hide(1, time.Minute)
	out, err := w.fleet(t.Context(), "one", 1, nil, "m5.large")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"InvalidInstanceID.NotFound", "InvalidInstanceID.NotFound", "<nil>"} {
		if _, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: out.Instances[0].InstanceIds}); code(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		w.clock.Step(time.Minute / 2)
	}
}

func TestOtherServices(t *testing.T) {
	w := newWorld(t, "m5.large", "m5.metal")
	ctx := t.Context()
	cluster, err := eks.NewFromConfig(w.config).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("test")})
	if err != nil || *cluster.Cluster.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.100.0.0/16" || *cluster.Cluster.Version != "1.34" {
		t.Errorf("%+v, %v", cluster, err)
	}
	if _, err := eks.NewFromConfig(w.config).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("other")}); code(err) != "ResourceNotFoundException" {
		t.Error(err)
	}
	if _, err := ssm.NewFromConfig(w.config).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/none")}); code(err) != "ParameterNotFound" {
		t.Error(err)
	}
	prices, err := pricing.NewFromConfig(w.config).GetProducts(ctx, &pricing.GetProductsInput{
		ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(100), Filters: []pricingtypes.Filter{
			{Field: aws.String("regionCode"), Type: "TERM_MATCH", Value: aws.String("us-east-1")},
			{Field: aws.String("operatingSystem"), Type: "TERM_MATCH", Value: aws.String("Linux")},
		},
	})
	if err != nil || len(prices.PriceList) != 1 || !strings.Contains(prices.PriceList[0], "0.096") {
		t.Errorf("%+v, %v", prices, err)
	}
	profiles := iam.NewFromConfig(w.config)
	name := aws.String("p")
	if _, err := profiles.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name}); code(err) != "NoSuchEntity" {
		t.Error(err)
	}
	if _, err := profiles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name, Path: aws.String("/x/")}); err != nil {
		t.Fatal(err)
	}
	if _, err := profiles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("missing")}); code(err) != "NoSuchEntity" {
		t.Error(err)
	}
	if _, err := profiles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String(awstest.Role)}); err != nil {
		t.Fatal(err)
	}
	if _, err := profiles.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name}); code(err) != "DeleteConflict" {
		t.Error(err)
	}
	listed, err := profiles.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/x/")})
	if err != nil || len(listed.InstanceProfiles) != 1 || *listed.InstanceProfiles[0].Roles[0].RoleName != awstest.Role {
		t.Errorf("%+v, %v", listed, err)
	}
}

func TestIPv6NeedsARange(t *testing.T) {
	w := newWorld(t, "m5.large")
	name := "v6"
	_, err := w.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			{DeviceIndex: aws.Int32(0), Groups: []string{"sg-1"}, PrimaryIpv6: aws.Bool(true), Ipv6AddressCount: aws.Int32(1)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.fleet(t.Context(), name, 2, nil, "m5.large"); err != nil {
		t.Fatal(err)
	}
	made := w.Instances()
	if len(made) != 2 || !strings.HasPrefix(made[0].IPv6, "2001:db8:") || made[0].IPv6 == made[1].IPv6 {
		t.Errorf("instances %+v", made)
	}
	for i, letter := range awstest.Zones {
		w.AddSubnet(awstest.Subnet{ID: fmt.Sprintf("subnet-%c1", letter), Zone: "us-east-1" + string(letter), ZoneID: fmt.Sprintf("use1-az%d", i+1), Free: 10})
	}
	out, err := w.fleet(t.Context(), name, 1, nil, "m5.large")
	if err != nil || len(out.Instances) != 0 || len(out.Errors) != 3 || *out.Errors[0].ErrorCode != "InvalidParameterValue" {
		t.Errorf("without a range: %+v, %v", out, err)
	}
}
