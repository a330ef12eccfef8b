package session_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/session"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

func TestCallsAreCounted(t *testing.T) {
	account := awstest.New(awstest.Options{Types: []string{"m5.large"}})
	config := awstest.Connect(t, account)
	metrics := telemetry.NewMetrics(prometheus.NewRegistry())
	session.Measure(&config, metrics.SDK)
	config.RetryMaxAttempts = 2
	calls, parameters := ec2.NewFromConfig(config), ssm.NewFromConfig(config)
	if _, err := calls.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		t.Fatal(err)
	}
	account.Fail("DescribeSubnets", "InternalError", "no", 1)
	if _, err := calls.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		t.Fatal(err)
	}
	if _, err := parameters.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/none")}); err == nil {
		t.Fatal("there is a parameter")
	}
	for _, test := range []struct {
		service, action, code string
		calls, attempts       float64
	}{
		{"EC2", "DescribeSubnets", "200", 2, 2}, {"EC2", "DescribeSubnets", "500", 0, 1}, {"SSM", "GetParameter", "400", 1, 1},
	} {
		requests := testutil.ToFloat64(metrics.SDK.Requests.WithLabelValues(test.service, test.action, test.code))
		attempts := testutil.ToFloat64(metrics.SDK.Attempts.WithLabelValues(test.service, test.action, test.code))
		if requests != test.calls || attempts != test.attempts {
			t.Errorf("%+v: %g calls, %g attempts", test, requests, attempts)
		}
	}
	want := `# HELP aws_sdk_go_request_retry_count Retries of a call to AWS.
# TYPE aws_sdk_go_request_retry_count histogram
`
	for _, line := range []struct {
		labels     string
		none, some string
		sum, count string
	}{
		{`action="DescribeSubnets",code="200",service="EC2"`, "1", "2", "1", "2"}, {`action="GetParameter",code="400",service="SSM"`, "1", "1", "0", "1"},
	} {
		for n, bound := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+Inf"} {
			value := line.some
			if n == 0 {
				value = line.none
			}
			want += "aws_sdk_go_request_retry_count_bucket{" + line.labels + `,le="` + bound + `"} ` + value + "\n"
		}
		want += "aws_sdk_go_request_retry_count_sum{" + line.labels + "} " + line.sum + "\naws_sdk_go_request_retry_count_count{" + line.labels + "} " + line.count + "\n"
	}
	if err := testutil.CollectAndCompare(metrics.SDK.Retries, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	for name, histogram := range map[string]prometheus.Collector{"calls": metrics.SDK.RequestDuration, "attempts": metrics.SDK.AttemptDuration} {
		if n := testutil.CollectAndCount(histogram); n < 2 {
			t.Errorf("%d times of %s", n, name)
		}
	}
}

func TestLogLinesShowTheCallThatFailed(t *testing.T) {
	account := awstest.New(awstest.Options{Types: []string{"m5.large"}})
	config := awstest.Connect(t, account)
	account.Fail("DescribeSubnets", "UnauthorizedOperation", "no", -1)
	_, plain := ec2.NewFromConfig(config).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	session.Measure(&config, telemetry.NewMetrics(prometheus.NewRegistry()).SDK)
	_, err := ec2.NewFromConfig(config).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	var coded smithy.APIError
	if !errors.As(err, &coded) || coded.ErrorCode() != "UnauthorizedOperation" {
		t.Fatalf("got %v", err)
	}
	if a, b := strings.Split(plain.Error(), "RequestID")[0], strings.Split(err.Error(), "RequestID")[0]; a != b || strings.Contains(err.Error(), "aws-") {
		t.Errorf("the text is %q, before %q", err, plain)
	}
	var out bytes.Buffer
	observe.LogConfig{Level: "info", Output: &out, Errors: &out}.Logger().Error("failed", "error", err)
	for _, want := range []string{`"aws-service-name":"EC2"`, `"aws-operation-name":"DescribeSubnets"`, `"aws-status-code":403`, `"aws-error-code":"UnauthorizedOperation"`, `"aws-request-id":"request-`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in %s", want, out.String())
		}
	}
}
