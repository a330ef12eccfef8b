// Package tagging tags instances after their nodes registered: with the names of the node, the claim and the cluster. It writes only
// missing tags, because users may have set a custom name.
//
// No two instances get the same tags, so that each needs one call. A rate limiter spaces the calls: a reconcile above the limit
// requeues with the delay, and no worker sleeps.
//
// Source: AWS provider specification, tagging after registration.
package tagging

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// perSecond and burst limit the calls: the EC2 limit is higher, but other callers share it.
	perSecond = 5
	burst     = 50
	// done is the value of the annotations that record that an instance has its tags.
	done = "true"
)

// Options configure the controller.
type Options struct {
	Instances *instance.Client
	Client    client.Client
	Clock     clock.PassiveClock
	// Cluster is the name of the cluster.
	Cluster string
	// Manages reports whether a claim belongs to this provider.
	Manages func(*v1.NodeClassReference) bool
}

// Controller tags the instances of claims. Make one with New.
type Controller struct {
	Options
	bucket *rate.Limiter

	mu sync.Mutex
	// turns are the reserved times of delayed calls, by the name of the claim.
	turns map[string]time.Time
}

// New makes a controller.
func New(o Options) *Controller {
	return &Controller{Options: o, bucket: rate.NewLimiter(perSecond, burst), turns: map[string]time.Time{}}
}

// Taggable reports whether the instance of a claim may need tags.
func (c *Controller) Taggable(claim *v1.NodeClaim) bool {
	return c.Manages(claim.Spec.NodeClassRef) && claim.Status.NodeName != "" && claim.DeletionTimestamp.IsZero() &&
		(claim.Annotations[awsv1.AnnotationTagged] != done || claim.Annotations[awsv1.AnnotationClusterNameTagged] != done)
}

// Reconcile tags the instance of one claim.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		c.giveUp(req.Name)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !c.Taggable(claim) {
		c.giveUp(req.Name)
		return reconcile.Result{}, nil
	}
	id, ok := instance.ParseProviderID(claim.Status.ProviderID)
	if !ok {
		// The provider ID will not become valid: do not retry.
		observe.Log(ctx).ErrorContext(ctx, "the instance cannot be tagged", logfield.NodeClaim(claim.Name), logfield.ProviderID(claim.Status.ProviderID))
		c.giveUp(req.Name)
		return reconcile.Result{}, nil
	}
	wait, err := c.tag(ctx, claim, id)
	switch {
	case errors.Is(err, instance.ErrNotFound):
		return reconcile.Result{}, nil
	case errors.Is(err, instance.ErrForeign):
		// With the tag of the cluster, an instance of others would be one that the controller terminates.
		observe.Log(ctx).ErrorContext(ctx, "the instance is not tagged", logfield.NodeClaim(claim.Name), logfield.Error(err))
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("tagging the instance of nodeclaim %q: %w", claim.Name, err)
	case wait > 0:
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return c.record(ctx, claim)
}

// tag writes the tags that an instance lacks, or returns how long to wait for its reserved time.
func (c *Controller) tag(ctx context.Context, claim *v1.NodeClaim, id string) (time.Duration, error) {
	if wait := c.waiting(claim.Name); wait > 0 {
		return wait, nil
	}
	i, err := c.Instances.Look(ctx, id)
	if err != nil {
		c.giveUp(claim.Name)
		return 0, err
	}
	if !i.OwnedBy(c.Cluster) {
		c.giveUp(claim.Name)
		return 0, fmt.Errorf("instance %q, whose tag %s is %q: %w", id, awsv1.TagClusterName, i.Tags[awsv1.TagClusterName], instance.ErrForeign)
	}
	missing := map[string]string{}
	for key, value := range map[string]string{awsv1.TagName: claim.Status.NodeName, awsv1.TagNodeClaim: claim.Name, awsv1.TagClusterName: c.Cluster} {
		if _, ok := i.Tags[key]; !ok {
			missing[key] = value
		}
	}
	if len(missing) == 0 {
		c.giveUp(claim.Name)
		return 0, nil
	}
	if wait := c.turn(claim.Name); wait > 0 {
		return wait, nil
	}
	return 0, c.Instances.Tag(ctx, id, template.Tags(missing))
}

// waiting is how long a claim still has to wait for its reserved time; 0 if it has none.
func (c *Controller) waiting(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.turns[name].Sub(c.Clock.Now()))
}

// turn reserves a time for a call: the one reserved before, or a new one, which may be later.
func (c *Controller) turn(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	if _, ok := c.turns[name]; ok {
		delete(c.turns, name)
		return 0
	}
	wait := c.bucket.ReserveN(now, 1).DelayFrom(now)
	if wait > 0 {
		c.turns[name] = now.Add(wait)
	}
	return wait
}

// giveUp cancels the reserved time of a claim that needs none.
func (c *Controller) giveUp(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.turns, name)
}

// record records that the instance has its tags.
func (c *Controller) record(ctx context.Context, claim *v1.NodeClaim) (reconcile.Result, error) {
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[awsv1.AnnotationTagged], claim.Annotations[awsv1.AnnotationClusterNameTagged] = done, done
	err := c.Client.Patch(ctx, claim, client.MergeFrom(before))
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: time.Second}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("recording the tags of nodeclaim %q: %w", claim.Name, err)
	}
	return reconcile.Result{}, nil
}
