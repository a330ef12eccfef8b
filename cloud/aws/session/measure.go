package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// The steps that are added to those of the SDK.
const (
	stepCall    = "KarpenterMeasureCall"
	stepAttempt = "KarpenterMeasureAttempt"
)

// Measure counts all calls of clients that are created from the configuration afterwards, and adds the failed call to log
// lines.
func Measure(config *aws.Config, m telemetry.SDKMetrics) {
	call := middleware.InitializeMiddlewareFunc(stepCall, func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		out middleware.InitializeOutput, metadata middleware.Metadata, err error,
	) {
		start := time.Now()
		out, metadata, err = next.HandleInitialize(ctx, in)
		labels := labelsOf(ctx, metadata, err)
		m.Requests.WithLabelValues(labels...).Inc()
		m.RequestDuration.WithLabelValues(labels...).Observe(time.Since(start).Seconds())
		if attempts, ok := retry.GetAttemptResults(metadata); ok {
			m.Retries.WithLabelValues(labels...).Observe(float64(max(0, len(attempts.Results)-1)))
		}
		return out, metadata, describe(ctx, err)
	})
	attempt := middleware.FinalizeMiddlewareFunc(stepAttempt, func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
		out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
	) {
		start := time.Now()
		out, metadata, err = next.HandleFinalize(ctx, in)
		labels := labelsOf(ctx, metadata, err)
		m.Attempts.WithLabelValues(labels...).Inc()
		m.AttemptDuration.WithLabelValues(labels...).Observe(time.Since(start).Seconds())
		return out, metadata, err
	})
	config.APIOptions = append(slices.Clip(config.APIOptions), func(s *middleware.Stack) error {
		// Last in its step: only then the operation is known.
		if err := s.Initialize.Add(call, middleware.After); err != nil {
			return fmt.Errorf("adding a step to calls: %w", err)
		}
		if err := s.Finalize.Insert(attempt, (*retry.Attempt)(nil).ID(), middleware.After); err != nil {
			return fmt.Errorf("adding a step to attempts: %w", err)
		}
		return nil
	})
}

// labelsOf are service, operation and status of a call.
func labelsOf(ctx context.Context, metadata middleware.Metadata, err error) []string {
	return []string{awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), statusOf(metadata, err)}
}

// statusOf is the HTTP status of an answer; empty where there was none.
func statusOf(metadata middleware.Metadata, err error) string {
	var failed *awshttp.ResponseError
	if errors.As(err, &failed) && failed.Response != nil {
		return strconv.Itoa(failed.HTTPStatusCode())
	}
	if answer, ok := awsmiddleware.GetRawResponse(metadata).(*smithyhttp.Response); ok && err == nil {
		return strconv.Itoa(answer.StatusCode)
	}
	return ""
}

// describe lets log lines show which call it was that failed, and how.
func describe(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	fields := []slog.Attr{awsfield.ServiceName(awsmiddleware.GetServiceID(ctx)), awsfield.OperationName(awsmiddleware.GetOperationName(ctx))}
	var failed *awshttp.ResponseError
	if errors.As(err, &failed) && failed.Response != nil {
		fields = append(fields, awsfield.StatusCode(failed.HTTPStatusCode()), awsfield.RequestID(failed.ServiceRequestID()))
	}
	if code := awserrors.Code(err); code != "" {
		fields = append(fields, awsfield.ErrorCode(code))
	}
	return observe.WithLogFields(err, fields...)
}
