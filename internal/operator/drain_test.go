package operator

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// TestWhatEndsACall is the truth table of the drain: a call of twenty seconds, and an event five seconds after its start.
func TestWhatEndsACall(t *testing.T) {
	const long = 20 * time.Second
	for _, tc := range []struct {
		name   string
		grace  time.Duration
		happen func(stop, cancelWork context.CancelFunc)
		limit  time.Duration // deadline of the work's own context; 0 means none
		want   error
		after  time.Duration
	}{
		{"nothing", time.Minute, func(_, _ context.CancelFunc) {}, 0, nil, long},
		{"the process is told to stop", time.Minute, func(stop, cancel context.CancelFunc) { stop(); cancel() }, 0, nil, long},
		{"the grace time is over", 10 * time.Second, func(stop, cancel context.CancelFunc) { stop(); cancel() }, 0, context.Canceled, 15 * time.Second},
		{"the work is cancelled, as after a lost lease", time.Minute, func(_, cancel context.CancelFunc) { cancel() }, 0, context.Canceled, 5 * time.Second},
		{"the work has a deadline", time.Minute, func(_, _ context.CancelFunc) {}, 8 * time.Second, context.DeadlineExceeded, 8 * time.Second},
		{"the work has a deadline after the stop", time.Minute, func(stop, _ context.CancelFunc) { stop() }, 8 * time.Second, context.DeadlineExceeded, 8 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopping, stop := context.WithCancel(t.Context())
				d := newDrain(stopping, tc.grace)
				defer d.end()
				work, cancelWork := context.WithCancel(context.Background())
				if tc.limit > 0 {
					work, cancelWork = context.WithTimeout(context.Background(), tc.limit)
				}
				defer cancelWork()
				defer stop()
				time.AfterFunc(5*time.Second, func() { tc.happen(stop, cancelWork) })
				start := time.Now()
				call, done := d.detach(work)
				defer done()
				var err error
				select {
				case <-time.After(long):
				case <-call.Done():
					err = call.Err()
				}
				if !errors.Is(err, tc.want) || time.Since(start) != tc.after {
					t.Errorf("ended with %v after %v, want %v after %v", err, time.Since(start), tc.want, tc.after)
				}
			})
		})
	}
}

// recordingClient records whether the context of a call was alive.
type recordingClient struct {
	client.Client
	alive *[]bool
}

func (c recordingClient) note(ctx context.Context) error {
	*c.alive = append(*c.alive, ctx.Err() == nil)
	return nil
}

func (c recordingClient) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return c.note(ctx)
}

func (c recordingClient) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return c.note(ctx)
}

func (c recordingClient) Create(ctx context.Context, _ client.Object, _ ...client.CreateOption) error {
	return c.note(ctx)
}

func (c recordingClient) Update(ctx context.Context, _ client.Object, _ ...client.UpdateOption) error {
	return c.note(ctx)
}

func (c recordingClient) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return c.note(ctx)
}

func (c recordingClient) Apply(ctx context.Context, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return c.note(ctx)
}

func (c recordingClient) Delete(ctx context.Context, _ client.Object, _ ...client.DeleteOption) error {
	return c.note(ctx)
}

func (c recordingClient) DeleteAllOf(ctx context.Context, _ client.Object, _ ...client.DeleteAllOfOption) error {
	return c.note(ctx)
}

func (c recordingClient) SubResource(string) client.SubResourceClient { return recordingSubResource{c} }

// recordingSubResource does the same for a subresource.
type recordingSubResource struct{ c recordingClient }

func (s recordingSubResource) Get(ctx context.Context, _, _ client.Object, _ ...client.SubResourceGetOption) error {
	return s.c.note(ctx)
}

func (s recordingSubResource) Create(ctx context.Context, _, _ client.Object, _ ...client.SubResourceCreateOption) error {
	return s.c.note(ctx)
}

func (s recordingSubResource) Update(ctx context.Context, _ client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.c.note(ctx)
}

func (s recordingSubResource) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.c.note(ctx)
}

func (s recordingSubResource) Apply(ctx context.Context, _ runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return s.c.note(ctx)
}

// recordingProvider does the same for calls to a cloud.
type recordingProvider struct{ c recordingClient }

func (p recordingProvider) Create(ctx context.Context, _ *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, p.c.note(ctx)
}

func (p recordingProvider) Delete(ctx context.Context, _ *v1.NodeClaim) error { return p.c.note(ctx) }

func (p recordingProvider) Get(ctx context.Context, _ string) (*v1.NodeClaim, error) {
	return nil, p.c.note(ctx)
}

func (p recordingProvider) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	return nil, p.c.note(ctx)
}

func (p recordingProvider) InstanceTypes(ctx context.Context, _ *v1.NodePool) ([]*cloud.InstanceType, error) {
	return nil, p.c.note(ctx)
}

func (p recordingProvider) IsDrifted(ctx context.Context, _ *v1.NodeClaim) (cloud.DriftReason, error) {
	return "", p.c.note(ctx)
}

func (p recordingProvider) Reboot(ctx context.Context, _ *v1.NodeClaim, _ string) error {
	return p.c.note(ctx)
}

func TestEveryCallSurvivesTheStop(t *testing.T) {
	var alive []bool
	inner := recordingClient{alive: &alive}
	ctx, stop := context.WithCancel(t.Context())
	d := newDrain(ctx, time.Hour)
	defer d.end()
	c, p := d.client(inner), d.provider(recordingProvider{inner})
	stop()
	pod := &corev1.Pod{}
	status, sub := c.Status(), c.SubResource("eviction")
	calls := []func() error{
		func() error { return c.Get(ctx, client.ObjectKey{}, pod) },
		func() error { return c.List(ctx, &corev1.PodList{}) },
		func() error { return c.Create(ctx, pod) },
		func() error { return c.Update(ctx, pod) },
		func() error { return c.Patch(ctx, pod, client.MergeFrom(pod)) },
		func() error { return c.Apply(ctx, nil) },
		func() error { return c.Delete(ctx, pod) },
		func() error { return c.DeleteAllOf(ctx, pod) },
		func() error { return status.Update(ctx, pod) },
		func() error { return status.Patch(ctx, pod, client.MergeFrom(pod)) },
		func() error { return status.Apply(ctx, nil) },
		func() error { return sub.Create(ctx, pod, pod) },
		func() error { return sub.Get(ctx, pod, pod) },
		func() error { _, err := p.Create(ctx, nil); return err },
		func() error { return p.Delete(ctx, nil) },
		func() error { _, err := p.Get(ctx, ""); return err },
		func() error { _, err := p.List(ctx); return err },
		func() error { _, err := p.InstanceTypes(ctx, nil); return err },
		func() error { _, err := p.IsDrifted(ctx, nil); return err },
		func() error { return d.rebooter(recordingProvider{inner}).Reboot(ctx, nil, "") },
	}
	for i, call := range calls {
		if err := call(); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if len(alive) != len(calls) {
		t.Fatalf("%d of %d calls arrived", len(alive), len(calls))
	}
	for i, ok := range alive {
		if !ok {
			t.Errorf("call %d got a context that had ended", i)
		}
	}
}

// TestTheDrainEndsBeforeThePodIsKilled checks that after the drain the chart's grace period leaves time to release the lease.
func TestTheDrainEndsBeforeThePodIsKilled(t *testing.T) {
	text, err := os.ReadFile("../../charts/karpenter/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		TerminationGracePeriodSeconds int `json:"terminationGracePeriodSeconds"`
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(values.TerminationGracePeriodSeconds) * time.Second
	if needed := drainTimeout + endpointsTimeout + 10*time.Second; grace < needed {
		t.Errorf("the pod is killed after %s, the controller needs %s", grace, needed)
	}
}
