// Package session configures the access to AWS: credentials and region as the SDK finds them, the HTTP client, and the user
// agent. The callers configure their calls.
//
// Source: AWS provider specification, client set-up; credentials.
package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
)

// Open finds credentials and region in the default chain of the SDK: environment, web identity, container, instance. If no setting
// names the region, it comes from the instance metadata service.
func Open(ctx context.Context, version string) (aws.Config, error) {
	found, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(newClient()))
	if err != nil {
		return aws.Config{}, fmt.Errorf("loading the configuration of AWS: %w", err)
	}
	found.HTTPClient = &buffered{found.HTTPClient}
	found.APIOptions = append(found.APIOptions, awsmiddleware.AddUserAgentKey("karpenter.sh-"+version))
	if found.Region != "" {
		return found, nil
	}
	answer, err := imds.NewFromConfig(found).GetRegion(ctx, nil)
	if err != nil {
		return aws.Config{}, fmt.Errorf("finding the region: %w", err)
	}
	found.Region = answer.Region
	return found, nil
}

// TypeDescriber is the call by which a connection is tried.
type TypeDescriber interface {
	DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
}

// Check tries whether EC2 answers. An endpoint that carries out the dry run of this read, as those of some emulators do, answers too.
func Check(ctx context.Context, api TypeDescriber) error {
	_, err := api.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{DryRun: aws.Bool(true)}, NoRetry)
	if err == nil || awserrors.IsDryRunSuccess(err) {
		return nil
	}
	return fmt.Errorf("ec2 api connectivity check failed: %w", err)
}

// NoRetry disables retries of a call to EC2; a successful dry run is an error.
func NoRetry(o *ec2.Options) { o.Retryer = aws.NopRetryer{} }

// PricingRegion is the region with the price list for a region: only some regions have one.
func PricingRegion(region string) string {
	switch {
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	case strings.HasPrefix(region, "cn-"):
		return "cn-northwest-1"
	case strings.HasPrefix(region, "eu-"):
		return "eu-central-1"
	default:
		return "us-east-1"
	}
}
