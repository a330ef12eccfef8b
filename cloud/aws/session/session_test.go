package session_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/session"
)

// open opens a session by what the environment says, as the program does.
func open(t *testing.T) (*awstest.Account, *ec2.Client) {
	t.Helper()
	account := awstest.New(awstest.Options{})
	server := httptest.NewServer(account)
	t.Cleanup(server.Close)
	for key, value := range map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": server.URL,
		"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
	} {
		t.Setenv(key, value)
	}
	config, err := session.Open(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return account, ec2.NewFromConfig(config)
}

func TestKarpenterNamesItself(t *testing.T) {
	account, client := open(t)
	if err := session.Check(t.Context(), client); err != nil {
		t.Error(err)
	}
	if agent := account.Calls("")[0].UserAgent; !strings.Contains(agent, "karpenter.sh-1.2.3") {
		t.Errorf("the user agent is %q", agent)
	}
}

// obliging is an endpoint that carries out dry runs.
type obliging struct{}

func (obliging) DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	return &ec2.DescribeInstanceTypesOutput{}, nil
}

func TestAnEndpointWithoutDryRunsAnswersToo(t *testing.T) {
	if err := session.Check(t.Context(), obliging{}); err != nil {
		t.Error(err)
	}
}

func TestADryRunIsTriedOnce(t *testing.T) {
	account, client := open(t)
	account.Fail("DescribeInstanceTypes", "InternalError", "an internal error", -1)
	if err := session.Check(t.Context(), client); err == nil || !strings.Contains(err.Error(), "ec2 api connectivity check failed") {
		t.Errorf("got %v", err)
	}
	if n := len(account.Calls("")); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestLargeAnswersArriveWhole calls often enough that an answer would overtake the end of its request.
func TestLargeAnswersArriveWhole(t *testing.T) {
	_, client := open(t)
	for range 30 {
		out, err := client.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(100)}, session.NoRetry)
		if err != nil || len(out.InstanceTypes) != 100 {
			t.Fatal(err)
		}
	}
}

func TestPricingRegion(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "us-east-1", "eu-west-1": "eu-central-1", "ap-southeast-2": "ap-south-1", "cn-north-1": "cn-northwest-1", "sa-east-1": "us-east-1",
	} {
		if got := session.PricingRegion(region); got != want {
			t.Errorf("%s is asked about %s, want %s", got, region, want)
		}
	}
}
