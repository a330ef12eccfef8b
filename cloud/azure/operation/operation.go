// Package operation waits for long-running operations of Azure.
//
// It asks for their state as the poller of the SDK does, with two differences. The SDK reads the resource again after an operation that created
// or changed it has succeeded; callers here know what they asked for, and with many launches at once these reads are a large share of the
// requests that Azure permits. And the SDK ends at the first question that fails, though the operation goes on: here, questions that Azure throttles
// or cannot answer for a moment are repeated.
//
// Source: Azure provider specification, client behavior.
package operation

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"k8s.io/utils/clock"
)

const (
	// Interval is the time between two questions for the state of an operation, unless Azure names another one.
	Interval = 3 * time.Second
	// maxFailures is how many questions in a row may fail. The client has sent each of them several times.
	maxFailures = 10
)

// Operation is a request that Azure has accepted.
type Operation[T any] struct {
	poller *runtime.Poller[T]
	clock  clock.Clock
	// first is the answer to the request; nil if the client does not show it.
	first *http.Response
}

// Begin sends a request. The error is that of begin. The clock is the one by which Wait waits.
func Begin[T any](ctx context.Context, clock clock.Clock, begin func(context.Context) (*runtime.Poller[T], error)) (*Operation[T], error) {
	out := &Operation[T]{clock: clock}
	var err error
	out.poller, err = begin(policy.WithCaptureResponse(ctx, &out.first))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Run sends a request and waits until its operation has ended.
func Run[T any](ctx context.Context, clock clock.Clock, begin func(context.Context) (*runtime.Poller[T], error)) error {
	started, err := Begin(ctx, clock, begin)
	if err != nil {
		return err
	}
	return started.Wait(ctx)
}

// Wait waits until the operation has ended. The error of one that failed is an azcore.ResponseError with the code of the operation.
func (o *Operation[T]) Wait(ctx context.Context) error {
	if o.poller.Done() {
		_, err := o.poller.Result(ctx)
		return err
	}
	if pause := retryAfter(o.first); pause > 0 {
		if err := o.sleep(ctx, pause); err != nil {
			return err
		}
	}
	for failures := 0; ; {
		answer, err := o.poller.Poll(ctx) //nolint:bodyclose // the poller has read and closed it
		if refused, ok := errors.AsType[*azcore.ResponseError](err); ok {
			answer = refused.RawResponse
		}
		switch {
		case err == nil && o.poller.Done():
			return o.ended(ctx, answer)
		case err == nil:
			failures = 0
		case ctx.Err() != nil || !passes(err):
			return err
		default:
			if failures++; failures == maxFailures {
				return err
			}
		}
		pause := retryAfter(answer)
		if pause <= 0 {
			pause = Interval
		}
		if err := o.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// ended returns the error of an operation that has ended. The result of one that says that it succeeded is not read.
func (o *Operation[T]) ended(ctx context.Context, answer *http.Response) error {
	var state struct {
		Status string `json:"status"`
	}
	if body, err := runtime.Payload(answer); err == nil && json.Unmarshal(body, &state) == nil && strings.EqualFold(state.Status, "Succeeded") {
		return nil
	}
	_, err := o.poller.Result(ctx)
	return err
}

// passes reports whether an error of a question says nothing about the operation. Errors without an answer are those of the network.
func passes(err error) bool {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return true
	}
	return response.StatusCode >= http.StatusInternalServerError || slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests}, response.StatusCode)
}

// retryAfter is how long Azure asks to wait; 0 if it does not say.
func retryAfter(answer *http.Response) time.Duration {
	if answer == nil {
		return 0
	}
	for _, header := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"X-Ms-Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if count, err := strconv.Atoi(answer.Header.Get(header.name)); err == nil && count > 0 {
			return time.Duration(count) * header.unit
		}
	}
	return 0
}

// sleep waits until the pause is over, or the context ends.
func (o *Operation[T]) sleep(ctx context.Context, pause time.Duration) error {
	timer := o.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
