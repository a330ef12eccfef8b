package nodeclass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/request"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
	"github.com/karpenter-anew/karpenter/cloud/aws/session"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
)

const (
	// validationTTL is how long the result of a dry run is cached, within validationSpread.
	validationTTL    = 30 * time.Minute
	validationSpread = 5 * time.Minute
	// patience is the requeue delay of an inconclusive validation.
	patience = 10 * time.Second
)

// validation is the result of validating a class; an empty reason means that it is valid.
type validation struct{ reason, message string }

// cachedValidation is a validation, and the content of the class that it is for.
type cachedValidation struct {
	content    string
	validation validation
}

const validated = awsv1.ConditionTypeValidationSucceeded

// errAgain reports an inconclusive validation.
var errAgain = errors.New("validation has to wait")

// RandomValidationTTL returns how long a process caches the results of dry runs: half an hour, give or take five minutes, so that the
// controllers of an account do not all try at the same time. Random returns numbers from 0 to less than its argument.
func RandomValidationTTL(random func(n int64) int64) time.Duration {
	return validationTTL - validationSpread + time.Duration(random(int64(2*validationSpread)+1))
}

// validate says whether instances could be launched with the class: first what the class itself shows, then by trying.
func (c *Controller) validate(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (time.Duration, error) {
	if class.Family() == awsv1.FamilyAL2023 {
		switch err := c.Requests.Cluster.LearnServiceCIDR(ctx); {
		case err != nil && serverFault(err):
			return 0, err
		case err != nil:
			set.False(validated, "ClusterCIDRResolutionFailed", "Failed to detect the cluster CIDR")
			return 0, err
		}
	}
	if v := c.wrongKubelet(class); v.reason != "" {
		set.False(validated, v.reason, v.message)
		return 0, nil
	}
	if v := c.wrongSharing(class); v.reason != "" {
		set.False(validated, v.reason, v.message)
		return 0, nil
	}
	if waiting := c.dependencies(class, set); waiting {
		return seldom, nil
	}
	switch err := c.Catalog.TryExpressions(class); {
	case errors.Is(err, catalog.ErrNoTypes):
		return patience, nil
	case err != nil:
		set.False(validated, "KubeletExpressionEvaluationFailed", err.Error())
		return 0, nil
	}
	if err := resourcetags.CheckTags(class.Spec.Tags); err != nil {
		set.False(validated, "TagValidationFailed", err.Error())
		return 0, nil
	}
	content := contentOf(class)
	last, known := c.validations.Get(class.Name)
	v := last.validation
	if !known || last.content != content {
		var err error
		if v, err = c.dryRun(ctx, class, set); err != nil {
			if errors.Is(err, errAgain) {
				return patience, nil
			}
			return 0, err
		}
		c.validations.Set(class.Name, cachedValidation{content, v})
	}
	if v.reason != "" {
		set.False(validated, v.reason, v.message)
	} else {
		set.True(validated)
	}
	return seldom, nil
}

// wrongKubelet is the defect of the kubelet block.
func (c *Controller) wrongKubelet(class *awsv1.EC2NodeClass) validation {
	if err := kubelet.Validate(class.Spec.Kubelet); err != nil {
		return validation{"InvalidKubeletConfiguration", err.Error()}
	}
	config, err := kubelet.Parse(class.Spec.Kubelet)
	switch {
	case err != nil:
		return validation{"InvalidKubeletConfiguration", err.Error()}
	case config.HasExpressions() && !c.Catalog.EvaluatesExpressions:
		return validation{"KubeletExpressionsDisabled", "expressions in spec.kubelet need the feature gate NodeClassCEL"}
	}
	if _, err := c.Catalog.Compile(config); err != nil {
		return validation{"KubeletExpressionInvalid", err.Error()}
	}
	if err := kubelet.Unsupported(class.Spec.Kubelet, class.Family()); err != nil {
		return validation{"UnsupportedKubeletConfiguration", err.Error()}
	}
	return validation{}
}

// wrongSharing is the defect of the annotation about shared GPUs.
func (c *Controller) wrongSharing(class *awsv1.EC2NodeClass) validation {
	sharing, err := devices.ParseSharing(class.Annotations[devices.SharingAnnotation])
	switch {
	case err != nil:
		return validation{"NVIDIAConsumableCapacityInvalid", fmt.Sprintf("annotation %s: %v", devices.SharingAnnotation, err)}
	case sharing.Any() && !c.Catalog.PlansGPUs:
		return validation{"DRADisabled", fmt.Sprintf(
			"annotation %s needs the feature gate DRANVIDIAGPU of --aws-feature-gates, and --ignore-dra-requests=false", devices.SharingAnnotation,
		)}
	}
	return validation{}
}

// dependencies reports whether a prerequisite of launches is missing, and sets the condition.
func (c *Controller) dependencies(class *awsv1.EC2NodeClass, set condition.Set) bool {
	const message = "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution"
	unknown := false
	for _, kind := range []string{
		awsv1.ConditionTypeAMIsReady, awsv1.ConditionTypeInstanceProfileReady, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeSubnetsReady,
	} {
		switch condition.Status(class, kind) {
		case metav1.ConditionFalse:
			set.False(validated, "DependenciesNotReady", message)
			return true
		case metav1.ConditionTrue:
		default:
			unknown = true
		}
	}
	if unknown {
		set.Unknown(validated, "DependenciesNotReady", message)
	}
	return unknown
}

// contentOf is the same as long as trying again would show the same.
func contentOf(class *awsv1.EC2NodeClass) string {
	status := class.Status.DeepCopy()
	status.Conditions = nil
	slices.SortFunc(status.Subnets, func(a, b awsv1.Subnet) int { return strings.Compare(a.ID, b.ID) })
	text, err := json.Marshal([]any{class.Spec, status, class.Annotations})
	if err != nil {
		panic(fmt.Sprintf("writing ec2nodeclass %q: %v", class.Name, err)) // it was read from such text
	}
	sum := fnv.New128a()
	_, _ = sum.Write(text) // never fails
	return fmt.Sprintf("%s/%x", class.UID, sum.Sum(nil))
}

// dryRun creates a launch template and validates the permissions for a launch with dry-run calls.
func (c *Controller) dryRun(ctx context.Context, class *awsv1.EC2NodeClass, set condition.Set) (validation, error) {
	if !c.DryRuns {
		return validation{}, nil
	}
	trial, err := c.Requests.DryRun(ctx, class)
	if err != nil {
		return validationOf(err, "CreateLaunchTemplate")
	}
	if err := c.dryRunFleet(ctx, class, trial); err != nil {
		return validationOf(err, "CreateFleet")
	}
	err = c.dryRunInstances(ctx, class, trial)
	if awserrors.IsInstanceProfileMissing(err) {
		if class.Spec.InstanceProfile != nil {
			set.False(validated, "InstanceProfileNotFound", fmt.Sprintf("Instance profile %q not found", *class.Spec.InstanceProfile))
		}
		return validation{}, errAgain
	}
	if err != nil {
		return validationOf(err, "RunInstances")
	}
	return validation{}, nil
}

// validationOf returns what a failed dry run means: a result, a retry, or an unexpected error.
func validationOf(err error, call string) (validation, error) {
	detail := awserrors.ReasonOf(err.Error()).Message
	switch {
	case awserrors.IsThrottled(err) || serverFault(err):
		return validation{}, errAgain
	case awserrors.IsUnauthorized(err):
		return validation{call + "AuthCheckFailed", "Controller isn't authorized to call ec2:" + call + ": " + detail}, nil
	case awserrors.IsUserDataTooLarge(err):
		return validation{"UserDataSizeLimitExceeded", "ec2:CreateLaunchTemplate rejected the rendered user data as too large: " + detail}, nil
	default:
		return validation{}, err
	}
}

// serverFault reports whether the fault is that of AWS.
func serverFault(err error) bool {
	var coded smithy.APIError
	return errors.As(err, &coded) && coded.ErrorFault() == smithy.FaultServer || awserrors.Code(err) == "InternalError"
}

func (c *Controller) dryRunFleet(ctx context.Context, class *awsv1.EC2NodeClass, trial request.DryRun) error {
	config := ec2types.FleetLaunchTemplateConfigRequest{LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
		LaunchTemplateName: aws.String(trial.Template), Version: aws.String("$Latest"),
	}}
	for _, s := range class.Status.Subnets {
		config.Overrides = append(config.Overrides, ec2types.FleetLaunchTemplateOverridesRequest{
			InstanceType: ec2types.InstanceType(trial.InstanceType), SubnetId: aws.String(s.ID),
		})
	}
	_, err := c.EC2.CreateFleet(ctx, &ec2.CreateFleetInput{
		DryRun: aws.Bool(true), Type: ec2types.FleetTypeInstant, LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{config},
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: ec2types.DefaultTargetCapacityTypeOnDemand,
		},
		TagSpecifications: tagged(trial, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeFleet),
	}, session.NoRetry)
	return dry(err)
}

// dryRunInstances tries the subnets until one succeeds. If none does, it returns the error of the first.
func (c *Controller) dryRunInstances(ctx context.Context, class *awsv1.EC2NodeClass, trial request.DryRun) error {
	var first error
	for _, s := range class.Status.Subnets {
		_, err := c.EC2.RunInstances(ctx, &ec2.RunInstancesInput{
			DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: ec2types.InstanceType(trial.InstanceType),
			LaunchTemplate:    &ec2types.LaunchTemplateSpecification{LaunchTemplateName: aws.String(trial.Template), Version: aws.String("$Latest")},
			NetworkInterfaces: interfaces(class, s.ID),
			TagSpecifications: tagged(trial, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeNetworkInterface),
		}, session.NoRetry)
		if err = dry(err); err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// interfaces are the interfaces of the class in a subnet.
func interfaces(class *awsv1.EC2NodeClass, subnet string) []ec2types.InstanceNetworkInterfaceSpecification {
	if len(class.Spec.NetworkInterfaces) == 0 {
		return []ec2types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnet)}}
	}
	var out []ec2types.InstanceNetworkInterfaceSpecification
	for _, i := range class.Spec.NetworkInterfaces {
		out = append(out, ec2types.InstanceNetworkInterfaceSpecification{
			NetworkCardIndex: aws.Int32(i.NetworkCardIndex), DeviceIndex: aws.Int32(i.DeviceIndex), InterfaceType: aws.String(string(i.InterfaceType)), SubnetId: aws.String(subnet),
		})
	}
	return out
}

func tagged(trial request.DryRun, kinds ...ec2types.ResourceType) []ec2types.TagSpecification {
	var out []ec2types.TagSpecification
	for _, kind := range kinds {
		out = append(out, ec2types.TagSpecification{ResourceType: kind, Tags: template.Tags(trial.Tags)})
	}
	return out
}

// dry is the error of a dry run, which is nil if it would have worked.
func dry(err error) error {
	if awserrors.IsDryRunSuccess(err) {
		return nil
	}
	if err == nil {
		return errors.New("a dry run was carried out")
	}
	return err
}
