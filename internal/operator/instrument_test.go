package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// failingProvider answers every call with the same error.
type failingProvider struct{ err error }

func (p failingProvider) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, p.err
}
func (p failingProvider) Delete(context.Context, *v1.NodeClaim) error        { return p.err }
func (p failingProvider) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, p.err }
func (p failingProvider) List(context.Context) ([]*v1.NodeClaim, error)      { return nil, p.err }
func (p failingProvider) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return nil, p.err
}

func (p failingProvider) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) {
	return "", p.err
}

func (p failingProvider) Reboot(context.Context, *v1.NodeClaim, string) error { return p.err }

func TestInstrumentCountsCallsAndErrors(t *testing.T) {
	t.Attr("covers", "L407 N190")
	cause := errors.New("why")
	for _, tc := range []struct {
		err   error
		label string
	}{
		{nil, ""},
		{cause, ""},
		{fmt.Errorf("wrapped: %w", cloud.NewInsufficientCapacityError(cause)), "InsufficientCapacityError"},
		{cloud.NewNodeClaimNotFoundError(cause), "NodeClaimNotFoundError"},
		{cloud.NewNodeClassNotReadyError(cause), "NodeClassNotReadyError"},
	} {
		m := observe.NewMetrics(prometheus.NewRegistry(), nil)
		p := instrument(failingProvider{tc.err}, "kwok", m)
		ctx := observe.WithController(context.Background(), "nodeclaim.lifecycle")
		_, create := p.Create(ctx, nil)
		_, get := p.Get(ctx, "")
		_, list := p.List(ctx)
		_, types := p.InstanceTypes(ctx, nil)
		_, drift := p.IsDrifted(ctx, nil)
		reboot := instrumentRebooter(failingProvider{tc.err}, "kwok", m).Reboot(ctx, nil, "")
		for _, err := range []error{reboot, create, p.Delete(ctx, nil), get, list, types, drift} {
			if !errors.Is(err, tc.err) {
				t.Errorf("the error changed from %v to %v", tc.err, err)
			}
		}
		for _, method := range []string{"Create", "Delete", "Get", "List", "GetInstanceTypes", "IsDrifted", "Reboot"} {
			if got := testutil.CollectAndCount(m.CloudProvider.Duration); got != 7 {
				t.Errorf("%d methods timed, want 7", got)
			}
			want := 1.0
			if tc.err == nil {
				want = 0
			}
			if got := testutil.ToFloat64(m.CloudProvider.Errors.WithLabelValues("nodeclaim.lifecycle", method, "kwok", tc.label)); got != want {
				t.Errorf("%v: %s counted %v times as %q, want %v", tc.err, method, got, tc.label, want)
			}
		}
	}
	if (&fence{}).rebooter(nil) != nil || (&drain{}).rebooter(nil) != nil || instrumentRebooter(nil, "kwok", nil) != nil {
		t.Error("a cloud that does not reboot appears to do so")
	}
	if got := observe.ControllerName(context.Background()); got != "" {
		t.Errorf("controller without a name: %q", got)
	}
}
